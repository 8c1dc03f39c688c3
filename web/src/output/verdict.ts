// SPDX-License-Identifier: Apache-2.0
// How a run ended, in plain words: one row per kind of verdict. The daemon's own message comes with it.
import type { RunState, Verdict } from "../api/types";
import { formatBytes, formatMs } from "./format";
import { tellRemedy } from "./remedy";

export type Tone = "good" | "warn" | "bad" | "info";

interface Row {
  title: string;
  tone: Tone;
  says: (verdict: Verdict) => string; // "": the message says it all
}

export interface Told {
  title: string;
  tone: Tone;
  sentence: string;
  message: string; // the daemon's words, where they say more
  remedy: string;
}

const SIGNALS: Readonly<Record<number, string>> = {
  4: "an illegal instruction", 6: "an abort", 7: "a bus error", 8: "an arithmetic error", 9: "a kill", 11: "a memory fault",
  24: "its limit of processor time", 31: "a system call that the walls forbid",
};

/** The limit that was hit, with its unit. */
export function limitText(verdict: Verdict): string {
  const value = verdict.limit_value;
  if (value === undefined) return "";
  if (verdict.limit?.endsWith("_ms")) return formatMs(value);
  if (verdict.limit === "memory" || verdict.limit === "disk" || verdict.limit === "output") return formatBytes(value);
  return String(value);
}

const limited = (verdict: Verdict, words: (limit: string) => string, otherwise: string) => {
  const limit = limitText(verdict);
  return limit ? words(limit) : otherwise;
};

const ROWS: Readonly<Record<string, Row>> = {
  ok: { title: "Done", tone: "good", says: () => "" },
  exception: { title: "Failed", tone: "bad", says: () => "The code raised an exception." },
  exit: { title: "Ended by itself", tone: "warn", says: (v) => `The code ended with exit code ${v.exit_code}.` },
  timeout: {
    title: "Timed out", tone: "bad",
    says: (v) => limited(v, (limit) => `The run took longer than its limit of ${limit} and was stopped.`, "The run took too long and was stopped."),
  },
  memory: {
    title: "Out of memory", tone: "bad",
    says: (v) => (v.limit === "locks" ? "" // the message says which memory that is
      : limited(v, (limit) => `The run needed more than its limit of ${limit} of memory and was stopped.`, "The run needed too much memory and was stopped.")),
  },
  killed: {
    title: "Crashed", tone: "bad",
    says: (v) => `The Python process was ended by ${SIGNALS[v.signal ?? 0] ?? (v.signal === null ? "a signal" : `signal ${v.signal}`)}.`,
  },
  output: {
    title: "Too much output", tone: "bad",
    says: (v) => limited(v, (limit) => `The run printed far more than its limit of ${limit} and was stopped.`, "The run printed far too much and was stopped."),
  },
  disk: {
    title: "Disk full", tone: "bad",
    says: (v) => limited(v, (limit) => `The files of the sandbox reached their limit of ${limit}.`, "The sandbox's disk is full."),
  },
  guard: { title: "Refused", tone: "warn", says: () => "The policy's guard refused this code before it ran." },
  denied: { title: "Denied", tone: "warn", says: () => "The run was not allowed. Nothing was executed." },
  undecided: { title: "Not run", tone: "warn", says: () => "The server ended before the run could begin. Nothing was executed." },
  interrupted: { title: "Interrupted", tone: "warn", says: () => "The run was interrupted." },
  cancelled: { title: "Cancelled", tone: "warn", says: () => "The run was cancelled." },
  stopped: { title: "Stopped", tone: "warn", says: () => "The server was stopped before the run had ended." },
  backend: { title: "Could not run", tone: "bad", says: () => "The sandbox could not do this run. That is not the code's fault." },
};

/** Kinds whose message is shown elsewhere, or says the same as the sentence. */
const IN_OTHER_WORDS: ReadonlySet<string> = new Set(["ok", "exception", "exit", "timeout", "memory", "output", "interrupted", "cancelled", "undecided", "stopped"]);

const rowOf = (kind: string): Row => (Object.hasOwn(ROWS, kind) ? ROWS[kind]! : { title: "Ended", tone: "warn", says: () => "" });

/** How a run ended, in a word or two: the same wherever it is said. */
export const titleOfKind = (kind: string) => rowOf(kind).title;

/** A run whose daemon was stopped is denied while it is held, and cancelled later; but nobody refused or ended it. */
function kindOf({ kind, remedy_key }: Verdict): string {
  if (remedy_key !== "again") return kind;
  return kind === "denied" ? "undecided" : kind === "cancelled" ? "stopped" : kind;
}

export function tellVerdict(verdict: Verdict): Told {
  const kind = kindOf(verdict);
  const row = rowOf(kind);
  const sentence = row.says(verdict);
  const isSaid = IN_OTHER_WORDS.has(kind) && (sentence !== "" || kind === "ok");
  return {
    title: row.title,
    tone: row.tone,
    sentence,
    message: isSaid ? "" : verdict.message,
    remedy: tellRemedy(verdict),
  };
}

const STATES: Readonly<Record<RunState, string>> = {
  none: "",
  preserved: "",
  rolled_back: "",
  lost: "The session's variables were lost: there was no checkpoint to go back to.",
};

interface Back {
  undone: readonly string[];
  after: string | null;
  why: string;
  hasFiles: boolean;
}

/** The state that came back: before a run that only undid itself, else after the cell that made it. */
function stateOf({ undone, after }: Back, numberOf: NumberOf): string {
  if (undone.length <= 1) return "before this run";
  if (after === null) return "when the session began";
  const number = numberOf(after);
  return number === null ? "before those" : `after cell ${number}`;
}

/** Which state came back, which runs were undone, and why it was no newer one. Told as what happened: later the session
 * may go elsewhere, and this stays true. */
function tellBack(back: Back, numberOf: NumberOf): string {
  const { undone, why, hasFiles } = back;
  const others = undone.length === 2 ? "the one" : `${undone.length - 1}`;
  const runs = undone.length > 1 ? `${undone.length} runs were undone, this one and ${others} before it; ` : "";
  const what = hasFiles ? "variables and the files of /workspace" : "variables";
  return `Rolled back: ${runs}${what} went back to what they were ${stateOf(back, numberOf)}.${why ? ` No newer state was kept: ${why}. One that the timeline has on disk lacks what could not be written.` : ""}${hasFiles ? "" : " Files stayed as they were."}`;
}

/** The number of the cell that shows a run; null: none does. */
export type NumberOf = (run: string) => number | null;

export const tellState = (state: RunState, back: Back, numberOf: NumberOf = () => null): string =>
  (state === "rolled_back" ? tellBack(back, numberOf) : STATES[state]);
