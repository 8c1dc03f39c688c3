// SPDX-License-Identifier: Apache-2.0
// Running cells. Those of one conversation run one after the other, in the order in which they were asked for; when one
// fails those behind it do not run, since they most likely build on it.
import * as calls from "../api/calls";
import { ApiError } from "../api/client";
import { Output } from "../output/model";
import type { Cell, Conversation } from "../state/conversation";
import { sessions } from "../state/feed";
import { timeOf } from "../state/policies";
import { ensureSession } from "../state/session";
import { nameIt } from "../state/title";
import { failed, toast } from "../state/toasts";
import { follow } from "./follow";
import { isOn, liveOf } from "./live";
import { isGone } from "./pause";
import { isRefreshed, recall, remember } from "./waiting";

export { follow, resumeAll } from "./follow";

interface Turn {
  cell: Cell;
  run: string | null; // once it is on its way
  code: string | null; // what runs, from when it is asked for; until then the cell may still be edited
  isStopped: boolean;
  ended: (isGood: boolean) => void;
  over: Promise<boolean>; // true: it ran to its end without a failure
}

function newTurn(cell: Cell, run: string | null = null): Turn {
  let ended: Turn["ended"] = () => {};
  const over = new Promise<boolean>((resolve) => { ended = resolve; });
  // A run from before the page was loaded anew is taken for one of the text that is there.
  return { cell, run, code: run && cell.source.peek(), isStopped: false, ended, over };
}

/** The cells to be run; the first is running. The queue outlives the conversation's object: a conversation that is opened
 * again goes on with it. */
interface Queue {
  conversation: Conversation;
  turns: Turn[];
}

const queues = new Map<string, Queue>(); // by conversation

function queueOf(conversation: Conversation): Queue {
  let queue = queues.get(conversation.id);
  if (!queue) queues.set(conversation.id, (queue = { conversation, turns: [] }));
  return queue;
}

/** To be called after each change: a refresh goes on with it. */
function note({ conversation, turns }: Queue): void {
  remember(conversation.id, turns.map(({ cell, run }) => ({ cell: cell.id, run })));
}

/** Goes on with the queue from before the page was loaded again. */
function pickUp(conversation: Conversation): void {
  const cells = new Map(conversation.cells.peek().map((cell) => [cell.id, cell]));
  const turns = recall(conversation.id).flatMap(({ cell: id, run }): Turn[] => {
    const cell = cells.get(id);
    return cell?.kind.peek() === "code" ? [newTurn(cell, run)] : [];
  });
  const left = turns.filter(({ run }) => !run);
  remember(conversation.id, []);
  if (left.length === 0 || !conversation.sandbox.peek()) return; // the run that was on is found by its number
  if (isRefreshed()) return goOnWith(conversation, turns);
  const what = left.length === 1 ? "One cell" : `${left.length} cells`;
  toast(`${what} did not run: the page was left before`, "info", "", { label: "Run now", run: () => goOnWith(conversation, left) });
}

function goOnWith(conversation: Conversation, turns: readonly Turn[]): void {
  const queue = queueOf(conversation);
  const isIdle = queue.turns.length === 0;
  for (const turn of turns) {
    if (queue.turns.some(({ cell, run }) => cell.id === turn.cell.id && run === turn.run)) continue;
    queue.turns.push(turn);
    awaitTurn(turn.cell);
  }
  note(queue);
  if (isIdle) void work(queue);
}

/** A conversation was opened: what was asked for before, when it was open the last time, goes on in its cells. */
export function takeOver(conversation: Conversation): void {
  const queue = queues.get(conversation.id);
  if (!queue) return pickUp(conversation);
  if (queue.conversation === conversation) return;
  queue.conversation = conversation;
  queue.turns.forEach((turn, i) => {
    const cell = conversation.cells.peek().find((one) => one.id === turn.cell.id);
    if (i === 0 || !cell) return; // the first is on its way: its run is found by its number
    turn.cell = cell;
    cell.phase.value = "waiting";
  });
}

/** Runs a cell after those that were asked for before it. True: it ran to its end without a failure. */
export function runCell(conversation: Conversation, cell: Cell): Promise<boolean> {
  if (cell.kind.peek() !== "code") return Promise.resolve(true);
  if (!conversation.sandbox.peek()) {
    toast("Running code is off in this conversation", "info", "Turn on \"Run code\" in the header");
    return Promise.resolve(false);
  }
  const queue = queueOf(conversation);
  const asked = queue.turns.findLast((turn) => turn.cell.id === cell.id);
  // A waiting turn takes the text as it is when it starts. A running turn is enough unless the text was edited since.
  if (asked && (asked.code === null || asked.code === cell.source.peek())) return asked.over;
  const turn = newTurn(cell);
  queue.turns.push(turn);
  note(queue);
  if (!asked) awaitTurn(cell);
  if (queue.turns.length === 1) void work(queue);
  return turn.over;
}

/** From now on the cell is about its next run, whatever its last one still tells. */
function awaitTurn(cell: Cell): void {
  const live = liveOf(cell);
  live.isAsked = true;
  live.notice.value = "";
  cell.phase.value = "waiting";
}

/** Runs all code cells from the top; stops at the first that fails. */
export async function runAll(conversation: Conversation): Promise<boolean> {
  const cells = conversation.cells.peek().filter((cell) => cell.kind.peek() === "code" && cell.source.peek().trim() !== "");
  const ends = await Promise.all(cells.map((cell) => runCell(conversation, cell)));
  return ends.every(Boolean);
}

async function work(queue: Queue): Promise<void> {
  for (let turn = queue.turns[0]; turn; turn = queue.turns[0]) {
    let isGood = false;
    try {
      isGood = await take(queue, turn);
    } catch (cause) {
      settle(turn.cell);
      failed("run the cell", cause);
    }
    queue.turns.shift();
    turn.ended(isGood);
    if (!isGood) dropRest(queue, turn);
    if (queue.turns.some(({ cell }) => cell === turn.cell)) awaitTurn(turn.cell);
    note(queue);
  }
}

function dropRest({ conversation, turns }: Queue, after: Turn): void {
  // The same cell once more, edited since, is no follower of what failed: most likely it mends it.
  const again = after.isStopped ? -1 : turns.findIndex(({ cell }) => cell.id === after.cell.id);
  const dropped = turns.splice(0, again < 0 ? turns.length : again);
  for (const turn of dropped) leave(turn);
  if (dropped.length === 0 || after.isStopped) return;
  const number = conversation.cells.peek().findIndex((cell) => cell.id === after.cell.id) + 1;
  toast(`Stopped at cell ${number}: ${dropped.length === 1 ? "one cell" : `${dropped.length} cells`} behind it did not run`);
}

/** No run is to come: the cell is about its last one again. */
function settle(cell: Cell): void {
  const output = cell.output.peek();
  liveOf(cell).isAsked = false;
  cell.phase.value = output?.isOver ? "over" : "idle";
}

function leave(turn: Turn): void {
  settle(turn.cell);
  turn.ended(false);
}

async function take(queue: Queue, turn: Turn): Promise<boolean> {
  const { conversation } = queue;
  const { cell } = turn;
  const code = (turn.code ??= cell.source.peek());
  if (code.trim() === "") {
    cell.output.value = null;
    settle(cell);
    conversation.touch();
    return true;
  }
  nameIt(conversation); // before there is a session, which is called the same
  turn.run ??= await start(conversation, cell, code);
  conversation.noteRun(turn.run);
  note(queue);
  if (cell.output.peek()?.run !== turn.run) {
    cell.output.value = new Output(turn.run);
    cell.ran.value = code;
    cell.mark.value = null;
    void conversation.save(); // at once: a refresh must find the run
  }
  const output = cell.output.peek()!;
  liveOf(cell).isAsked = false;
  if (output.seq > 0) cell.phase.value = output.isOver ? "over" : "running"; // it was being read before its turn came
  if (turn.isStopped) await stop(conversation, cell);
  await follow(conversation, cell);
  return cell.output.peek()?.ending?.verdict.kind === "ok";
}

/** A session may end between the look at it and the run: then it is asked for once more. */
async function start(conversation: Conversation, cell: Cell, code: string): Promise<string> {
  const session = await ensureSession(conversation);
  const timeout_ms = timeOf(conversation, cell);
  const ask = { code, stdin: "live", ...(timeout_ms && { timeout_ms }) } as const;
  try {
    return (await calls.startRun(session, ask)).id;
  } catch (cause) {
    if (!isGone(cause)) throw cause;
    const left = new Map(sessions.peek());
    left.delete(session);
    sessions.value = left;
    return (await calls.startRun(await ensureSession(conversation), ask)).id;
  }
}

/** Stops what is on and forgets what waits behind it. */
export async function interruptRun(conversation: Conversation): Promise<void> {
  const queue = queueOf(conversation);
  const { turns } = queue;
  for (const turn of turns.splice(1)) leave(turn);
  if (turns[0]) turns[0].isStopped = true;
  note(queue);

  const cells = conversation.cells.peek().filter((cell) => isOn(cell) && cell.output.peek()?.run && !cell.output.peek()?.isOver);
  const cell = cells.find((one) => one.phase.peek() === "running") ?? cells[0];
  if (cell) await stop(conversation, cell);
}

/** Stops one cell: takes it out of the queue, or ends its run. */
export async function stopCell(conversation: Conversation, cell: Cell): Promise<void> {
  const queue = queueOf(conversation);
  const { turns } = queue;
  const at = turns.findIndex((turn) => turn.cell.id === cell.id);
  if (at > 0) {
    leave(turns.splice(at, 1)[0]!);
    return note(queue);
  }
  if (at === 0) return interruptRun(conversation);
  await stop(conversation, cell);
}

async function stop(conversation: Conversation, cell: Cell): Promise<void> {
  const run = cell.output.peek()?.run;
  const session = conversation.session.peek();
  const { isStopping } = liveOf(cell);
  if (!run || isStopping.peek()) return;
  isStopping.value = true;
  try {
    if (cell.phase.peek() === "running" && session) await calls.interrupt(session, run);
    else await calls.cancelRun(run);
  } catch (cause) {
    const isOver = cause instanceof ApiError && (cause.kind === "conflict" || cause.status === 404);
    if (!isOver) failed("stop the run", cause);
  } finally {
    isStopping.value = false;
  }
}
