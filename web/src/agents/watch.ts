// SPDX-License-Identifier: Apache-2.0
// Runs that others make in the session of the open conversation become cells of it as they begin. The cell's id comes
// from the run, so two tabs that both add it add the same one.
import { effect } from "@preact/signals";
import { listRuns, runCode } from "../api/calls";
import type { RunRow } from "../api/types";
import { follow } from "../cells/run";
import { Cell, type Conversation } from "../state/conversation";
import { current, onMerged } from "../state/conversations";
import { onReload, onRun } from "../state/feed";
import { toast } from "../state/toasts";
import { followAgent } from "./follow";
import { watchHeld } from "./held";
import { isPage } from "./who";

const CELLS_MAX = 500; // of a conversation: what an agent does beyond that is in the list of runs
const MISSED_MAX = 50;
const PAGE_GRACE_MS = 10_000;
const shown = new Set<string>(); // runs that were made cells here: one that was deleted does not come back

const cellOf = (conversation: Conversation, run: string) =>
  conversation.cells.peek().find((cell) => cell.output.peek()?.run === run);

/** Made by a cell of it, which may have made others since or be gone: such a run never becomes a cell again. */
const isOwn = (conversation: Conversation, run: string) => conversation.runs.includes(run) || cellOf(conversation, run) !== undefined;

const isHere = (conversation: Conversation | null, row: RunRow): conversation is Conversation =>
  conversation !== null && row.session !== null && conversation.session.peek() === row.session;

async function add(conversation: Conversation, row: RunRow): Promise<void> {
  if (shown.has(row.id) || isOwn(conversation, row.id)) return;
  shown.add(row.id);
  if (conversation.cells.peek().length >= CELLS_MAX) {
    toast(`"${conversation.name.peek()}" is full: further runs are in the list under Approvals`, "info");
    return;
  }
  const source = await runCode(row.id).catch(() => row.line ?? "");
  if (isOwn(conversation, row.id)) return;
  const cell = new Cell({ id: `r${row.id}`, kind: "code", source, run: row.id, who: row.who });
  if (row.state !== "over") cell.phase.value = row.state;
  conversation.insert(cell);
  void follow(conversation, cell, row.state !== "over");
}

/** A page's own runs come with their cells: through this tab, or through what another tab saves. One that only says it
 * is a page is not in what is saved after a while, and is shown like all others. */
function takeRun(row: RunRow): void {
  const conversation = current.peek();
  if (!isHere(conversation, row)) return;
  if (!isPage(row.who)) return void add(conversation, row);
  setTimeout(async () => {
    if (current.peek() !== conversation || shown.has(row.id) || isOwn(conversation, row.id)) return;
    await conversation.pull(); // what the other tab saved may not have come yet
    if (current.peek() === conversation) void add(conversation, row);
  }, PAGE_GRACE_MS);
}

/** Adds the runs that others made while the conversation was not open, or the feed was away. */
async function catchUp(conversation: Conversation): Promise<void> {
  const session = conversation.session.peek();
  if (session === null) return;
  const rows = await listRuns({ session, limit: MISSED_MAX }).catch(() => []);
  const known = rows.filter((row) => cellOf(conversation, row.id));
  const latest = Math.max(0, ...known.map((row) => row.begun_ms));
  const missed = rows.filter((row) => row.begun_ms > latest && !row.inherited && !isPage(row.who)).toSorted((a, b) => a.begun_ms - b.begun_ms);
  for (const row of missed) {
    if (current.peek() !== conversation) return;
    await add(conversation, row);
  }
}

/** Another tab saved its own cell of a run that had become a cell here by itself: one is enough. */
export function dropTwins(conversation: Conversation): void {
  const cells = conversation.cells.peek();
  const own = new Set(cells.filter((cell) => !cell.id.startsWith("r")).map((cell) => cell.output.peek()?.run));
  for (const cell of cells) {
    const run = cell.output.peek()?.run;
    if (run && cell.id === `r${run}` && own.has(run)) conversation.remove(cell);
  }
}

let isWatching = false;

/** Call once, after the feed was started. */
export function watchAgents(): void {
  if (isWatching) return;
  isWatching = true;
  watchHeld();
  onRun((row) => {
    takeRun(row);
    followAgent(row);
  });
  onReload(() => {
    const conversation = current.peek();
    if (conversation) void catchUp(conversation);
  });
  onMerged(dropTwins);
  effect(() => {
    const conversation = current.value;
    if (conversation) void catchUp(conversation);
  });
}
