// SPDX-License-Identifier: Apache-2.0
// The contents of the timeline: the checkpoints of a session, the line of code that led to each, and the runs whose work was
// undone.
import { getRun, getSession, listCheckpoints, listRuns } from "../api/calls";
import type { Checkpoint, RunRow, Session } from "../api/types";
import { readEnding, type Ending } from "../output/read";
import type { Conversation } from "../state/conversation";
import { deedOfCode } from "../state/title";
import { visible } from "./format";

export interface UndoneRun {
  id: string;
  verdict: string;
  endedMs: number;
  parent: string | null; // the state that it began from, and went back to
  isTaken: boolean; // by a later run that failed
}

export interface History {
  session: Session;
  checkpoints: Checkpoint[]; // oldest first
  undone: UndoneRun[];
  rows: ReadonlyMap<string, RunRow>;
}

const RUNS_MAX = 100;
const ASKED_MAX = 8; // runs whose end is looked up, when no cell knows it
type End = Pick<Ending, "state" | "checkpoint" | "undone">;
const endings = new Map<string, End>(); // of runs that are over: they do not change

async function endingOf(conversation: Conversation, row: RunRow): Promise<End> {
  const cell = conversation.cells.peek().find((one) => one.output.peek()?.run === row.id);
  const known = cell?.output.peek()?.ending ?? endings.get(row.id);
  if (known) return known;
  const ending = readEnding(await getRun(row.id).catch(() => null));
  endings.set(row.id, ending);
  return ending;
}

/** Runs that failed behind the oldest state that is kept, and those that went with them; none has a state of its own. */
async function undoneOf(conversation: Conversation, checkpoints: readonly Checkpoint[], rows: readonly RunRow[]): Promise<UndoneRun[]> {
  const oldest = checkpoints[0]?.created_ms ?? Infinity;
  const kept = new Set(checkpoints.map((one) => one.run));
  const known = new Map(rows.map((row) => [row.id, row]));
  const failed = rows
    .filter((row) => row.verdict !== null && row.verdict !== "ok" && row.begun_ms >= oldest && !kept.has(row.id))
    .slice(0, ASKED_MAX);
  const ends = await Promise.all(failed.map((row) => endingOf(conversation, row)));
  const found = new Map<string, UndoneRun>();
  failed.forEach((row, i) => {
    const { state, checkpoint, undone } = ends[i]!;
    if (state !== "rolled_back") return;
    for (const id of new Set([...undone, row.id])) {
      const one = known.get(id);
      if (one && !kept.has(id)) found.set(id, { id, verdict: one.verdict ?? "", endedMs: one.begun_ms + (one.wall_ms ?? 0), parent: checkpoint, isTaken: id !== row.id });
    }
  });
  return [...found.values()];
}

export async function loadHistory(conversation: Conversation, session: string): Promise<History> {
  const [about, checkpoints, rows] = await Promise.all([
    getSession(session), listCheckpoints(session), listRuns({ session, limit: RUNS_MAX }),
  ]);
  const undone = await undoneOf(conversation, checkpoints, rows.filter((row) => !row.inherited));
  return { session: about, checkpoints, undone, rows: new Map(rows.map((row) => [row.id, row])) };
}

export const FILES_CHANGED = "Files changed";

/** The title of a state: its name, else the line that names the run which led to it, else whatever else led to it. */
export function titleOf(conversation: Conversation, history: History, checkpoint: Checkpoint): string {
  if (checkpoint.name !== null) return visible(checkpoint.name);
  const parent = history.checkpoints.find((one) => one.id === checkpoint.parent);
  // Files that were brought in or removed by hand have a state of their own, and no run.
  if (parent && parent.run === checkpoint.run) return FILES_CHANGED;
  if (checkpoint.run === null && history.checkpoints.some((one) => one.created_ms < checkpoint.created_ms)) return "Restarted";
  return visible(lineOf(conversation, history, checkpoint.run));
}

/** How the run that led to a state failed; null: it did not, or no run did. */
export function failureOf(history: History, checkpoint: Checkpoint): string | null {
  const verdict = (checkpoint.run !== null && history.rows.get(checkpoint.run)?.verdict) || "ok";
  return verdict === "ok" ? null : verdict;
}

/** The line that names a run. The daemon's row has it from the code that ran; the cell may have been edited since. */
export function lineOf(conversation: Conversation, history: History, run: string | null): string {
  if (run === null) return "Start";
  const row = history.rows.get(run);
  const cell = conversation.cells.peek().find((one) => one.output.peek()?.run === run);
  const line = row?.line || deedOfCode(cell?.source.peek() ?? "");
  return line.trim().slice(0, 120) || "A run";
}
