// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { Checkpoint } from "../../src/api/types";
import { LANES_MAX, leftBehind, treeOf } from "../../src/panels/tree";

let clock = 0;
const state = (id: string, parent: string | null): Checkpoint => ({
  id, parent, name: null, run: null, created_ms: ++clock, memory: 0,
});

describe("the tree of checkpoints", () => {
  it("has the way to the head on lane 0 and what was left behind beside it", () => {
    // a - b - c, back to a, then d.
    const list = [state("a", null), state("b", "a"), state("c", "b"), state("d", "a")];
    const rows = treeOf(list, "d");
    expect(rows.map((row) => [row.checkpoint.id, row.lane, row.isPast])).toEqual([
      ["d", 0, true], ["c", 1, false], ["b", 1, false], ["a", 0, true],
    ]);
    expect(rows[0]).toMatchObject({ isHead: true, parentRow: 3 });
    expect(rows[1]).toMatchObject({ parentRow: 2 });
  });

  it("does without parents that were given up", () => {
    const rows = treeOf([state("x", "gone"), state("y", "x")], "y");
    expect(rows.map((row) => row.parentRow)).toEqual([1, null]);
  });

  it("ends for parents that go in a circle, and never has more lanes than it draws", () => {
    expect(treeOf([state("a", "b"), state("b", "a")], "a")).toHaveLength(2);
    const many = [state("root", null), ...Array.from({ length: 20 }, (_, i) => state(`s${i}`, "root"))];
    expect(Math.max(...treeOf(many, "root").map((row) => row.lane))).toBe(LANES_MAX - 1);
  });

  it("knows what going back leaves behind", () => {
    const list = [state("a", null), state("b", "a"), state("c", "b"), state("d", "a")];
    expect(leftBehind(list, "c", "a").map((one) => one.id)).toEqual(["c", "b"]);
    expect(leftBehind(list, "c", "c")).toEqual([]);
    expect(leftBehind(list, "d", "c").map((one) => one.id)).toEqual(["d"]); // the states before both stay
    expect(leftBehind(list, "a", "c")).toEqual([]); // forward again
    expect(leftBehind([state("x", "gone"), state("y", "gone")], "y", "x").map((one) => one.id)).toEqual(["y"]);
    expect(leftBehind([state("p", "q"), state("q", "p"), state("r", null)], "p", "r")).toHaveLength(2);
  });
});
