// SPDX-License-Identifier: Apache-2.0
// Marks on a cell's result, for what happened after its run: the session went back to before it, was restarted or was rolled
// back by a later run, or a cell above, whose variables it reads, has run since (stale). Marks are kept with the conversation.
// A mark ends with the cell's next run, or when the session goes to a state in which it is not true.
import * as calls from "../api/calls";
import type { CellMark, Checkpoint } from "../api/types";
import { isGoneMark, type Cell, type Conversation } from "../state/conversation";
import { namesOf, type Names } from "./names";

/** Those behind `at` that read, directly or by way of another, what the one at `at` wrote. */
export function readersOf(cells: readonly Names[], at: number): number[] {
  const changed = new Set(cells[at]?.writes);
  const found: number[] = [];
  for (let i = at + 1; i < cells.length; i++) {
    const { reads, writes } = cells[i]!;
    const isReader = [...reads].some((name) => changed.has(name));
    if (isReader) found.push(i);
    for (const name of writes) {
      if (isReader) changed.add(name);
      else changed.delete(name); // from here on it is this cell's value
    }
  }
  return found;
}

/** A run of the cell has just ended: what cells below made of its variables may no longer be true. */
export function markStale(conversation: Conversation, cell: Cell): void {
  const ending = cell.output.peek()?.ending;
  if (!ending || ending.state === "rolled_back" || ending.state === "lost") return; // it changed nothing, or everything is gone
  const cells = conversation.cells.peek().filter((one) => one.kind.peek() === "code");
  const names = cells.map((one) => namesOf(one.source.peek()));
  let isChanged = false;
  for (const i of readersOf(names, cells.indexOf(cell))) {
    const reader = cells[i]!;
    if (!reader.output.peek()?.run || reader.mark.peek() !== null) continue;
    reader.mark.value = "stale";
    isChanged = true;
  }
  if (isChanged) conversation.touch();
}

/** The session went back: those whose inputs are again what they were when they ran. `live` is in order, the newest first. */
function freshAgain(cells: readonly Cell[], { live }: Sides): Cell[] {
  const order = [...live];
  const code = cells.filter((cell) => cell.kind.peek() === "code");
  const names = code.map((cell) => namesOf(cell.source.peek()));
  const runs = code.map((cell) => cell.output.peek()?.run ?? "");
  const isLater = (writer: number, reader: number) =>
    !isGoneMark(code[writer]!.mark.peek()) && (!live.has(runs[writer]!) || order.indexOf(runs[writer]!) < order.indexOf(runs[reader]!));
  return code.filter((cell, i) => cell.mark.peek() === "stale" && live.has(runs[i]!)
    && !code.some((_, above) => above < i && runs[above] && isLater(above, i) && readersOf(names, above).includes(i)));
}

interface Sides {
  live: ReadonlySet<string>; // the newest first
  undone: ReadonlyMap<string, CellMark>; // by what
}

/** The mark of a cell whose last run is this one, where these runs are part of the state and those are not. */
export function markAt(mark: CellMark | null, run: string | null, { live, undone }: Sides): CellMark | null {
  if (run === null) return mark;
  if (live.has(run)) return isGoneMark(mark) ? null : mark;
  return isGoneMark(mark) ? mark : (undone.get(run) ?? mark);
}

/** Which runs are part of the head's state, and which were left behind by going back or by a restart. Of others nothing is
 * known: their checkpoints are gone, or there never was one. */
export function sidesOf(checkpoints: readonly Checkpoint[], head: string): Sides {
  const byId = new Map(checkpoints.map((one) => [one.id, one]));
  const past = new Set<Checkpoint>();
  let first: Checkpoint | undefined; // of the way that led to the head
  for (let one = byId.get(head); one && !past.has(one); one = one.parent ? byId.get(one.parent) : undefined) {
    past.add(one);
    first = one;
  }
  const live = new Set([...past].flatMap(({ run }) => run ?? []));
  const isWhole = first?.run === null && first.parent === null; // it began with nothing: no older run is part of it
  const undone = new Map<string, CellMark>();
  for (const one of checkpoints) {
    if (!first || past.has(one) || one.run === null || live.has(one.run)) continue;
    const isBefore = one.created_ms < first.created_ms;
    if (isWhole || !isBefore) undone.set(one.run, isBefore ? "restarted" : "undone");
  }
  return { live, undone };
}

/** Runs that the ends of others name, the oldest first: what they did went with those that failed, whether or not they had
 * left a state. Where the session has gone to the state of one, it has what those before it did, too. */
function rolledBack(cells: readonly Cell[], live: ReadonlySet<string>): { gone: string[]; back: string[] } {
  const [gone, back]: string[][] = [[], []];
  for (const cell of cells) {
    const output = cell.output.peek();
    const undone = output?.ending?.undone ?? [];
    const reached = undone.findLastIndex((run) => live.has(run));
    back!.push(...undone.slice(0, reached + 1));
    gone!.push(...undone.slice(reached + 1).filter((run) => run !== output!.run));
  }
  return { gone: gone!, back: back! };
}

const looks = new WeakMap<Conversation, number>(); // at where its head is: only what the last one finds counts

function beginLook(conversation: Conversation): () => boolean {
  const look = (looks.get(conversation) ?? 0) + 1;
  looks.set(conversation, look);
  return () => looks.get(conversation) === look;
}

/** The session was restarted: what all cells had set is gone. */
export function markAllUndone(conversation: Conversation): void {
  beginLook(conversation);
  conversation.undoAll("restarted");
}

const NOTHING: Sides = { live: new Set(), undone: new Map() };

/** null: the head moved between two answers, which the feed tells: a list that is newer than the head has states that look
 * as if they had been left behind. */
async function lookAt(session: string): Promise<Sides | null> {
  const { head } = await calls.getSession(session);
  if (head === null) return NOTHING;
  const checkpoints = await calls.listCheckpoints(session);
  const now = await calls.getSession(session);
  if (now.head !== head) return null;
  const sides = sidesOf(checkpoints, head);
  // The session may be ahead of its last state: states after that one on disk may be its own, or left behind.
  return now.checkpoint_blocked_by ? { ...sides, undone: NOTHING.undone } : sides;
}

/** The session's head moved, or the end of a run told of others that it undid: what is not in the session any more is
 * marked, what it has again is not. The daemon says where the head is: the feed may still tell of one that a restart has
 * ended. */
export async function markUndone(conversation: Conversation): Promise<void> {
  const session = conversation.session.peek();
  if (!session) return;
  const isLast = beginLook(conversation);
  const sides = await lookAt(session).catch(() => NOTHING); // the session may just have ended
  if (!sides || !isLast()) return;
  const cells = conversation.cells.peek();
  const undone = new Map(sides.undone);
  const { gone, back } = rolledBack(cells, sides.live);
  for (const run of gone) undone.set(run, "rolled_back");
  const live = new Set([...sides.live, ...back]);
  let isChanged = false;
  for (const cell of cells) {
    const next = markAt(cell.mark.peek(), cell.output.peek()?.run ?? null, { live, undone });
    if (next === cell.mark.peek()) continue;
    cell.mark.value = next;
    isChanged = true;
  }
  for (const cell of freshAgain(cells, sides)) {
    cell.mark.value = null;
    isChanged = true;
  }
  if (isChanged) conversation.touch();
}
