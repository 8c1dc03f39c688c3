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

export function treeOf(checkpoints: readonly Checkpoint[], head: string | null): Node[] {
  const byId = new Map(checkpoints.map((one) => [one.id, one]));
  // The list comes oldest first; a parent that was given up leaves its children roots.
  const rows = checkpoints.toReversed();
  const past = new Set<string>();
  for (let one = head === null ? undefined : byId.get(head); one && !past.has(one.id); one = one.parent ? byId.get(one.parent) : undefined) {
    past.add(one.id);
  }

  const laneOf = new Map<string, number>();
  let used = 0;
  for (const one of rows) {
    if (past.has(one.id)) laneOf.set(one.id, 0);
    else if (!laneOf.has(one.id)) laneOf.set(one.id, Math.min(++used, LANES_MAX - 1));
    // A child hands its lane down to its parent, unless that is on a lane nearer to the head's.
    const parent = one.parent ? byId.get(one.parent) : undefined;
    if (parent && !past.has(parent.id)) {
      laneOf.set(parent.id, Math.min(laneOf.get(parent.id) ?? LANES_MAX, laneOf.get(one.id)!));
    }
  }

  const rowOf = new Map(rows.map((one, row) => [one.id, row]));
  return rows.map((checkpoint) => ({
    checkpoint,
    lane: laneOf.get(checkpoint.id)!,
    isHead: checkpoint.id === head,
    isPast: past.has(checkpoint.id),
    parentRow: (checkpoint.parent ? rowOf.get(checkpoint.parent) : undefined) ?? null,
  }));
}

/** What going back to this one leaves behind: states that came after it on the way to the head. */
export function leftBehind(checkpoints: readonly Checkpoint[], head: string | null, target: string): Checkpoint[] {
  const byId = new Map(checkpoints.map((one) => [one.id, one]));
  const left: Checkpoint[] = [];
  for (let one = head === null ? undefined : byId.get(head); one && left.length <= checkpoints.length; one = one.parent ? byId.get(one.parent) : undefined) {
    if (one.id === target) return left;
    left.push(one);
  }
  return left; // on another branch: all of it
}
