// SPDX-License-Identifier: Apache-2.0
// Dragging a cell to another place. Files that are dragged over the cells are none of our business here.
import { signal } from "@preact/signals";
import type { Conversation } from "../state/conversation";
import { moveCell } from "./edit";

export const CELL_TYPE = "application/x-vivarium-cell";

/** The gap a dragged cell would go to: 0 is before the first. */
export const gap = signal<number | null>(null);

const isCell = (event: DragEvent) => event.dataTransfer?.types.includes(CELL_TYPE) ?? false;

/** The gap nearest to a height on the screen, given the boxes of the cells from the top. */
export function gapAt(y: number, boxes: readonly { top: number; height: number }[]): number {
  const at = boxes.findIndex((box) => y < box.top + box.height / 2);
  return at < 0 ? boxes.length : at;
}

export function onDragOver(event: DragEvent): void {
  if (!isCell(event)) return;
  event.preventDefault();
  if (event.dataTransfer) event.dataTransfer.dropEffect = "move";
  const list = event.currentTarget as HTMLElement;
  gap.value = gapAt(event.clientY, [...list.querySelectorAll(":scope > .cell")].map((cell) => cell.getBoundingClientRect()));
}

export function onDrop(event: DragEvent, conversation: Conversation): void {
  if (!isCell(event)) return;
  event.preventDefault();
  const id = event.dataTransfer?.getData(CELL_TYPE);
  const from = conversation.cells.peek().findIndex((cell) => cell.id === id);
  const to = gap.peek();
  gap.value = null;
  if (from >= 0 && to !== null) moveCell(conversation, conversation.cells.peek()[from]!, to > from ? to - 1 : to);
}

export function onDragEnd(): void {
  gap.value = null;
}
