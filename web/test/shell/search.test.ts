// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { calls, daemon } from "./fake";

vi.mock("../../src/api/calls", async () => (await import("./fake")).calls);

const { conversations, newestFirst } = await import("../../src/state/conversations");
const { isLooking, isMoreLeft, lineOf, linesFound, query, watchSearch } = await import("../../src/shell/search");

const cell = (source: string, i = 0) => ({ id: `c${i}`, kind: "code" as const, source, run: null });
const add = (id: string, name: string, ...sources: string[]) =>
  daemon.addConversation(id, name, { cells: sources.length, document: { cells: sources.map(cell) } });
const list = async () => { conversations.value = newestFirst(await calls.listConversations()); };
const found = () => Object.fromEntries(linesFound.value);

async function search(words: string): Promise<void> {
  query.value = words;
  await vi.advanceTimersByTimeAsync(300);
  await vi.waitFor(() => expect(isLooking.value).toBe(false));
}

let stop = () => {};
beforeEach(() => {
  vi.useFakeTimers();
  vi.clearAllMocks();
  daemon.reset();
  conversations.value = [];
  query.value = "";
  stop = watchSearch();
});
afterEach(() => {
  stop();
  vi.useRealTimers();
});

describe("a search in cells", () => {
  it("finds the line, without case and accents, and looks into each conversation once", async () => {
    add("cnv_1", "Sales", "x = 1", "df.Pivot_Table(énergie)\ndf.head()");
    add("cnv_2", "Other", "y = 2");
    await list();
    await search("PIVOT");
    expect(found()).toEqual({ cnv_1: "df.Pivot_Table(énergie)" });
    await search("energie");
    expect(found()).toEqual({ cnv_1: "df.Pivot_Table(énergie)" });
    expect(calls.getConversation).toHaveBeenCalledTimes(2);
  });

  it("reads again what has changed", async () => {
    add("cnv_1", "Sales", "moss");
    await list();
    await search("fern");
    expect(found()).toEqual({});
    Object.assign(daemon.conversations.get("cnv_1")!, { version: 2, document: { cells: [cell("fern")] } });
    await list();
    await search("fern");
    expect(found()).toEqual({ cnv_1: "fern" });
  });

  it("asks nobody for a single letter, nor for every key", async () => {
    add("cnv_1", "Sales", "moss");
    await list();
    await search("m");
    for (const words of ["mo", "mos", "moss"]) query.value = words;
    expect(calls.getConversation).not.toHaveBeenCalled();
    await search("moss");
    expect(calls.getConversation).toHaveBeenCalledTimes(1);
    await search("");
    expect(found()).toEqual({});
  });

  it("goes on when one of them is gone, or is nothing that a page made", async () => {
    add("cnv_1", "Sales", "moss");
    daemon.addConversation("cnv_2", "odd", { cells: 3, document: { cells: [5, { id: 1 }, null] as never } });
    add("cnv_3", "gone", "moss");
    await list();
    daemon.conversations.delete("cnv_3");
    await search("moss");
    expect(found()).toEqual({ cnv_1: "moss" });
  });

  it("is bounded, and says so", async () => {
    for (let i = 0; i < 1100; i++) add(`cnv_${i}`, "many", "moss");
    await list();
    await search("moss");
    expect(calls.getConversation).toHaveBeenCalledTimes(1000);
    expect(isMoreLeft.value).toBe(true);
  });
});

describe("the line that is shown", () => {
  const text = (source: string) => ({ text: source, plain: source.toLowerCase() });
  it("is of a word that the name has not", () => {
    expect(lineOf("Ants", text("ants = 5\nbees = 6"), ["ants", "bees"])).toBe("bees = 6");
    expect(lineOf("Ants", text("bees"), ["ants"])).toBe(null); // found by its name
    expect(lineOf("Ants", text("bees"), ["bees", "wasps"])).toBe(null);
  });

  it("is short, and has what was found", () => {
    const line = lineOf("x", text("a".repeat(500) + "needle" + "b".repeat(500)), ["needle"])!;
    expect(line.length).toBeLessThan(90);
    expect(line).toContain("needle");
  });
});
