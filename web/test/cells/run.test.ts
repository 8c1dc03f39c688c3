// SPDX-License-Identifier: Apache-2.0
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../src/api/client";
import * as calls from "../../src/api/calls";
import type { VerdictKind } from "../../src/api/types";
import { follow, interruptRun, runAll, runCell, stopCell, takeOver } from "../../src/cells/run";
import { show } from "../../src/cells/follow";
import { Cell } from "../../src/state/conversation";
import { ensureSession } from "../../src/state/session";
import { toasts } from "../../src/state/toasts";
import { conversationOf, gone, started, verdict } from "./parts";

vi.mock("../../src/api/calls");
vi.mock("../../src/state/session", () => ({ ensureSession: vi.fn() }));
const mocked = vi.mocked(calls);

const code = (id: string, source = id) => new Cell({ id, kind: "code", source, run: null });

/** Runs end as `ends` says of their code, once `release` is called for them; without it at once. */
function daemon(ends: Record<string, VerdictKind> = {}, isHeldBack = false) {
  const codes = new Map<string, string>();
  const waiting = new Map<string, () => void>();
  mocked.startRun.mockImplementation(async (_session, ask) => {
    const id = `run_${codes.size}`;
    codes.set(id, ask.code);
    return { id };
  });
  // A stream that was cut off is read on from where it was, whether it streams or is looked at.
  const events = async function* (id: string, after: number) {
    if (after < 1) yield started(1, id);
    if (isHeldBack) await new Promise<void>((resolve) => waiting.set(codes.get(id)!, resolve));
    yield verdict(2, ends[codes.get(id)!] ?? "ok");
  };
  mocked.runEvents.mockImplementation(events);
  mocked.runEventsSoFar.mockImplementation(events);
  return {
    codes: () => [...codes.values()],
    release: async (text: string) => {
      await vi.waitFor(() => expect(waiting.has(text)).toBe(true));
      waiting.get(text)!();
    },
  };
}

beforeEach(() => {
  vi.resetAllMocks();
  vi.mocked(ensureSession).mockResolvedValue("ses_1");
  mocked.getRun.mockResolvedValue({});
  mocked.putOutput.mockResolvedValue(new Response());
  toasts.value = [];
});

function open(...cells: Cell[]) {
  const conversation = conversationOf(cells, "ses_1");
  Object.assign(conversation, { id: `cnv_${Math.random().toString(36).slice(2)}` });
  show(conversation);
  return conversation;
}

describe("running cells", () => {
  it("runs one, with a stdin that can be written to, and saves at once where it is", async () => {
    const cell = code("a");
    const conversation = open(cell);
    conversation.save = vi.fn(() => Promise.resolve());
    daemon();
    expect(await runCell(conversation, cell)).toBe(true);
    expect(mocked.startRun).toHaveBeenCalledWith("ses_1", { code: "a", stdin: "live" });
    expect(cell.record().run).toBe("run_0");
    expect(conversation.runs).toEqual(["run_0"]);
    expect(conversation.save).toHaveBeenCalled();
  });

  it("asks for the time that the cell or the conversation chose", async () => {
    const [own, other] = [code("a"), code("b")];
    const conversation = open(own, other);
    conversation.use.value = { timeout_ms: 60_000 };
    own.timeoutMs.value = 120_000;
    daemon();
    await Promise.all([runCell(conversation, own), runCell(conversation, other)]);
    expect(mocked.startRun.mock.calls.map(([, ask]) => ask.timeout_ms)).toEqual([120_000, 60_000]);
  });

  it("runs them one after the other, in the order of asking", async () => {
    const cells = [code("a"), code("b")];
    const conversation = open(...cells);
    const { codes, release } = daemon({}, true);
    const both = [runCell(conversation, cells[1]!), runCell(conversation, cells[0]!)];
    expect(cells.map((cell) => cell.phase.value)).toEqual(["waiting", "waiting"]);
    await release("b");
    expect(codes()).toEqual(["b"]);
    await release("a");
    expect(await Promise.all(both)).toEqual([true, true]);
    expect(codes()).toEqual(["b", "a"]);
  });

  it("runs all, and stops at the first that fails", async () => {
    const cells = [code("a"), new Cell({ id: "n", kind: "note", source: "# note", run: null }), code("b"), code("c"), code("d")];
    const conversation = open(...cells);
    const { codes } = daemon({ b: "exception" });
    expect(await runAll(conversation)).toBe(false);
    expect(codes()).toEqual(["a", "b"]);
    expect(cells.map((cell) => cell.phase.value)).toEqual(["over", "idle", "over", "idle", "idle"]);
    expect(toasts.value.map(({ text }) => text)).toEqual(["Stopped at cell 3: 2 cells behind it did not run"]);
  });

  it("does not run while the sandbox is off, and says so", async () => {
    const cell = code("a");
    const conversation = open(cell);
    conversation.sandbox.value = false;
    daemon();
    expect(await runCell(conversation, cell)).toBe(false);
    expect(mocked.startRun).not.toHaveBeenCalled();
    expect(toasts.value[0]?.text).toMatch(/Running code is off/);
  });

  it("keeps what a cell showed when its new run could not start", async () => {
    const cell = code("a");
    const conversation = open(cell);
    daemon();
    await runCell(conversation, cell);
    const before = cell.output.peek();
    mocked.startRun.mockRejectedValue(new ApiError(503, "busy", "the queue is full"));
    expect(await runCell(conversation, cell)).toBe(false);
    expect(cell.output.peek()).toBe(before);
    expect(toasts.value[0]?.text).toMatch(/the queue is full/);
  });

  it("asks for another session when this one has just ended", async () => {
    const cell = code("a");
    const conversation = open(cell);
    daemon();
    mocked.startRun.mockRejectedValueOnce(gone);
    expect(await runCell(conversation, cell)).toBe(true);
    expect(ensureSession).toHaveBeenCalledTimes(2);
  });

  it("shows nothing for an empty cell, and runs nothing", async () => {
    const cell = code("a", "  \n");
    daemon();
    expect(await runCell(open(cell), cell)).toBe(true);
    expect(mocked.startRun).not.toHaveBeenCalled();
    expect(cell.output.peek()).toBe(null);
  });
});

describe("a cell that is run again", () => {
  it("runs once more as soon as its run is over, though what it showed is still being kept", async () => {
    const cell = code("a", "n = 11");
    const conversation = open(cell);
    const { codes } = daemon();
    const puts: (() => void)[] = [];
    mocked.putOutput.mockImplementation(() => new Promise((resolve) => puts.push(() => resolve(new Response()))));
    void runCell(conversation, cell);
    await vi.waitFor(() => expect(cell.phase.value).toBe("over"));
    cell.source.value = "n = 21";
    expect(await runCell(conversation, cell)).toBe(true); // the first PUT is not answered yet
    expect(codes()).toEqual(["n = 11", "n = 21"]);
    expect(cell.record().run).toBe("run_1");
    expect(puts).toHaveLength(1);
    puts.shift()!();
    await vi.waitFor(() => expect(puts).toHaveLength(1)); // the newer output is kept last
    const [, , kept] = mocked.putOutput.mock.lastCall!;
    expect(JSON.parse(kept)).toMatchObject({ run: "run_1" });
    puts.shift()!();
  });

  it("takes an edit into account that was made while it ran", async () => {
    const cell = code("a", "slow");
    const conversation = open(cell);
    const { codes, release } = daemon({}, true);
    const first = runCell(conversation, cell);
    await vi.waitFor(() => expect(cell.phase.value).toBe("running"));
    expect(runCell(conversation, cell)).toBe(first); // the same text: one run is enough
    cell.source.value = "mended";
    const second = runCell(conversation, cell);
    expect(cell.phase.value).toBe("running");
    await release("slow");
    await release("mended");
    expect(await Promise.all([first, second])).toEqual([true, true]);
    expect(codes()).toEqual(["slow", "mended"]);
  });

  it("runs once more though the text before the edit failed", async () => {
    const cells = [code("a", "wrong"), code("b")];
    const conversation = open(...cells);
    const { codes, release } = daemon({ wrong: "exception" }, true);
    const all = runAll(conversation);
    await vi.waitFor(() => expect(cells[0]!.phase.value).toBe("running"));
    cells[0]!.source.value = "right";
    const mended = runCell(conversation, cells[0]!);
    await release("wrong");
    expect(await all).toBe(false);
    await release("right");
    expect(await mended).toBe(true);
    expect(codes()).toEqual(["wrong", "right"]);
  });

  it("is not said to be over by its last run, which somebody else follows and ends late", async () => {
    const cell = new Cell({ id: "a", kind: "code", source: "new", run: "run_old" });
    const conversation = open(cell);
    let endOld = () => {};
    let answer = (_: { id: string }) => {};
    mocked.runEvents.mockImplementation(async function* (id: string) {
      yield started(1, id);
      if (id === "run_old") await new Promise<void>((resolve) => { endOld = resolve; });
      yield verdict(2);
    });
    const old = follow(conversation, cell);
    await vi.waitFor(() => expect(cell.phase.value).toBe("running"));
    mocked.startRun.mockImplementation(() => new Promise((resolve) => { answer = resolve; }));
    const run = runCell(conversation, cell);
    await vi.waitFor(() => expect(mocked.startRun).toHaveBeenCalled());
    endOld();
    await old;
    expect(cell.phase.value).toBe("waiting");
    answer({ id: "run_new" });
    expect(await run).toBe(true);
    expect(cell.phase.value).toBe("over");
    expect(cell.record().run).toBe("run_new");
  });
});

describe("stopping", () => {
  it("interrupts what runs, and forgets what waits behind it", async () => {
    const cells = [code("a"), code("b")];
    const conversation = open(...cells);
    const { codes, release } = daemon({ a: "interrupted" }, true);
    mocked.interrupt.mockImplementation(async () => {
      await release("a");
      return {} as never;
    });
    const all = runAll(conversation);
    await vi.waitFor(() => expect(cells[0]!.phase.value).toBe("running"));
    await interruptRun(conversation);
    expect(await all).toBe(false);
    expect(mocked.interrupt).toHaveBeenCalledWith("ses_1", "run_0");
    expect(codes()).toEqual(["a"]);
    expect(toasts.value).toEqual([]); // they know: they stopped it
  });

  it("takes a cell out of the queue without touching the one that runs", async () => {
    const cells = [code("a"), code("b"), code("c")];
    const conversation = open(...cells);
    const { codes, release } = daemon({}, true);
    const all = runAll(conversation);
    await vi.waitFor(() => expect(cells[0]!.phase.value).toBe("running"));
    await stopCell(conversation, cells[1]!);
    expect(cells[1]!.phase.value).toBe("idle");
    await release("a");
    await release("c");
    await all;
    expect(codes()).toEqual(["a", "c"]);
    expect(mocked.interrupt).not.toHaveBeenCalled();
  });

  it("cancels a run that has not begun", async () => {
    const cell = code("a");
    const conversation = open(cell);
    let deny = () => {};
    mocked.startRun.mockResolvedValue({ id: "run_0" });
    mocked.runEvents.mockImplementation(async function* () {
      await new Promise<void>((resolve) => { deny = resolve; });
      yield verdict(1, "cancelled");
    });
    mocked.cancelRun.mockImplementation(async () => {
      deny();
      return new Response();
    });
    const run = runCell(conversation, cell);
    await vi.waitFor(() => expect(mocked.runEvents).toHaveBeenCalled());
    await stopCell(conversation, cell);
    expect(await run).toBe(false);
    expect(mocked.cancelRun).toHaveBeenCalledWith("run_0");
  });
});

it("goes on with what was asked for when a conversation is opened anew", async () => {
  const cells = [code("a"), code("b")];
  const before = open(...cells);
  const { codes, release } = daemon({}, true);
  const all = runAll(before);
  await vi.waitFor(() => expect(cells[0]!.phase.value).toBe("running"));
  const anew = conversationOf([code("a"), code("b")], "ses_1");
  Object.assign(anew, { id: before.id });
  show(anew);
  takeOver(anew);
  expect(anew.cells.value[1]!.phase.value).toBe("waiting");
  await release("a");
  await release("b");
  expect(await all).toBe(true);
  expect(codes()).toEqual(["a", "b"]);
  expect(anew.cells.value[1]!.phase.value).toBe("over");
});

describe("a page that is loaded anew", () => {
  const navigated = (type: string) => vi.spyOn(performance, "getEntriesByType").mockReturnValue([{ type } as unknown as PerformanceEntry]);
  const left = (id: string) => JSON.parse(sessionStorage.getItem(`vivarium.queue.${id}`) ?? "null") as unknown;

  /** The conversation as another load of the page has it: by its name only what this tab remembers is known. */
  function reloaded(remembered: unknown, ...cells: Cell[]) {
    const conversation = open(...cells);
    sessionStorage.setItem(`vivarium.queue.${conversation.id}`, JSON.stringify(remembered));
    return conversation;
  }

  beforeEach(() => sessionStorage.clear());

  it("finds what is to be run, with the run that is on, until all of it has run", async () => {
    const cells = [code("a"), code("b")];
    const conversation = open(...cells);
    const { release } = daemon({}, true);
    const all = runAll(conversation);
    await vi.waitFor(() => expect(cells[0]!.phase.value).toBe("running"));
    expect(left(conversation.id)).toEqual([{ cell: "a", run: "run_0" }, { cell: "b", run: null }]);
    await release("a");
    await release("b");
    await all;
    expect(left(conversation.id)).toBe(null);
  });

  it("follows the run that is on and goes on behind it", async () => {
    const cells = [code("a"), code("b"), code("c")];
    const { codes } = daemon();
    await mocked.startRun("ses_1", { code: "a" });
    const conversation = reloaded([{ cell: "a", run: "run_0" }, { cell: "b", run: null }, { cell: "gone", run: null }], ...cells);
    navigated("reload");
    takeOver(conversation);
    expect(cells.map((cell) => cell.phase.value)).toEqual(["waiting", "waiting", "idle"]);
    await vi.waitFor(() => expect(cells[1]!.phase.value).toBe("over"));
    expect(codes()).toEqual(["a", "b"]);
    expect(cells[0]!.record().run).toBe("run_0");
    expect(left(conversation.id)).toBe(null);
  });

  it("runs nothing more when the run that was on has failed", async () => {
    const cells = [code("a"), code("b")];
    const { codes } = daemon({ a: "exception" });
    await mocked.startRun("ses_1", { code: "a" });
    const conversation = reloaded([{ cell: "a", run: "run_0" }, { cell: "b", run: null }], ...cells);
    navigated("reload");
    takeOver(conversation);
    await vi.waitFor(() => expect(toasts.value.map(({ text }) => text)).toEqual(["Stopped at cell 1: one cell behind it did not run"]));
    expect(codes()).toEqual(["a"]);
  });

  it("asks first where it may be a copy of another tab", async () => {
    const cells = [code("a"), code("b")];
    const { codes } = daemon();
    const conversation = reloaded([{ cell: "b", run: null }], ...cells);
    navigated("navigate");
    takeOver(conversation);
    expect(cells[1]!.phase.value).toBe("idle");
    const [asked] = toasts.value;
    expect(asked!.text).toMatch(/^One cell did not run/);
    asked!.action!.run();
    await vi.waitFor(() => expect(cells[1]!.phase.value).toBe("over"));
    expect(codes()).toEqual(["b"]);
  });

  it("makes nothing of what it cannot read, and runs nothing while the sandbox is off", () => {
    daemon();
    navigated("reload");
    for (const odd of ["x", 5, null, [{ cell: 1 }], [[]], { cell: "a" }]) takeOver(reloaded(odd, code("a")));
    const off = reloaded([{ cell: "a", run: null }], code("a"));
    off.sandbox.value = false;
    takeOver(off);
    expect(mocked.startRun).not.toHaveBeenCalled();
  });
});
