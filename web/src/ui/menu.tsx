// SPDX-License-Identifier: Apache-2.0
// A button that opens a list of deeds. It is placed on the screen rather than in the flow, so that no list that scrolls
// cuts it off.
import type { ComponentType } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { IconButton } from "./button";
import { IconMore } from "./icons";

export interface MenuItem {
  label: string;
  icon?: ComponentType<{ size?: number }>;
  keys?: string;
  tone?: "danger";
  disabled?: boolean;
  run: () => void;
}

interface MenuProps {
  label: string;
  items: readonly (MenuItem | "line")[];
  icon?: ComponentType<{ size?: number }>;
  size?: "small" | "normal";
  class?: string;
}

const GAP = 4;

function place(list: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect();
  const { width, height } = list.getBoundingClientRect();
  const below = at.bottom + GAP + height <= innerHeight || at.top < height + GAP;
  list.style.top = `${Math.max(GAP, below ? at.bottom + GAP : at.top - GAP - height)}px`;
  list.style.left = `${Math.max(GAP, Math.min(at.right - width, innerWidth - width - GAP))}px`;
}

const rowsOf = (list: HTMLElement) => [...list.querySelectorAll<HTMLElement>("[role=menuitem]:not(:disabled)")];

export function Menu({ label, items, icon = IconMore, size, class: name }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLSpanElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const listId = useId();

  const close = (refocus: boolean) => {
    setOpen(false);
    if (refocus) root.current?.querySelector("button")?.focus();
  };

  useLayoutEffect(() => {
    if (!isOpen) return;
    const [opened, button] = [list.current!, root.current!.querySelector("button")!];
    if (opened.showPopover) opened.showPopover();
    place(opened, button);
    rowsOf(opened)[0]?.focus();
  }, [isOpen]);

  useEffect(() => {
    if (!isOpen) return;
    const leave = (event: Event) => {
      if (event.target instanceof Node && root.current?.contains(event.target)) return;
      close(false);
    };
    const controller = new AbortController();
    const options = { signal: controller.signal, capture: true };
    addEventListener("pointerdown", leave, options);
    addEventListener("scroll", leave, options);
    addEventListener("resize", leave, options);
    addEventListener("focusin", leave, options);
    return () => controller.abort();
  }, [isOpen]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") close(true);
    else if (event.key === "Tab") return close(false);
    else {
      const rows = rowsOf(list.current!);
      const here = rows.indexOf(document.activeElement as HTMLElement);
      const next = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: rows.length - 1 }[event.key];
      if (next === undefined) return;
      rows[(next + rows.length) % rows.length]?.focus();
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <span ref={root} class={name ? `menu ${name}` : "menu"}>
      <IconButton label={label} icon={icon} size={size} aria-haspopup="menu" aria-expanded={isOpen}
        aria-controls={isOpen ? listId : undefined}
        onClick={(event) => { event.stopPropagation(); event.preventDefault(); setOpen(!isOpen); }} />
      {isOpen && (
        <div ref={list} id={listId} class="menu-list" role="menu" aria-label={label} popover="manual" onKeyDown={onKeyDown}>
          {items.map((item, i) => item === "line" ? <hr key={i} class="menu-line" /> : (
            <button key={item.label} type="button" role="menuitem" tabIndex={-1} disabled={item.disabled}
              class={item.tone === "danger" ? "menu-item menu-danger" : "menu-item"}
              onClick={(event) => { event.stopPropagation(); event.preventDefault(); close(true); item.run(); }}>
              <span class="menu-icon">{item.icon && <item.icon size={16} />}</span>
              <span class="menu-label">{item.label}</span>
              {item.keys && <kbd>{item.keys}</kbd>}
            </button>
          ))}
        </div>
      )}
    </span>
  );
}
