// SPDX-License-Identifier: Apache-2.0
import { runCell } from "../cells/run";
import { newCell, type Cell, type Conversation } from "../state/conversation";
import { closeUpload, uploads } from "./upload";

const SETTLE_MS = 1500; // charts and pictures take their height when they come

/** Keeps the end of what the cell shows in sight until it has its height, unless the reader goes elsewhere. */
export function showEnd(cell: Cell): void {
  const element = document.getElementById(`cell-${cell.id}`);
  if (!element) return;
  const show = () => element.scrollIntoView({ block: "end", behavior: "smooth" });
  const watch = new ResizeObserver(show);
  const stop = () => {
    watch.disconnect();
    controller.abort();
  };
  const controller = new AbortController();
  for (const name of ["wheel", "pointerdown", "keydown", "touchmove"]) addEventListener(name, stop, { signal: controller.signal, passive: true });
  watch.observe(element);
  setTimeout(stop, SETTLE_MS);
}

/** Puts the code at the end, into the empty cell that may be there, runs it, and goes to what it shows. */
export async function insertAndRun(conversation: Conversation, code: string): Promise<void> {
  const last = conversation.cells.peek().at(-1);
  const isFree = last?.kind.peek() === "code" && last.source.peek().trim() === "" && last.output.peek() === null;
  const cell = isFree ? last : newCell("code", code);
  if (isFree) {
    cell.source.value = code;
    conversation.touch();
  } else {
    conversation.insert(cell);
  }
  await runCell(conversation, cell);
  showEnd(cell);
}

/** Files that started a conversation have arrived: the first that has a chart is charted, without being asked again. */
export async function chartFirst(conversation: Conversation): Promise<void> {
  for (const upload of uploads.peek()) {
    const state = upload.state.peek();
    if (upload.conversation !== conversation || state.at !== "done" || state.starter === null) continue;
    closeUpload(upload);
    return insertAndRun(conversation, state.starter);
  }
}
