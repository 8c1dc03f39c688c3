// SPDX-License-Identifier: Apache-2.0
// Small things that every kind of output is made of.
import { Component, type ComponentChildren, type ComponentType } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { failed } from "../state/toasts";
import "./output.css";

export function Tool({ label, onClick, pressed, disabled, name, icon: Icon }: {
  label: string;
  icon?: ComponentType<{ size?: number }>; // is shown in place of the label, which becomes the tooltip
  onClick: () => void;
  pressed?: boolean;
  disabled?: boolean;
  name?: string; // for screen readers, where the label alone says too little
}) {
  return (
    <button type="button" class={Icon ? "out-tool is-icon" : "out-tool"} onClick={onClick} aria-pressed={pressed} disabled={disabled}
      aria-label={name ?? (Icon ? label : undefined)} title={Icon ? label : undefined}>
      {Icon ? <Icon size={16} /> : label}
    </button>
  );
}

export function Choice<T extends string>({ legend, options, value, onChange }: {
  legend: string;
  options: readonly { value: T; label: string }[];
  value: T;
  onChange: (value: T) => void;
}) {
  const name = useId();
  return (
    <fieldset class="out-choice">
      <legend class="out-hidden">{legend}</legend>
      {options.map((option) => (
        <label key={option.value} class={option.value === value ? "is-chosen" : ""}>
          <input type="radio" name={name} checked={option.value === value} onChange={() => onChange(option.value)} />
          {option.label}
        </label>
      ))}
    </fieldset>
  );
}

export function Notice({ children, tone = "warn" }: { children: ComponentChildren; tone?: "warn" | "bad" | "info" }) {
  return <div class={`out-notice is-${tone}`}>{children}</div>;
}

/** An error while one item is drawn stays within that item. */
export class Boundary extends Component<{ what: string; children: ComponentChildren }, { error: string | null }> {
  override state = { error: null };

  static override getDerivedStateFromError(cause: unknown) {
    return { error: cause instanceof Error ? cause.message : String(cause) };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return <Notice>This {this.props.what} could not be shown: {String(error).slice(0, 300)}</Notice>;
  }
}

/** True from the first time the element comes near the window on: what nobody looks at costs nothing. */
export function useSeen<T extends HTMLElement>() {
  const ref = useRef<T>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (isSeen || !ref.current) return;
    if (typeof IntersectionObserver === "undefined") {
      setSeen(true);
      return;
    }
    const near: IntersectionObserverInit & { scrollMargin: string } = { rootMargin: "300px", scrollMargin: "300px" }; // of the window, of what scrolls in it
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
    }, near);
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [isSeen]);
  return [ref, isSeen] as const;
}

/** Hands bytes to the person as a file. The name came from a sandbox: only its last part, without what a file system minds. */
export function saveAs(content: Blob | string, name: string, mime = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type: mime }) : content;
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export function fileName(path: string): string {
  const last = path.split(/[/\\]/).at(-1) ?? "";
  return last.replace(/[\x00-\x1f\x7f<>:"|?*\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "_").slice(0, 200).replace(/^\.+/, "_") || "file";
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch (cause) {
    failed("copy", cause);
  }
}
