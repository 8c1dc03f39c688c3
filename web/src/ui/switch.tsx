// SPDX-License-Identifier: Apache-2.0
interface SwitchProps {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
  title?: string;
}

export function Switch({ label, checked, onChange, disabled, title }: SwitchProps) {
  return (
    <button type="button" role="switch" class="switch" aria-checked={checked} disabled={disabled} title={title}
      onClick={() => onChange(!checked)}>
      <span class="switch-track" aria-hidden="true"><span class="switch-knob" /></span>
      <span class="switch-label">{label}</span>
    </button>
  );
}
