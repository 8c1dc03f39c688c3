// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../src/api/client";
import * as calls from "../../src/api/calls";
import type { RunEvent } from "../../src/api/types";
import { IMPORTED, follow, placeOutput, resumeAll, show } from "../../src/cells/follow";
import { liveOf } from "../../src/cells/live";
import { Output } from "../../src/output/model";
import { saveOutput } from "../../src/output/saved";
import { Cell } from "../../src/state/conversation";
import { toasts } from "../../src/state/toasts";
import { away, conversationOf, gone, said, started, verdict } from "./parts";

vi.mock("../../src/api/calls");
const mocked = vi.mocked(calls);

/** A log that is served in pieces: each piece ends as its last member says. */
function serve(...pieces: (RunEvent[] | { events: RunEvent[]; then: unknown })[]): number[] {
  const asked: number[] = [];
  mocked.runEvents.mockImplementation(async function* (_id: string, after: number) {
    asked.push(after);
    const piece = pieces.shift() ?? [];
    yield* Array.isArray(piece) ? piece : piece.events;
    if (!Array.isArray(piece)) throw piece.then;
  });
  return asked;
}

const textOf = (cell: Cell) => cell.output.peek()!.lines.map((line) => line.text);
const runningCell = (id = "c1") => new Cell({ id, kind: "code", source: "1", run: "run_a1" });

beforeEach(() => {
  vi.useFakeTimers();
  vi.resetAllMocks();
  mocked.getRun.mockResolvedValue({ state: "running" });
  mocked.putOutput.mockResolvedValue(new Response());
  mocked.listRuns.mockResolvedValue([]);
  toasts.value = [];
});
afterEach(() => vi.useRealTimers());

describe("following a run", () => {
  it("reads to the verdict, and keeps what was shown", async () => {
    const cell = runningCell();
    serve([started(1), said(2, "hello\n"), verdict(3)]);
    await follow(conversationOf([cell]), cell);
    expect(textOf(cell)).toEqual(["hello"]);
    expect(cell.phase.value).toBe("over");
    expect(mocked.putOutput).toHaveBeenCalledWith("cnv_1", "c1", expect.stringContaining("hello"));
  });

  it("says nothing of an output that is not kept because its conversation was deleted meanwhile", async () => {
    const cell = runningCell();
    serve([started(1), said(2, "hello\n"), verdict(3)]);
    mocked.putOutput.mockRejectedValue(gone);
    await follow(conversationOf([cell]), cell);
    expect(mocked.putOutput).toHaveBeenCalledTimes(1);
    expect(toasts.value).toEqual([]);
  });

  it("keeps its output when the daemon is back, and says nothing of that it was away", async () => {
    const cell = runningCell();
    serve([started(1), said(2, "hello\n"), verdict(3)]);
    mocked.putOutput.mockRejectedValueOnce(away).mockRejectedValueOnce(away);
    await follow(conversationOf([cell]), cell);
    await vi.advanceTimersByTimeAsync(2000);
    expect(mocked.putOutput).toHaveBeenCalledTimes(3);
    expect(toasts.value).toEqual([]);
  });

  it("goes on after the last number when the daemon was away, without gap or repeat", async () => {
    const cell = runningCell();
    const asked = serve(
      { events: [started(1), said(2, "a\n")], then: away },
      { events: [], then: away },
      { events: [said(2, "a\n"), said(3, "b\n")], then: away }, // one that is here already comes again
      [said(4, "c\n"), verdict(5)],
    );
    const done = follow(conversationOf([cell]), cell);
    await vi.runAllTimersAsync();
    await done;
    expect(asked).toEqual([0, 2, 2, 3]);
    expect(textOf(cell)).toEqual(["a", "b", "c"]);
  });

  it("waits longer each time it finds nobody, and starts over when something came", async () => {
    const cell = runningCell();
    const asked = serve({ events: [], then: away }, { events: [], then: away }, { events: [], then: away }, [started(1), verdict(2)]);
    const done = follow(conversationOf([cell]), cell);
    await vi.advanceTimersByTimeAsync(199);
    expect(asked.length).toBe(1);
    await vi.advanceTimersByTimeAsync(2);
    expect(asked.length).toBe(2);
    await vi.advanceTimersByTimeAsync(390);
    expect(asked.length).toBe(2);
    await vi.runAllTimersAsync();
    await done;
    expect(cell.phase.value).toBe("over");
  });

  it("is one reading, however often it is asked for", async () => {
    const cell = runningCell();
    const conversation = conversationOf([cell]);
    const asked = serve([started(1), verdict(2)]);
    await Promise.all([follow(conversation, cell), follow(conversation, cell)]);
    expect(asked).toEqual([0]);
  });

  it("shows what was kept when the log is gone", async () => {
    const cell = runningCell();
    const kept = new Output("run_a1");
    for (const event of [started(1), said(2, "from before\n"), verdict(3)]) kept.apply(event);
    serve({ events: [], then: gone });
    mocked.getOutput.mockResolvedValue(JSON.parse(saveOutput(kept)));
    await follow(conversationOf([cell]), cell);
    expect(textOf(cell)).toEqual(["from before"]);
  });

  it("says so when nothing was kept, and when it was of another run", async () => {
    const cell = runningCell();
    serve({ events: [], then: gone });
    mocked.getOutput.mockResolvedValue(JSON.parse(saveOutput(new Output("run_other"))));
    await follow(conversationOf([cell]), cell);
    expect(liveOf(cell).notice.value).toMatch(/no longer kept/);
    expect(cell.phase.value).toBe("idle");
  });

  it("stops and says why when it may not read", async () => {
    const cell = runningCell();
    serve({ events: [], then: new ApiError(401, "unauthorized", "a token is needed") });
    await follow(conversationOf([cell]), cell);
    expect(toasts.value[0]?.text).toMatch(/a token is needed/);
  });

  it("learns that a run is held while its log is silent", async () => {
    const cell = runningCell();
    let begin = () => {};
    mocked.runEvents.mockImplementation(async function* () {
      await new Promise<void>((resolve) => { begin = resolve; });
      yield started(1);
      yield verdict(2);
    });
    mocked.getRun.mockResolvedValue({ state: "held" });
    const done = follow(conversationOf([cell]), cell);
    await vi.advanceTimersByTimeAsync(500);
    expect(cell.phase.value).toBe("held");
    begin();
    await vi.runAllTimersAsync();
    await done;
    expect(cell.phase.value).toBe("over");
  });

  it("looks now and then, without a stream, at runs of a conversation that is not shown", async () => {
    const cell = runningCell();
    show(conversationOf([]));
    mocked.runEventsSoFar.mockImplementation(async function* (_id: string, after: number) {
      if (after === 0) yield started(1);
      else yield verdict(2);
    });
    const behind = conversationOf([cell]);
    const done = follow(behind, cell);
    await vi.runAllTimersAsync();
    await done;
    expect(cell.phase.value).toBe("over");
    expect(mocked.runEvents).not.toHaveBeenCalled();
    show(behind);
  });
});

describe("input", () => {
  const asks = async (source: string, ...texts: string[]) => {
    const cell = new Cell({ id: "c1", kind: "code", source, run: "run_a1" });
    let end = () => {};
    mocked.runEvents.mockImplementation(async function* () {
      yield started(1);
      for (const [i, text] of texts.entries()) yield said(i + 2, text);
      await new Promise<void>((resolve) => { end = resolve; });
      yield verdict(99);
    });
    const conversation = conversationOf([cell]);
    show(conversation);
    const done = follow(conversation, cell);
    await vi.advanceTimersByTimeAsync(1000);
    const isAsked = liveOf(cell).asksInput.value;
    end();
    await vi.runAllTimersAsync();
    await done;
    expect(liveOf(cell).asksInput.value).toBe(false);
    return isAsked;
  };

  it("is offered when a line stays open, or code that reads is silent", async () => {
    expect(await asks("ask()", "who? ")).toBe(true);
    expect(await asks("x = input()")).toBe(true);
  });

  it("is not offered for whole lines", async () => {
    expect(await asks("print(1)", "1\n")).toBe(false);
  });
});

describe("after opening", () => {
  it("follows what is on and reads once what is over", async () => {
    const on = runningCell("c1");
    const over = new Cell({ id: "c2", kind: "code", source: "2", run: "run_b2" });
    const conversation = conversationOf([on, over], "ses_1");
    show(conversation);
    mocked.listRuns.mockResolvedValue([{ id: "run_a1", verdict: null }, { id: "run_b2", verdict: "ok" }] as never);
    serve([started(1), verdict(2)]);
    const kept = new Output("run_b2");
    for (const event of [started(1, "run_b2"), said(2, "kept\n"), verdict(3)]) kept.apply(event);
    mocked.getOutput.mockResolvedValue(JSON.parse(saveOutput(kept)));
    await resumeAll(conversation);
    await vi.runAllTimersAsync();
    expect(on.phase.value).toBe("over");
    expect(textOf(over)).toEqual(["kept"]);
    expect(mocked.runEvents).toHaveBeenCalledTimes(1);
    await resumeAll(conversation);
    expect(mocked.getOutput).toHaveBeenCalledTimes(1);
  });

  it("reads the log where the page was closed before the run ended, and keeps it then", async () => {
    const cell = runningCell();
    const conversation = conversationOf([cell], "ses_1");
    show(conversation);
    mocked.getOutput.mockResolvedValue(null);
    serve([started(1), said(2, "x\n"), verdict(3)]);
    await resumeAll(conversation);
    expect(textOf(cell)).toEqual(["x"]);
    expect(mocked.putOutput).toHaveBeenCalledTimes(1);
  });

  it("reads the log where what was kept is not all of it, and says nothing of a log that is gone", async () => {
    const cell = runningCell();
    const conversation = conversationOf([cell], "ses_1");
    show(conversation);
    mocked.listRuns.mockResolvedValue([{ id: "run_a1", verdict: "ok" }] as never);
    const kept = new Output("run_a1");
    for (const event of [started(1), said(2, "[7 lines were not kept]\n"), verdict(3)]) kept.apply(event);
    mocked.getOutput.mockResolvedValue(JSON.parse(saveOutput(kept)));
    serve([started(1), said(2, "all of it\n"), verdict(3)]);
    await resumeAll(conversation);
    expect(textOf(cell)).toEqual(["all of it"]);
    expect(cell.output.peek()!.isSaved).toBe(false);
  });

  it("finds the runs that a branch inherits, which are of the session it came from", async () => {
    const inherited = runningCell();
    const conversation = conversationOf([inherited], "ses_branch");
    show(conversation);
    mocked.listRuns.mockImplementation(async ({ session } = {}) => (session ? [] : [{ id: "run_a1", verdict: "ok" }]) as never);
    const kept = new Output("run_a1");
    for (const event of [started(1), said(2, "before the fork\n"), verdict(3)]) kept.apply(event);
    mocked.getOutput.mockResolvedValue(JSON.parse(saveOutput(kept)));
    await resumeAll(conversation);
    expect(textOf(inherited)).toEqual(["before the fork"]);
    expect(inherited.output.peek()!.isSaved).toBe(false); // else it says that the run's own log is gone
  });

  it("tries again what it was not allowed to read", async () => {
    const cell = runningCell();
    const conversation = conversationOf([cell], "ses_1");
    show(conversation);
    mocked.getOutput.mockRejectedValueOnce(new ApiError(401, "unauthorized", "a token is needed")).mockRejectedValue(gone);
    serve([started(1), said(2, "x\n"), verdict(3)]);
    await resumeAll(conversation);
    expect(textOf(cell)).toEqual([]);
    await resumeAll(conversation);
    expect(textOf(cell)).toEqual(["x"]);
  });

  it("shows what came with a notebook, and asks no log for it", async () => {
    const [cell, other] = [runningCell("c1"), new Cell({ id: "c2", kind: "code", source: "", run: IMPORTED })];
    const shown = new Output(IMPORTED);
    shown.addText("stdout", "from a notebook\n");
    placeOutput(cell, shown);
    mocked.getOutput.mockResolvedValue(JSON.parse(saveOutput(shown)));
    await resumeAll(conversationOf([cell, other]));
    expect(mocked.getOutput.mock.calls).toEqual([["cnv_1", "c2"]]);
    expect(textOf(other)).toEqual(["from a notebook"]);
    expect(other.record().run).toBe(IMPORTED);
    expect(mocked.runEvents).not.toHaveBeenCalled();
  });
});
