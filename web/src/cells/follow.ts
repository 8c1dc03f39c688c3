// SPDX-License-Identifier: Apache-2.0
// Reads the events of runs into the outputs of their cells. The daemon numbers events and keeps them, so a reader that
// was cut off goes on after the last number it has: nothing is missed and nothing comes twice, whoever restarted.
import * as calls from "../api/calls";
import type { RunEvent, RunRow } from "../api/types";
import type { Output } from "../output/model";
import { loadOutput, saveOutput } from "../output/saved";
import type { Cell, Conversation } from "../state/conversation";
import { failed } from "../state/toasts";
import { liveOf } from "./live";
import { markStale } from "./marks";
import { isAbort, isGone, isPassing, patiently, Pauses, rest } from "./pause";

const LOOK_MS = 1000; // between two looks at a run whose events do not stream here
const QUIET_MS = 350; // after which an open line is taken for a prompt
const SILENCE_MS = 35_000; // the daemon says something every 15 s: a stream that does not is dead, whoever holds it open
const AT_ONCE = 3; // outputs that are loaded side by side
const RUNS_MAX = 1000; // that the daemon lists at once
const READS_INPUT = /\binput\s*\(|\bstdin\b|\bbreakpoint\s*\(|\bpdb\b/;
const LEFT_OUT = /^\[.* lines were not kept\]$/;
const NOT_KEPT = "The output of this run is no longer kept. Run the cell again to see it.";
const IS_RUN = /^run_[a-z0-9]+$/;

/** `run` of an output that came with a notebook: there is no log of it, only what was kept. */
export const IMPORTED = "imported";

// ---- the one stream of this tab ----
// A browser opens six connections to a host, all tabs together: the tab that is looked at streams one run, and other
// runs are looked at now and then.
const stream: { holder: Output | null; shown: Conversation | null; cut: () => void } = {
  holder: null, shown: null, cut: () => {},
};

function mayStream(conversation: Conversation, output: Output): boolean {
  if (document.hidden || (stream.shown !== null && stream.shown !== conversation)) return false;
  return stream.holder === null || stream.holder === output;
}

/** The conversation whose runs stream; those of others are looked at now and then. */
export function show(conversation: Conversation): void {
  if (stream.shown === conversation) return;
  stream.shown = conversation;
  stream.cut();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) stream.cut();
});

// ---- following ----
interface Follow {
  output: Output;
  controller: AbortController;
  done: Promise<void>;
}
const follows = new WeakMap<Cell, Follow>();

/** Reads a run on until it is over. Asked twice, it is the same reading. `isNews`: it was not over before. */
export function follow(conversation: Conversation, cell: Cell, isNews = true): Promise<void> {
  const output = cell.output.peek();
  if (!output?.run || output.isOver || !IS_RUN.test(output.run)) return Promise.resolve();
  const before = follows.get(cell);
  if (before?.output === output) return before.done;
  before?.controller.abort();

  const controller = new AbortController();
  const done = followToEnd(conversation, cell, output, controller.signal, isNews).finally(() => {
    controller.abort();
    if (follows.get(cell)?.output === output) follows.delete(cell);
  });
  follows.set(cell, { output, controller, done });
  return done;
}

/** A run says what its cell is at as long as the cell shows it and no other was asked for. */
function setPhase(cell: Cell, output: Output, phase: Cell["phase"]["value"]): void {
  if (cell.output.peek() === output && !liveOf(cell).isAsked) cell.phase.value = phase;
}

async function followToEnd(conversation: Conversation, cell: Cell, output: Output, signal: AbortSignal, isNews: boolean): Promise<void> {
  const live = liveOf(cell);
  const guess = guessInput(cell, output);
  if (output.seq === 0) setPhase(cell, output, "waiting");
  live.notice.value = "";
  void watchStart(cell, output, signal);
  try {
    await readToEnd(conversation, output, signal, (event) => {
      if (event.type === "started") setPhase(cell, output, "running");
      guess.hear(event);
    });
    if (signal.aborted) return;
    setPhase(cell, output, "over");
    if (isNews && cell.output.peek() === output) markStale(conversation, cell);
    void keep(conversation, cell, output); // the run is over: the next one must not wait for this
  } catch (cause) {
    if (isAbort(cause) || signal.aborted) return;
    if (isGone(cause)) return await takeKept(conversation, cell, output);
    setPhase(cell, output, "idle");
    resumed.delete(output);
    failed("read the output of a run", cause);
  } finally {
    guess.end();
    live.isStopping.value = false;
  }
}

async function readToEnd(
  conversation: Conversation, output: Output, signal: AbortSignal, hear: (event: RunEvent) => void,
): Promise<void> {
  const pauses = new Pauses();
  while (!output.isOver && !signal.aborted) {
    const before = output.seq;
    const isLive = mayStream(conversation, output);
    try {
      await readOnce(output, isLive, signal, hear);
    } catch (cause) {
      // Cut off on purpose, by another conversation or a hidden tab, is no failure: it goes on by looking.
      if (!isPassing(cause) && !(isAbort(cause) && !signal.aborted)) throw cause;
    }
    if (output.isOver) return;
    if (output.seq > before) pauses.reset();
    if (isLive) await pauses.take(signal);
    else await rest(LOOK_MS, signal);
  }
}

async function readOnce(output: Output, isLive: boolean, signal: AbortSignal, hear: (event: RunEvent) => void): Promise<void> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  let watchdog = setTimeout(abort, SILENCE_MS);
  signal.addEventListener("abort", abort);
  if (isLive) {
    stream.holder = output;
    stream.cut = abort;
  }
  try {
    const events = isLive
      ? calls.runEvents(output.run!, output.seq, controller.signal)
      : calls.runEventsSoFar(output.run!, output.seq, controller.signal);
    for await (const event of events) {
      clearTimeout(watchdog);
      watchdog = setTimeout(abort, SILENCE_MS);
      output.apply(event);
      hear(event);
    }
  } finally {
    clearTimeout(watchdog);
    signal.removeEventListener("abort", abort);
    if (isLive) {
      stream.holder = null;
      stream.cut = () => {};
    }
  }
}

/** Before a run has begun its log is silent: ask whether it waits for its turn or for a person. */
async function watchStart(cell: Cell, output: Output, signal: AbortSignal): Promise<void> {
  await rest(QUIET_MS, signal);
  while (output.seq === 0 && !signal.aborted) {
    try {
      const { state } = await calls.getRun(output.run!);
      if (output.seq === 0 && (state === "held" || state === "waiting")) setPhase(cell, output, state);
    } catch {
      // The reader of the log meets the same failure, and says so.
    }
    await rest(LOOK_MS, signal);
  }
}

/** Nothing in the events says that code waits for input: a line without an end, or code that reads, and then silence, does. */
function guessInput(cell: Cell, output: Output): { hear: (event: RunEvent) => void; end: () => void } {
  const { asksInput } = liveOf(cell);
  const reads = READS_INPUT.test(cell.source.peek());
  let timer: ReturnType<typeof setTimeout> | undefined;
  asksInput.value = false;
  return {
    hear(event) {
      clearTimeout(timer);
      const isOpen = event.type === "stdout" && !event.text.endsWith("\n");
      if (isOpen || reads) timer = setTimeout(() => { asksInput.value = !output.isOver; }, QUIET_MS);
    },
    end() {
      clearTimeout(timer);
      asksInput.value = false;
    },
  };
}

// ---- what is kept ----
const resumed = new WeakSet<Output>(); // that have been read, or are being read

const keeping = new WeakMap<Cell, Promise<void>>(); // the last one: an older output must not arrive after a newer one

function keep(conversation: Conversation, cell: Cell, output: Output): Promise<void> {
  const put = async () => {
    try {
      await patiently(async () => {
        if (cell.output.peek() === output) await calls.putOutput(conversation.id, cell.id, saveOutput(output)); // else another run took its place
      });
    } catch (cause) {
      if (!isGone(cause)) failed("keep the output of a cell", cause); // with its conversation, of which the person is told
    }
  };
  const before = keeping.get(cell);
  const mine = before ? before.then(put) : put();
  keeping.set(cell, mine);
  return mine;
}

/** The saved output of a run, or null. */
async function savedOf(conversation: Conversation, cell: Cell, output: Output, signal?: AbortSignal): Promise<Output | null> {
  try {
    const kept = await patiently(() => calls.getOutput(conversation.id, cell.id), signal);
    if (kept === null) return null;
    const saved = loadOutput(kept);
    if (output.run === IMPORTED) saved.run = IMPORTED;
    return saved.run === output.run ? saved : null;
  } catch (cause) {
    if (isGone(cause)) return null;
    throw cause;
  }
}

/** False where something did not fit when it was kept: the log, while it is there, has more. */
function isWhole(saved: Output): boolean {
  return !saved.items.some(({ kind }) => kind === "notice") && !saved.lines.some(({ text }) => LEFT_OUT.test(text));
}

function replace(cell: Cell, output: Output, saved: Output): void {
  if (cell.output.peek() !== output) return;
  resumed.add(saved);
  cell.output.value = saved;
}

async function takeKept(conversation: Conversation, cell: Cell, output: Output): Promise<void> {
  setPhase(cell, output, "idle");
  try {
    const saved = await savedOf(conversation, cell, output);
    if (saved) return replace(cell, output, saved);
    if (cell.output.peek() === output) liveOf(cell).notice.value = NOT_KEPT;
  } catch (cause) {
    failed("read the output of a cell", cause);
  }
}

// ---- after opening ----
/** Puts an output there that came from elsewhere: nothing has to be read for it. */
export function placeOutput(cell: Cell, output: Output): void {
  resumed.add(output);
  cell.output.value = output;
}

/** Follows the runs that go on, and reads those that are over once. May be called at any time, and again. */
export async function resumeAll(conversation: Conversation): Promise<void> {
  const cells = conversation.cells.peek().filter((cell) => {
    const output = cell.output.peek();
    return output?.run && !output.isOver && !resumed.has(output) && follows.get(cell)?.output !== output;
  });
  if (cells.length === 0) return;
  for (const cell of cells) resumed.add(cell.output.peek()!);
  const rows = await rowsOf(conversation, cells.map((cell) => cell.output.peek()!.run!));
  const isRunning = (cell: Cell) => rows.get(cell.output.peek()?.run ?? "")?.verdict === null;
  for (const cell of cells.filter(isRunning)) void follow(conversation, cell);
  const others = cells.filter((cell) => !isRunning(cell));
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let cell = others.shift(); cell; cell = others.shift()) await resume(conversation, cell, rows.has(cell.output.peek()?.run ?? ""));
  }));
}

/** The runs whose log is still there, as far as the daemon lists them. Those that a branch inherits are of the session it was
 * forked from. */
async function rowsOf(conversation: Conversation, wanted: readonly string[]): Promise<Map<string, RunRow>> {
  try {
    const own = await calls.listRuns({ session: conversation.session.peek() ?? undefined, limit: 200 });
    const isWhole = wanted.every((run) => own.some(({ id }) => id === run));
    const rows = isWhole ? own : [...(await calls.listRuns({ limit: RUNS_MAX })), ...own];
    return new Map(rows.map((row) => [row.id, row]));
  } catch {
    return new Map(); // each run is then asked for by itself, with patience
  }
}

/** A saved output is the quickest to read; the log is read where nothing was saved, or not all. */
async function resume(conversation: Conversation, cell: Cell, hasLog: boolean): Promise<void> {
  const output = cell.output.peek();
  if (!output?.run || output.isOver) return;
  try {
    const saved = await savedOf(conversation, cell, output);
    const isEnough = saved && (!hasLog || isWhole(saved));
    if (saved) saved.isSaved = !hasLog;
    if (isEnough) replace(cell, output, saved);
    else if (IS_RUN.test(output.run)) await follow(conversation, cell, false);
    else liveOf(cell).notice.value = NOT_KEPT;
  } catch (cause) {
    resumed.delete(output); // with a token, say, it can be read the next time
    failed("read the output of a cell", cause);
  }
}
