// SPDX-License-Identifier: Apache-2.0
// What became of a cell's result after its run: the session went back to before it or was restarted (undone), or a cell
// above, whose variables it reads, has run since (stale). Marks are kept with the conversation and end with the cell's next run.
import * as calls from "../api/calls";
import type { CellMark, Checkpoint } from "../api/types";
import type { Cell, Conversation } from "../state/conversation";
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

/** What the run set is not in the session. */
const isGone = (mark: CellMark | null): boolean => mark === "undone" || mark === "apart";

interface Sides {
  live: ReadonlySet<string>;
  undone: ReadonlySet<string>;
}

/** The mark of a cell whose last run is this one, where these runs are part of the state and those are not. */
export function markAt(mark: CellMark | null, run: string | null, { live, undone }: Sides): CellMark | null {
  if (run === null) return mark;
  return undone.has(run) ? "undone" : isGone(mark) && live.has(run) ? null : mark;
}

/** Which runs are part of the head's state, and which were left behind by going back or by a restart. Of others nothing is
 * known: their checkpoints are gone, or there never was one. */
export function sidesOf(checkpoints: readonly Checkpoint[], head: string): Sides {
  const byId = new Map(checkpoints.map((one) => [one.id, one]));
  const past = new Set<Checkpoint>();
  let from = Infinity;
  for (let one = byId.get(head); one && !past.has(one); one = one.parent ? byId.get(one.parent) : undefined) {
    past.add(one);
    from = one.run === null && one.parent === null ? -Infinity : one.created_ms; // it began with nothing: no older run is part of it
  }
  const runsOf = (list: Iterable<Checkpoint>) => new Set([...list].flatMap(({ run }) => run ?? []));
  const live = runsOf(past);
  const beside = checkpoints.filter((one) => !past.has(one) && one.created_ms > from);
  return { live, undone: new Set([...runsOf(beside)].filter((run) => !live.has(run))) };
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
  for (const { mark, output } of conversation.cells.peek()) {
    if (output.peek()?.run) mark.value = "undone";
  }
  conversation.touch();
}

/** null: it has no head, or the head moved between two answers, which the feed tells: a list that is newer than the head
 * has states that look as if they had been left behind. */
async function lookAt(session: string): Promise<Sides | null> {
  const { head } = await calls.getSession(session);
  const checkpoints = await calls.listCheckpoints(session);
  const isStill = head !== null && (await calls.getSession(session)).head === head;
  return isStill ? sidesOf(checkpoints, head) : null;
}

/** The session's head moved: what it left behind is marked, what it has again is not. The daemon says where the head is:
 * the feed may still tell of one that a restart has ended. */
export async function markUndone(conversation: Conversation): Promise<void> {
  const session = conversation.session.peek();
  if (!session) return;
  const isLast = beginLook(conversation);
  const sides = await lookAt(session).catch(() => null); // the session may just have ended
  if (!sides || !isLast()) return;
  let isChanged = false;
  for (const cell of conversation.cells.peek()) {
    const next = markAt(cell.mark.peek(), cell.output.peek()?.run ?? null, sides);
    if (next === cell.mark.peek()) continue;
    cell.mark.value = next;
    isChanged = true;
  }
  if (isChanged) conversation.touch();
}
