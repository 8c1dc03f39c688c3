// SPDX-License-Identifier: Apache-2.0
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { RunRow } from "../../src/api/types";
import { mayMove } from "../../src/agents/follow";
import { dropTwins, watchAgents } from "../../src/agents/watch";
import { knownOf, nameOf } from "../../src/agents/who";
import { Cell, type Conversation } from "../../src/state/conversation";
import { conversationOf } from "../cells/parts";

const feed = vi.hoisted(() => ({ run: (_row: RunRow) => {} }));
const calls = vi.hoisted(() => ({ runCode: vi.fn(), listRuns: vi.fn(), listHeld: vi.fn(), status: vi.fn() }));
const { follow } = vi.hoisted(() => ({ follow: vi.fn(() => Promise.resolve()) }));
vi.mock("../../src/api/calls", () => calls);
vi.mock("../../src/cells/run", () => ({ follow }));
vi.mock("../../src/state/feed", async () => {
  const { signal } = await import("@preact/signals");
  return {
    onRun: (listener: (row: RunRow) => void) => { const before = feed.run; feed.run = (row) => { before(row); listener(row); }; },
    onReload: () => {}, runs: signal([]), sessions: signal(new Map()), connection: signal("on"),
  };
});
vi.mock("../../src/state/conversations", async () => {
  const { signal } = await import("@preact/signals");
  return { current: signal(null), onMerged: () => {} };
});
const { current } = await import("../../src/state/conversations");

const row = (id: string, more: Partial<RunRow> = {}): RunRow => ({
  id, session: "ses_a", op: "session.run", policy: "default", runtime: "base", begun_ms: 1, events: 0, state: "running", line: "print(1)",
  who: { token: null, via: "mcp", client: "robot", peer: "unix" }, verdict: null, ...more,
});
const idsOf = (conversation: Conversation) => conversation.cells.value.map((cell) => cell.id);
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

beforeEach(() => {
  calls.listRuns.mockReset().mockResolvedValue([]);
  calls.runCode.mockReset().mockResolvedValue("print(1)\nprint(2)");
  follow.mockClear();
  current.value = null;
  watchAgents();
});

describe("runs of others", () => {
  it("become cells of the open conversation once, with who made them", async () => {
    const conversation = conversationOf([], "ses_a");
    current.value = conversation;
    feed.run(row("run_1", { state: "held" }));
    feed.run(row("run_1"));
    await settled();
    expect(idsOf(conversation)).toEqual(["rrun_1"]);
    const [cell] = conversation.cells.value;
    expect(cell!.source.value).toBe("print(1)\nprint(2)");
    expect(cell!.who.value?.client).toBe("robot");
    expect(follow).toHaveBeenCalledTimes(1);
  });

  it("of other sessions, of none, and of pages do not", async () => {
    const conversation = conversationOf([], "ses_a");
    current.value = conversation;
    feed.run(row("run_2", { session: "ses_b" }));
    feed.run(row("run_3", { session: null }));
    feed.run(row("run_4", { who: { token: null, via: "http", client: "page", peer: "unix" } }));
    await settled();
    expect(idsOf(conversation)).toEqual([]);
  });

  it("that have a cell already do not get a second one", async () => {
    const own = new Cell({ id: "c1", kind: "code", source: "x", run: "run_5" });
    const conversation = conversationOf([own], "ses_a");
    current.value = conversation;
    feed.run(row("run_5"));
    await settled();
    expect(idsOf(conversation)).toEqual(["c1"]);
  });

  it("of pages are not the conversation's own, in whichever tab a cell made them and whatever became of that cell", async () => {
    vi.useFakeTimers();
    const who = { token: null, via: "http", client: "page", peer: "unix" };
    const cell = new Cell({ id: "c1", kind: "code", source: "x", run: "run_13" });
    const conversation = conversationOf([cell], "ses_a");
    conversation.noteRun("run_11"); // by the cell, before its present one
    conversation.pull = async () => conversation.noteRun("run_12"); // by a cell of another tab
    current.value = conversation;
    for (const id of ["run_11", "run_12", "run_13", "run_14"]) feed.run(row(id, { who }));
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    expect(idsOf(conversation)).toEqual(["c1", "rrun_14"]); // it only says that it is a page
  });

  it("that were missed come in their order when the conversation is opened", async () => {
    calls.listRuns.mockResolvedValue([row("run_9", { begun_ms: 9 }), row("run_8", { begun_ms: 8 }), row("run_7", { begun_ms: 7 })]);
    const conversation = conversationOf([new Cell({ id: "c1", kind: "code", source: "x", run: "run_7" })], "ses_a");
    current.value = conversation;
    await vi.waitFor(() => expect(idsOf(conversation)).toEqual(["c1", "rrun_8", "rrun_9"]));
  });

  it("give way to the cell that another tab saved for the same run", () => {
    const conversation = conversationOf([
      new Cell({ id: "rrun_6", kind: "code", source: "x", run: "run_6" }), new Cell({ id: "c6", kind: "code", source: "x", run: "run_6" }),
    ], "ses_a");
    dropTwins(conversation);
    expect(idsOf(conversation)).toEqual(["c6"]);
  });
});

describe("follow mode", () => {
  it("does not lead away whoever is writing, nor jump twice at once", () => {
    expect(mayMove(20_000, -Infinity, -Infinity)).toBe(true);
    expect(mayMove(20_000, 19_000, -Infinity)).toBe(false);
    expect(mayMove(20_000, -Infinity, 19_000)).toBe(false);
  });
});

describe("who made a run", () => {
  it("is told as far as it is known", () => {
    expect(nameOf({ token: "alice", via: "mcp", client: "a\u202eb", peer: "unix" })).toBe("a‹202e›b");
    expect(nameOf({ token: "", peer: "127.0.0.1" })).toBe("127.0.0.1");
    expect(nameOf(undefined)).toBe("Somebody");
    expect(knownOf({ token: null, via: "mcp", client: null, peer: "unix" }).way).toBe("MCP from the local socket");
  });
});
