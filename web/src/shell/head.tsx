// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { isNarrow, isSidebarOpen, toggleSidebar } from "../state/layout";
import { IconButton } from "../ui";
import { IconSidebar } from "../ui/icons";

/** The way back to the sidebar, where it is not beside the page. */
export function OpenMenu() {
  if (isSidebarOpen.value && !isNarrow.value) return null;
  return (
    <IconButton label={isNarrow.value ? "Open menu" : "Show the sidebar"} icon={IconSidebar} aria-expanded={isSidebarOpen.value}
      onClick={toggleSidebar} />
  );
}

/** The bar above a page that is no conversation. */
export function PageHead({ title, children }: { title?: string; children?: ComponentChildren }) {
  const isEmpty = !title && !children && isSidebarOpen.value && !isNarrow.value;
  if (isEmpty) return null;
  return (
    <header class="head">
      <OpenMenu />
      {title && <h1 class="head-title">{title}</h1>}
      <span class="head-space" />
      {children}
    </header>
  );
}
