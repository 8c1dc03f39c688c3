// SPDX-License-Identifier: Apache-2.0
// Keys of the page, and the dialog that lists them all.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { togglePanel, toggleSidebar, isSidebarOpen } from "../state/layout";
import { Dialog } from "../ui";
import { saveNow, startConversation } from "./deeds";

export const isHelpShown = signal(false);

const isMac = /^Mac|iPhone|iPad/.test(navigator.platform);
export const mod = isMac ? "⌘" : "Ctrl";

const groups: { title: string; keys: [keys: string, does: string][] }[] = [
  {
    title: "In a cell",
    keys: [
      ["Shift+Enter", "Run it and go to the next one"],
      [`${mod}+Enter`, "Run it and stay"],
      ["Alt+Enter", "Run it and insert one below"],
      [`${mod}+.`, "Interrupt"],
      [`${mod}+Shift+↑ / ↓`, "Move it up or down"],
      ["Tab", "Complete, or indent"],
      ["Esc, then Tab", "Leave the editor"],
    ],
  },
  {
    title: "Anywhere",
    keys: [
      [`${mod}+Shift+Enter`, "Run all cells"],
      ["Alt+N", "New conversation"],
      [`${mod}+K`, "Search conversations"],
      [`${mod}+B`, "Show or hide the sidebar"],
      [`${mod}+J`, "Show or hide the panel"],
      ["?", "This help"],
    ],
  },
];

export function Help() {
  if (!isHelpShown.value) return null;
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => { isHelpShown.value = false; }}>
      <div class="help">
        {groups.map(({ title, keys }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, does]) => (
                <div key={key} class="help-row"><dt><kbd>{key}</kbd></dt><dd>{does}</dd></div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}

function focusSearch(): void {
  if (!isSidebarOpen.peek()) toggleSidebar();
  requestAnimationFrame(() => document.querySelector<HTMLInputElement>(".search input")?.focus());
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** The deed of a key, or null where it is none of ours. */
export function deedOf(event: KeyboardEvent, runAll: () => void): (() => void) | null {
  if (event.isComposing || event.repeat) return null;
  const isMod = (isMac ? event.metaKey : event.ctrlKey) && !event.altKey;
  if (isMod && event.shiftKey) return event.key === "Enter" ? runAll : null;
  if (isMod) {
    switch (event.key.toLowerCase()) {
      case "k": return focusSearch;
      case "b": return toggleSidebar;
      case "j": return togglePanel;
      case "s": return () => void saveNow();
      default: return null;
    }
  }
  // The code, since Alt with a letter makes another letter on a Mac.
  if (event.altKey && !event.ctrlKey && !event.metaKey && event.code === "KeyN") return () => void startConversation();
  if (event.key === "?" && !isTyping(event.target)) return () => { isHelpShown.value = true; };
  return null;
}

export function useKeys(runAll: () => void): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (document.querySelector("dialog[open]")) return;
      const deed = deedOf(event, runAll);
      if (!deed) return;
      event.preventDefault();
      event.stopPropagation();
      deed();
    };
    // Before the editor sees it: these keys mean the same everywhere.
    addEventListener("keydown", onKeyDown, { capture: true });
    return () => removeEventListener("keydown", onKeyDown, { capture: true });
  }, [runAll]);
}
