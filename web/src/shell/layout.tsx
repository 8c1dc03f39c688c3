// SPDX-License-Identifier: Apache-2.0
// Sidebar | page | panel. Below 900 px the two at the sides are drawers over the page.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { closeDrawer, drawer, isNarrow, isPanelOpen, isSidebarOpen } from "../state/layout";
import { IconButton } from "../ui";
import { IconClose } from "../ui/icons";
import "../style/shell.css";
import "../style/sidebar.css";

interface SideProps {
  name: "sidebar" | "panel";
  label: string;
  children: ComponentChildren;
}

/** One side. As a drawer it takes the focus when it opens and gives it back when it closes. */
function Side({ name, label, children }: SideProps) {
  const element = useRef<HTMLElement>(null);
  const isDrawer = isNarrow.value && drawer.value === name;

  useEffect(() => {
    if (!isDrawer) return;
    const before = document.activeElement;
    element.current?.querySelector<HTMLElement>("a, button, input")?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [isDrawer]);

  const Tag = name === "sidebar" ? "nav" : "aside";
  return (
    <Tag ref={element} class={name} aria-label={label}
      onKeyDown={(event: KeyboardEvent) => {
        const isDialogs = (event.target as Element).closest("dialog") !== null; // what closes a dialog in here closes that alone
        if (isDrawer && event.key === "Escape" && !isDialogs) closeDrawer();
      }}>
      {children}
      {isDrawer && name === "panel" && <IconButton class="panel-close" label="Close the panel" icon={IconClose} onClick={closeDrawer} />}
    </Tag>
  );
}

interface LayoutProps {
  sidebar: ComponentChildren;
  banner: ComponentChildren;
  panel?: ComponentChildren; // of a conversation
  children: ComponentChildren;
}

export function Layout({ sidebar, banner, panel, children }: LayoutProps) {
  const main = useRef<HTMLElement>(null);
  const hasPanel = panel !== undefined && isPanelOpen.value;
  const isDrawerOpen = isNarrow.value && (isSidebarOpen.value || hasPanel);
  return (
    <div class="app">
      <button type="button" class="skip button button-primary" onClick={() => main.current?.focus()}>Skip to the content</button>
      {isSidebarOpen.value && <Side name="sidebar" label="Conversations">{sidebar}</Side>}
      <div class="middle" inert={isDrawerOpen}>
        {banner}
        <main ref={main} class="page" tabIndex={-1}>{children}</main>
      </div>
      {hasPanel && <Side name="panel" label="Panel">{panel}</Side>}
      {isDrawerOpen && <button type="button" class="scrim" aria-label="Close" tabIndex={-1} onClick={closeDrawer} />}
    </div>
  );
}
