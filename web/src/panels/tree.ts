// SPDX-License-Identifier: Apache-2.0
// Checkpoints as a tree that reads like a list: newest first, each on a lane. The way from the head down to its first
// state is lane 0; what was left behind by going back stands on lanes beside it.
import type { Checkpoint } from "../api/types";

export interface Node {
  checkpoint: Checkpoint;
  lane: number;
  isHead: boolean;
  isPast: boolean; // on the way that led to the head
  parentRow: number | null; // row of its parent in the list, when it is still kept
}

export const LANES_MAX = 5; // further ones share the last

/** A state and those that led to it, the newest first, as far as they are kept. */
function wayTo(byId: ReadonlyMap<string, Checkpoint>, id: string | null): Set<Checkpoint> {
  const way = new Set<Checkpoint>();
  for (let one = byId.get(id ?? ""); one && !way.has(one); one = byId.get(one.parent ?? "")) way.add(one);
  return way;
}

export function treeOf(checkpoints: readonly Checkpoint[], head: string | null): Node[] {
  const byId = new Map(checkpoints.map((one) => [one.id, one]));
  // The list comes oldest first; a parent that was given up leaves its children roots.
  const rows = checkpoints.toReversed();
  const past = wayTo(byId, head);

  const laneOf = new Map<string, number>();
  let used = 0;
  for (const one of rows) {
    if (past.has(one)) laneOf.set(one.id, 0);
    else if (!laneOf.has(one.id)) laneOf.set(one.id, Math.min(++used, LANES_MAX - 1));
    // A child hands its lane down to its parent, unless that is on a lane nearer to the head's.
    const parent = one.parent ? byId.get(one.parent) : undefined;
    if (parent && !past.has(parent)) {
      laneOf.set(parent.id, Math.min(laneOf.get(parent.id) ?? LANES_MAX, laneOf.get(one.id)!));
    }
  }

  const rowOf = new Map(rows.map((one, row) => [one.id, row]));
  return rows.map((checkpoint) => ({
    checkpoint,
    lane: laneOf.get(checkpoint.id)!,
    isHead: checkpoint.id === head,
    isPast: past.has(checkpoint),
    parentRow: (checkpoint.parent ? rowOf.get(checkpoint.parent) : undefined) ?? null,
  }));
}

/** The states that a step to the target leaves behind: those on the way to the head that are not on the way to the target. */
export function leftBehind(checkpoints: readonly Checkpoint[], head: string | null, target: string): Checkpoint[] {
  const byId = new Map(checkpoints.map((one) => [one.id, one]));
  const kept = wayTo(byId, target);
  return [...wayTo(byId, head)].filter((one) => !kept.has(one));
}
