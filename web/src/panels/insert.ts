// SPDX-License-Identifier: Apache-2.0
import { runCell } from "../cells/run";
import { newCell, type Conversation } from "../state/conversation";

/** Puts the code at the end, into the empty cell that may be there, and runs it. */
export function insertAndRun(conversation: Conversation, code: string): void {
  const last = conversation.cells.peek().at(-1);
  const isFree = last?.kind.peek() === "code" && last.source.peek().trim() === "" && last.output.peek() === null;
  const cell = isFree ? last : newCell("code", code);
  if (isFree) {
    cell.source.value = code;
    conversation.touch();
  } else {
    conversation.insert(cell);
  }
  void runCell(conversation, cell);
}
