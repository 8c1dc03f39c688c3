// SPDX-License-Identifier: Apache-2.0
// Where the cursor goes. A cell says how it takes the focus; one that is not on the page yet gets it when it comes.
import { type Cell } from "../state/conversation";

export type Way = (at: "start" | "end") => void;

const ways = new WeakMap<Cell, Way>();
let wanted: { cell: Cell; at: "start" | "end" } | null = null;

export function focusCell(cell: Cell, at: "start" | "end" = "end"): void {
  const way = ways.get(cell);
  wanted = way ? null : { cell, at };
  way?.(at);
}

/** For a cell that is about to show another part of itself: that one gets the focus, not the one that goes. */
export function focusNextPart(cell: Cell): void {
  wanted = { cell, at: "end" };
}

/** Called by the part of a cell that takes the focus, when it comes; answers how to take it back when it goes. */
export function takesFocus(cell: Cell, way: Way): () => void {
  ways.set(cell, way);
  if (wanted?.cell === cell) {
    const { at } = wanted;
    wanted = null;
    way(at);
  }
  return () => {
    if (ways.get(cell) === way) ways.delete(cell);
  };
}

/** Keeps the focus where it is through a change of the page: an element that is moved would lose it. */
export function keepFocus(change: () => void): void {
  const before = document.activeElement;
  change();
  requestAnimationFrame(() => {
    if (before instanceof HTMLElement && before.isConnected && document.activeElement !== before) before.focus();
    if (before instanceof HTMLElement) before.closest(".cell")?.scrollIntoView({ block: "nearest" });
  });
}

const SHOWN = 220; // of what is revealed, at most

function scrollerOf(element: Element): Element | null {
  for (let at = element.parentElement; at; at = at.parentElement) {
    if (at.scrollHeight > at.clientHeight && /auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  }
  return document.scrollingElement;
}

/** Scrolls until the beginning of `part` is seen, as far as the beginning of `whole` stays in view. */
export function reveal(part: Element, whole: Element): void {
  const scroller = scrollerOf(part);
  if (!scroller) return;
  const view = scroller === document.scrollingElement ? { top: 0, bottom: innerHeight } : scroller.getBoundingClientRect();
  const { top, height } = part.getBoundingClientRect();
  const hidden = top + Math.min(height, SHOWN) - view.bottom;
  const room = whole.getBoundingClientRect().top - view.top;
  if (hidden > 0 && room > 0) scroller.scrollBy({ top: Math.min(hidden, room) });
}
