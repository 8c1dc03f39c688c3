// SPDX-License-Identifier: Apache-2.0
// The open parts of the page. On a wide screen the sidebar and the panel stand beside the cells and are remembered; on a
// narrow one they are drawers over them, at most one at a time, and closed at first.
import { batch, computed, effect, signal } from "@preact/signals";
import { route } from "./route";

const KEY = "vivarium.layout";
const narrow = matchMedia("(max-width: 899.98px)");

export const isNarrow = signal(narrow.matches);
export const drawer = signal<"none" | "sidebar" | "panel">("none");
const beside = signal(load());

function load(): { sidebar: boolean; panel: boolean } {
  try {
    const saved = JSON.parse(localStorage.getItem(KEY) ?? "{}") as { sidebar?: unknown; panel?: unknown };
    return { sidebar: saved.sidebar !== false, panel: saved.panel !== false };
  } catch {
    return { sidebar: true, panel: true };
  }
}

export const isSidebarOpen = computed(() => (isNarrow.value ? drawer.value === "sidebar" : beside.value.sidebar));
export const isPanelOpen = computed(() => (isNarrow.value ? drawer.value === "panel" : beside.value.panel));

/** A drawer lies over the page it was opened on: where another one is shown, by the browser's own keys, too, it closes. */
let shownAt = JSON.stringify(route.peek());
effect(() => {
  const at = JSON.stringify(route.value);
  if (at !== shownAt) drawer.value = "none";
  shownAt = at;
});

/** A panel with a dialog open in it stays where the window becomes narrow or wide: with the panel the dialog would go. */
narrow.addEventListener("change", () => batch(() => {
  const isHeld = isPanelOpen.peek() && document.querySelector(".panel dialog[open]") !== null;
  isNarrow.value = narrow.matches;
  drawer.value = isHeld && narrow.matches ? "panel" : "none";
  if (isHeld) beside.value = { ...beside.peek(), panel: true };
}));

function toggle(part: "sidebar" | "panel"): void {
  if (isNarrow.value) {
    drawer.value = drawer.value === part ? "none" : part;
    return;
  }
  beside.value = { ...beside.value, [part]: !beside.value[part] };
  try {
    localStorage.setItem(KEY, JSON.stringify(beside.value));
  } catch {
    // A browser that keeps nothing.
  }
}

export const toggleSidebar = () => toggle("sidebar");
export const togglePanel = () => toggle("panel");

export function closeDrawer(): void {
  drawer.value = "none";
}
