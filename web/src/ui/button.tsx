// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren, ComponentProps, ComponentType } from "preact";
import { Spinner } from "./progress";

type Native = Omit<ComponentProps<"button">, "icon" | "size" | "class" | "className" | "label" | "title">;
type Icon = ComponentType<{ size?: number }>;
export type ButtonTone = "plain" | "primary" | "quiet" | "danger";

interface ButtonProps extends Native {
  tone?: ButtonTone;
  size?: "small" | "normal";
  icon?: Icon;
  busy?: boolean; // something it started goes on: it spins and takes no click
  class?: string;
  title?: string;
  children?: ComponentChildren;
}

const classesOf = (...names: (string | false | undefined)[]) => names.filter(Boolean).join(" ");

export function Button({ tone = "plain", size = "normal", icon: Icon, busy = false, class: name, children, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} class={classesOf("button", `button-${tone}`, size === "small" && "button-small", name)}
      disabled={rest.disabled || busy} aria-busy={busy || undefined}>
      {busy ? <Spinner size={14} /> : Icon && <Icon size={16} />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Native {
  label: string; // what it does: the name for screen readers, and the tooltip
  icon: Icon;
  keys?: string; // a shortcut, shown in the tooltip
  tone?: "quiet" | "plain" | "primary" | "danger";
  size?: "small" | "normal";
  busy?: boolean;
  class?: string;
}

export function IconButton({ label, icon: Icon, keys, tone = "quiet", size = "normal", busy = false, class: name, ...rest }: IconButtonProps) {
  return (
    <button type="button" {...rest} class={classesOf("icon-button", `button-${tone}`, size === "small" && "icon-button-small", name)}
      aria-label={label} title={keys ? `${label} (${keys})` : label} disabled={rest.disabled || busy} aria-busy={busy || undefined}>
      {busy ? <Spinner size={14} /> : <Icon size={size === "small" ? 14 : 16} />}
    </button>
  );
}
