// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { CellRecord } from "../../src/api/types";
import { isCellRecord, isSame, merge, mergeText, type Snapshot } from "../../src/state/merge";

const cell = (id: string, source = id, run: string | null = null): CellRecord => ({ id, kind: "code", source, run });
const snapshot = (cells: CellRecord[], more: Partial<Snapshot> = {}): Snapshot => ({ name: "n", session: null, sandbox: true, cells, ...more });
const three = (base: CellRecord[], ours: CellRecord[], theirs: CellRecord[]) => {
  let copies = 0;
  return merge(snapshot(base), snapshot(ours), snapshot(theirs), () => `copy${++copies}`);
};
const idsOf = (merged: Snapshot) => merged.cells.map(({ id }) => id);
const [a, b, c] = [cell("a"), cell("b"), cell("c")];

describe("texts", () => {
  it("takes the side that changed", () => {
    expect(mergeText("x", "x", "y")).toBe("y");
    expect(mergeText("x", "y", "x")).toBe("y");
    expect(mergeText("x", "y", "y")).toBe("y");
  });

  it("puts changes of different lines together, whoever changed which", () => {
    const base = "1\n2\n3\n4\n5";
    expect(mergeText(base, "one\n2\n3\n4\n5", "1\n2\n3\n4\nfive\nsix")).toBe("one\n2\n3\n4\nfive\nsix");
    expect(mergeText(base, "1\n2\n3\n4\nfive", "zero\n1\n2\n3\n4\n5")).toBe("zero\n1\n2\n3\n4\nfive");
    expect(mergeText(base, "1\n3\n4\n5", "1\n2\n3\n4")).toBe("1\n3\n4");
  });

  it("does not guess where both changed the same or neighbouring lines", () => {
    expect(mergeText("x", "ours", "theirs")).toBeNull();
    expect(mergeText("1\n2", "one\n2", "1\ntwo")).toBeNull();
    expect(mergeText("1\n2\n3", "1\n2\nA\n3", "1\n2\nB\n3")).toBeNull();
  });
});

describe("runs that cells made", () => {
  const of = (...runs: string[]) => snapshot([], { runs });
  it("are those of both sides, without the oldest", () => {
    expect(merge(of("1"), of("1", "ours"), of("1", "theirs"), String).runs).toEqual(["1", "theirs", "ours"]);
    const many = Array.from({ length: 100 }, (_, i) => `${i}`);
    const theirs = of(...many.slice(1), "new");
    expect(isSame(merge(of(...many), of(...many), theirs, String), theirs)).toBe(true); // nothing to be saved again
    expect(isSame(of("1"), of("1", "2"))).toBe(false);
  });
});

describe("cells", () => {
  it("both sides' new cells are there, behind the ones they stood behind", () => {
    expect(idsOf(three([a, b], [a, cell("ours"), b], [a, b, cell("theirs")]))).toEqual(["a", "ours", "b", "theirs"]);
    expect(idsOf(three([a], [cell("first"), a], [a, cell("last")]))).toEqual(["first", "a", "last"]);
    expect(idsOf(three([], [cell("o1"), cell("o2")], [cell("t1")]))).toEqual(["o1", "o2", "t1"]);
  });

  it("a deletion counts, on either side", () => {
    expect(idsOf(three([a, b, c], [a, c], [a, b, c]))).toEqual(["a", "c"]);
    expect(idsOf(three([a, b, c], [a, b, c], [b, c]))).toEqual(["b", "c"]);
    expect(idsOf(three([a, b, c], [a], [c]))).toEqual([]);
  });

  it("a deletion does not take a text that the other side changed since", () => {
    expect(three([a, b], [a], [a, cell("b", "rewritten")]).cells).toEqual([a, cell("b", "rewritten")]);
    expect(three([a, b], [a, cell("b", "rewritten")], [a]).cells).toEqual([a, cell("b", "rewritten")]);
  });

  it("an order that one side changed stays, with what the other added", () => {
    expect(idsOf(three([a, b, c], [c, a, b], [a, b, c, cell("new")]))).toEqual(["c", "new", "a", "b"]);
    expect(idsOf(three([a, b, c], [a, b, c, cell("new")], [c, a, b]))).toEqual(["c", "new", "a", "b"]);
  });

  it("where both rewrote one cell both texts are kept, ours in its place", () => {
    const merged = three([a], [cell("a", "ours")], [cell("a", "theirs")]);
    expect(merged.cells.map(({ id, source }) => [id, source])).toEqual([["a", "ours"], ["copy1", "theirs"]]);
    expect(merged.kept).toEqual(["copy1"]);
  });

  it("a text that is kept already is not kept twice", () => {
    const merged = three([a], [cell("a", "ours")], [cell("a", "theirs"), cell("copy0", "theirs")]);
    expect(merged.kept).toEqual([]);
    expect(merged.cells.filter(({ source }) => source === "theirs")).toHaveLength(1);
  });

  it("the same run seen by two tabs is one cell; a text typed into either stays", () => {
    const seen = cell("rrun_1", "print(1)", "run_1");
    expect(three([], [seen], [seen]).cells).toEqual([seen]);
    expect(three([], [cell("x", "ours")], [cell("x", "")]).cells).toEqual([cell("x", "ours")]);
    expect(three([], [cell("x", "")], [cell("x", "theirs")]).cells).toEqual([cell("x", "theirs")]);
    expect(three([], [cell("x", "ours")], [cell("x", "theirs")]).cells.map(({ source }) => source)).toEqual(["ours", "theirs"]);
  });

  it("runs, kinds and who ran are taken from the side that has news", () => {
    const theirs: CellRecord = { id: "a", kind: "note", source: "a", run: "run_2", who: { token: null, via: "mcp", client: null, peer: "unix" } };
    expect(three([a], [cell("a", "typed")], [theirs]).cells).toEqual([{ ...theirs, source: "typed", ran: "a" }]);
    expect(three([a], [cell("a", "a", "run_3")], [a]).cells[0]?.run).toBe("run_3");
  });

  it("no typed text is lost, whatever the two did", () => {
    // Every combination of small edits on both sides: each text that one side typed must be somewhere in what comes out.
    const edits = (side: string): CellRecord[][] => [
      [a, b, c], [b, c], [c, b, a], [], [cell("a", `${side} a`), b, c], [a, cell("b", `${side} b`)],
      [cell("c", `${side} c`), cell("a", `${side} a`)], [cell(`${side}1`, `${side} new`), c, b], [cell("same", `${side} same`), a],
    ];
    for (const ours of edits("our")) {
      for (const theirs of edits("their")) {
        const merged = three([a, b, c], ours, theirs);
        const texts = merged.cells.map(({ source }) => source);
        for (const { source } of [...ours, ...theirs]) if (source.includes(" ")) expect(texts).toContain(source);
        expect(new Set(idsOf(merged)).size).toBe(merged.cells.length);
      }
    }
  });
});

describe("the rest", () => {
  it("name, session and switch: the side that changed, ours where both did", () => {
    const base = snapshot([]);
    expect(merge(base, base, { ...base, name: "theirs", session: "ses_1" }, String)).toMatchObject({ name: "theirs", session: "ses_1", sandbox: true });
    expect(merge(base, { ...base, name: "ours" }, { ...base, name: "theirs", sandbox: false }, String)).toMatchObject({ name: "ours", sandbox: false });
  });

  it("knows what is the same", () => {
    expect(isSame(snapshot([a]), snapshot([{ ...a }]))).toBe(true);
    expect(isSame(snapshot([a]), snapshot([cell("a", "other")]))).toBe(false);
    expect(isSame(snapshot([a, b]), snapshot([b, a]))).toBe(false);
  });

  it("takes only cells for cells", () => {
    expect(isCellRecord(a)).toBe(true);
    for (const bad of [null, 1, {}, { ...a, id: "../x" }, { ...a, kind: "html" }, { ...a, source: 1 }, { ...a, run: 2 }, { ...a, who: "me" }])
      expect(isCellRecord(bad)).toBe(false);
  });
});
