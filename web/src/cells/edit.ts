// SPDX-License-Identifier: Apache-2.0
// Deeds on the list of cells: insert, move, turn, delete and take back.
import { signal } from "@preact/signals";
import * as calls from "../api/calls";
import type { CellKind } from "../api/types";
import { type Cell, type Conversation, newCell } from "../state/conversation";
import { toast } from "../state/toasts";
import { focusCell, focusNextPart, keepFocus } from "./focus";
import { isOn } from "./live";
import { stopCell } from "./run";

const FORGET_MS = 30_000; // longer than a deletion can be taken back

/** Read out to those who do not see what happened. */
export const said = signal("");

export function insertCell(conversation: Conversation, at: number, kind: CellKind = "code", source = ""): Cell {
  const cell = newCell(kind, source);
  conversation.insert(cell, at);
  focusCell(cell);
  return cell;
}

export function moveCell(conversation: Conversation, cell: Cell, to: number): void {
  const count = conversation.cells.peek().length;
  const from = conversation.cells.peek().indexOf(cell);
  if (from < 0 || to < 0 || to >= count || to === from) return;
  keepFocus(() => conversation.move(cell, to));
  said.value = `Moved to place ${to + 1} of ${count}`;
}

export function moveBy(conversation: Conversation, cell: Cell, step: -1 | 1): void {
  moveCell(conversation, cell, conversation.cells.peek().indexOf(cell) + step);
}

export function turnCell(conversation: Conversation, cell: Cell, kind: CellKind): void {
  if (isOn(cell) || cell.kind.peek() === kind) return;
  cell.kind.value = kind;
  conversation.touch();
  focusNextPart(cell);
}

export function deleteCell(conversation: Conversation, cell: Cell): void {
  const cells = conversation.cells.peek();
  const at = cells.indexOf(cell);
  if (at < 0) return;
  if (isOn(cell)) void stopCell(conversation, cell);
  const next = cells[at + 1] ?? cells[at - 1];
  conversation.remove(cell);
  if (next) focusCell(next, "start");

  const isThere = () => conversation.cells.peek().some((other) => other.id === cell.id);
  toast(`Cell ${at + 1} deleted`, "info", "", {
    label: "Undo",
    run: () => {
      if (isThere()) return;
      conversation.insert(cell, Math.min(at, conversation.cells.peek().length));
      focusCell(cell);
    },
  });
  setTimeout(() => {
    if (!isThere() && cell.output.peek()) calls.removeOutput(conversation.id, cell.id).catch(() => {}); // it goes with the conversation at the latest
  }, FORGET_MS);
}

/** The cell after this one, for going on; at the end there is a new one. */
export function goOn(conversation: Conversation, cell: Cell): void {
  const cells = conversation.cells.peek();
  const next = cells[cells.indexOf(cell) + 1];
  if (next) focusCell(next, "start");
  else insertCell(conversation, cells.length);
}

export function goBeside(conversation: Conversation, cell: Cell, step: -1 | 1): boolean {
  const cells = conversation.cells.peek();
  const other = cells[cells.indexOf(cell) + step];
  if (!other) return false;
  focusCell(other, step < 0 ? "end" : "start");
  return true;
}
