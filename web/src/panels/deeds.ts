// SPDX-License-Identifier: Apache-2.0
// What can be done with a checkpoint: go back to it, branch from it, keep it under a name.
import { fork, makeCheckpoint, putOutput, rollback } from "../api/calls";
import type { CellRecord, Checkpoint } from "../api/types";
import { markAt, sidesOf } from "../cells/marks";
import { saveOutput } from "../output/saved";
import { isGoneMark, type Cell, type Conversation } from "../state/conversation";
import { createConversation } from "../state/conversations";
import { failed, toast, toastHere } from "../state/toasts";
import { askConfirm, askText } from "../ui";
import { visible } from "./format";
import type { History } from "./history";
import { sessionChanged } from "./load";
import { leftBehind } from "./tree";

/** Goes back; where states are left behind, only when the person agrees. The way forward is offered as undo. */
export async function goBack(session: string, history: History, target: Checkpoint, title: string): Promise<void> {
  const { head } = history.session;
  const left = leftBehind(history.checkpoints, head, target.id);
  const files = target.files && target.files !== "coming" ? "Files stay as they are now." : "Variables and files become what they were.";
  if (left.length > 0 || history.session.checkpoint_blocked_by) {
    const blocked = history.session.checkpoint_blocked_by
      ? ` The present state could not be kept (${history.session.checkpoint_blocked_by}) and is lost.` : "";
    const later = left.length === 0 ? "" : ` ${left.length === 1 ? "One later state is" : `${left.length} later states are`} left behind: still in the timeline, live or on disk, until newer states take their place.`;
    const isSure = await askConfirm({
      title: "Go back?",
      text: `${files}${later}${blocked}`,
      action: "Go back",
    });
    if (!isSure) return;
  }
  try {
    await rollback(session, target.id);
    sessionChanged(session);
    const undo = head !== target.id ? head : null;
    toastHere(`Back at "${title}"`, "good", "", undo === null ? null : { label: "Undo", run: () => void forward(session, undo) });
  } catch (cause) {
    failed("go back", cause);
  }
}

async function forward(session: string, checkpoint: string): Promise<void> {
  try {
    await rollback(session, checkpoint);
    sessionChanged(session);
  } catch (cause) {
    failed("undo", cause);
  }
}

/** The cells that led to a run: up to its own, or all where it has none. */
export function cellsUpTo(cells: readonly Cell[], run: string | null): Cell[] {
  const at = run === null ? -1 : cells.findIndex((cell) => cell.output.peek()?.run === run);
  return at >= 0 ? cells.slice(0, at + 1) : [...cells];
}

/** The cells as they are in a session that goes on from this state: what is undone here may not be there. */
export function recordsAt(cells: readonly Cell[], checkpoints: readonly Checkpoint[], from: Checkpoint): CellRecord[] {
  const sides = sidesOf(checkpoints, from.id);
  return cells.map((cell) => {
    const { mark = null, ...record } = cell.record();
    const next = markAt(mark, record.run, sides);
    return next ? { ...record, mark: isGoneMark(next) ? "apart" : next } : record;
  });
}

/** Copies the outputs of the cells: the logs of their runs do not stay for ever. An output that cannot be copied is read
 * from its log while that is there. */
async function copyOutputs(to: string, cells: readonly Cell[]): Promise<void> {
  for (const cell of cells) {
    const output = cell.output.peek();
    if (output?.isOver) await putOutput(to, cell.id, saveOutput(output)).catch(() => {});
  }
}

/** A session of its own from this state on, opened as its own conversation. */
export async function branchHere(conversation: Conversation, history: History, from: Checkpoint): Promise<void> {
  const isHead = from.id === history.session.head && !history.session.checkpoint_blocked_by;
  try {
    const [branch] = await fork(history.session.id, isHead ? undefined : from.id);
    const name = `Branch of ${conversation.name.peek()}`; // in front: a list cuts the end
    const cells = cellsUpTo(conversation.cells.peek(), from.run);
    const made = await createConversation({ name, session: branch!.id, sandbox: true, cells: recordsAt(cells, history.checkpoints, from) });
    void copyOutputs(made.id, cells);
    toast("This is the branch: variables are its own, files are shared with the original.", "good");
  } catch (cause) {
    failed("make a branch", cause);
  }
}

/** Gives the present state a name, so that it is not pushed out by newer ones. */
export async function keep(session: string): Promise<void> {
  const name = await askText({
    title: "Keep this state", text: "A state with a name stays in the timeline as long as the conversation does.",
    label: "Name", action: "Keep", max: 60,
  });
  if (name === null) return;
  try {
    await makeCheckpoint(session, name);
    sessionChanged(session);
    toast(`Kept as "${visible(name)}"`, "good");
  } catch (cause) {
    failed("keep this state", cause);
  }
}
