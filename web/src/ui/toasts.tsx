// SPDX-License-Identifier: Apache-2.0
import { closeToast, holdToast, releaseToast, toasts, type Toast } from "../state/toasts";
import { Button, IconButton } from "./button";
import { IconCheck, IconClose, IconError, IconInfo } from "./icons";

const icons = { info: IconInfo, good: IconCheck, bad: IconError };

function ToastView({ toast }: { toast: Toast }) {
  const Icon = icons[toast.tone];
  const { action } = toast;
  const hold = () => holdToast(toast.id);
  const release = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    if (!currentTarget.matches(":hover") && !currentTarget.contains(document.activeElement)) releaseToast(toast);
  };
  return (
    <div class={`toast toast-${toast.tone}`} onPointerEnter={hold} onPointerLeave={release} onFocusIn={hold} onFocusOut={release}>
      <Icon size={16} />
      <div class="toast-text">
        <p>{toast.text}</p>
        {toast.remedy && <p class="toast-remedy">{toast.remedy}</p>}
      </div>
      {action && <Button size="small" tone="quiet" class="toast-action" onClick={() => { closeToast(toast.id); action.run(); }}>{action.label}</Button>}
      <IconButton label="Dismiss" icon={IconClose} size="small" onClick={() => closeToast(toast.id)} />
    </div>
  );
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite" aria-relevant="additions text">
      {toasts.value.map((toast) => <ToastView key={toast.id} toast={toast} />)}
    </div>
  );
}
