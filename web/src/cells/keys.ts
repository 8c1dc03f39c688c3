// SPDX-License-Identifier: Apache-2.0
// The keys of a cell, as the editor spells them and as people read them.
const isMac = /^Mac|iPhone|iPad/.test(navigator.platform);
const mod = isMac ? "⌘" : "Ctrl";

export const RUN_ON = { key: "Shift-Enter", shown: "Shift+Enter" };
export const RUN_HERE = { key: "Mod-Enter", shown: `${mod}+Enter` };
export const RUN_HERE_TOO = { key: "Ctrl-Enter", shown: "Ctrl+Enter" }; // on a Mac, as notebooks have it
export const RUN_INSERT = { key: "Alt-Enter", shown: "Alt+Enter" };
export const STOP = { key: "Mod-.", shown: `${mod}+.` };
export const MOVE_UP = { key: "Mod-Shift-ArrowUp", shown: `${mod}+Shift+↑` };
export const MOVE_DOWN = { key: "Mod-Shift-ArrowDown", shown: `${mod}+Shift+↓` };

/** The step of the two keys above outside of an editor: one place up or down; 0 for any other key. */
export function movedBy({ key, shiftKey, ctrlKey, metaKey }: KeyboardEvent): -1 | 0 | 1 {
  if (!shiftKey || !(isMac ? metaKey : ctrlKey)) return 0;
  return key === "ArrowUp" ? -1 : key === "ArrowDown" ? 1 : 0;
}
