// SPDX-License-Identifier: Apache-2.0
import { afterEach, describe, expect, it, vi } from "vitest";
import * as calls from "../../src/api/calls";
import type { HeldRun, RunRow, Status } from "../../src/api/types";
import { cards as shown, loadHeld, mergeHeld, type Card } from "../../src/agents/held";
import { runs } from "../../src/state/feed";

const held = (id: string, more: Partial<HeldRun> = {}): HeldRun => ({
  id, session: null, op: "run", policy: "careful", runtime: "base", begun_ms: 0, events: 0, state: "held", line: id,
  who: { token: null, via: "mcp", client: "agent", peer: "127.0.0.1" }, verdict: null, code: "1", code_size: 1,
  held_ms: 1, until_ms: Date.now() + 60_000, ...more,
});
const ids = (cards: readonly Card[]) => cards.map((card) => `${card.run.id} ${card.fate}`);

afterEach(() => {
  vi.restoreAllMocks();
  shown.value = [];
  runs.value = [];
});

describe("cards of runs that were refused", () => {
  it.each(["denied", "guard", "ok"])("say why: %s", async (verdict) => {
    const getRun = vi.spyOn(calls, "getRun").mockResolvedValue({ id: "a", verdict: { kind: verdict, message: "not on a Sunday" } });
    vi.spyOn(calls, "status").mockResolvedValue({} as Status);
    vi.spyOn(calls, "listHeld").mockResolvedValue({ held: [] });
    shown.value = [{ run: held("a"), seenMs: 0, fate: "held" }];
    runs.value = [{ ...held("a"), state: "over", verdict } as RunRow];
    await loadHeld();
    await vi.waitFor(() => expect(shown.value[0]).toMatchObject({ fate: "elsewhere", ...(verdict === "ok" ? {} : { why: "not on a Sunday" }) }));
    expect(getRun).toHaveBeenCalledTimes(verdict === "ok" ? 0 : 1);
    await loadHeld();
    expect(getRun).toHaveBeenCalledTimes(verdict === "ok" ? 0 : 1);
  });
});

describe("cards of runs that wait", () => {
  it("keep their places: new ones go to the end, decided ones stay", () => {
    let cards = mergeHeld([], [held("a"), held("b")], [], 0);
    cards = mergeHeld(cards, [held("c", { held_ms: 0 }), held("b")], [], 1);
    expect(ids(cards)).toEqual(["a elsewhere", "b held", "c held"]);
  });

  it("come in the order in which they were held", () => {
    expect(ids(mergeHeld([], [held("b", { held_ms: 2 }), held("a", { held_ms: 1 })], [], 0))).toEqual(["a held", "b held"]);
  });

  it("remember when they were first shown, and what was decided here", () => {
    const [first] = mergeHeld([], [held("a")], [], 5);
    const again = mergeHeld([{ ...first!, fate: "allowed" }], [], [], 9);
    expect(again[0]).toMatchObject({ seenMs: 5, fate: "allowed" });
  });

  it("make room for new ones by the oldest that are decided", () => {
    const many = Array.from({ length: 200 }, (_, i) => held(`r${i}`, { held_ms: i }));
    const old = mergeHeld([], many, [], 0).map((card, i) => (i < 5 ? { ...card, fate: "denied" as const } : card));
    const cards = mergeHeld(old, [...many.slice(5), held("new", { held_ms: 999 })], [], 1);
    expect(cards).toHaveLength(200);
    expect(cards[0]!.run.id).toBe("r1");
    expect(cards.at(-1)!.run.id).toBe("new");
  });

  it("tell a run that nobody decided in time", () => {
    const cards = mergeHeld([], [held("a", { until_ms: 1 })], [], 0);
    const row = { ...held("a"), state: "over", verdict: "denied" } as RunRow;
    expect(ids(mergeHeld(cards, [], [row], 1))).toEqual(["a late"]);
  });
});
