// SPDX-License-Identifier: Apache-2.0
// Parts of events, checked. The daemon vouches for the verdict; the rest was made in a sandbox, and may be anything.
import type { Allowed, FileEntry, RunError, RunState, Truncated, Usage, Verdict, VerdictKind } from "../api/types";
import { countOf, isRecord, own, ownList, ownText } from "./checks";

const FILES_MAX = 10_000;

export interface Ending {
  verdict: Verdict;
  state: RunState;
  usage: Usage;
  allowed: Allowed; // empty: a run of before it was told
  walls: string[];
  truncated: Truncated;
  missing: string[]; // files that were asked for and are not there
  checkpoint: string | null;
  skipped: string | null; // why there is no checkpoint
  undone: string[]; // runs that a rollback undid, this one included
  after: string | null; // the run behind which the state was made that it went back to; null: the first state
  why: string; // why it went back no less far
  hasFiles: boolean; // ... and files came back, too
  note: string; // of a session that was woken or restarted: what it goes on from, and what is missing
  unsaved: string; // why its state was not on disk when it ended; it may have been written since
}

export function readError(value: unknown): RunError {
  return {
    type: ownText(value, "type", 200) || "Error",
    message: ownText(value, "message", 20_000),
    traceback: ownText(value, "traceback", 400_000),
    line: countOf(own(value, "line")),
  };
}

export function readFile(value: unknown): FileEntry | null {
  const path = ownText(value, "path", 4096);
  const size = countOf(own(value, "size"));
  if (!path || size === null) return null;
  const file: FileEntry = { path, size, mime: ownText(value, "mime", 200) || "application/octet-stream" };
  const [sum, time] = [ownText(value, "sha256", 64), numberOrNull(own(value, "mtime_ms"))];
  return { ...file, ...(time === null ? {} : { mtime_ms: time }), ...(sum ? { sha256: sum } : {}) };
}

export function readFiles(value: unknown): FileEntry[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, FILES_MAX).map(readFile).filter((file) => file !== null);
}

const texts = (list: unknown[]): string[] => list.filter((part) => typeof part === "string").slice(0, 1000);

function readVerdict(value: unknown): Verdict {
  const by = ownText(value, "by", 20);
  const limitValue = countOf(own(value, "limit_value"));
  return {
    kind: (ownText(value, "kind", 40) || "backend") as VerdictKind, // one that we do not know is shown by its message
    exit_code: numberOrNull(own(value, "exit_code")) ?? 0,
    signal: numberOrNull(own(value, "signal")),
    message: ownText(value, "message", 20_000),
    remedy: ownText(value, "remedy", 4000),
    remedy_key: ownText(value, "remedy_key", 60) || null,
    remedy_detail: ownText(value, "remedy_detail", 200),
    limit: ownText(value, "limit", 60) || null,
    ...(limitValue === null ? {} : { limit_value: limitValue }),
    peak: countOf(own(value, "peak")),
    by: by === "runner" || by === "remote" ? by : "supervisor",
  };
}

function numberOrNull(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function readUsage(value: unknown): Usage {
  const number = (name: keyof Usage) => countOf(own(value, name)) ?? 0;
  return {
    queue_ms: number("queue_ms"), wall_ms: number("wall_ms"), cpu_ms: number("cpu_ms"),
    peak_memory: number("peak_memory"), output_bytes: number("output_bytes"),
  };
}

function readAllowed(value: unknown): Allowed {
  const names = ["timeout_ms", "memory", "output", "cpus"] as const;
  return Object.fromEntries(names.map((name) => [name, countOf(own(value, name))]).filter(([, number]) => number));
}

/** The note about a wake, without the sentences about a rollback and about a state that could not be saved: these are
 * shown by themselves. */
function readNote(checkpoint: unknown, unsaved: string): string {
  const note = isRecord(own(checkpoint, "woken")) ? ownText(checkpoint, "note", 8000).replace(/^rolled back: .*?\. Before that, /, "") : "";
  const behind = `. And ${unsaved}`;
  return unsaved && note.endsWith(behind) ? note.slice(0, -behind.length) : note;
}

/** The ending of a run, from its last event or from what was kept of it. */
export function readEnding(value: unknown): Ending {
  const state = ownText(value, "state", 20);
  const checkpoint = own(value, "checkpoint");
  const truncated = own(value, "truncated");
  const unsaved = ownText(own(checkpoint, "kept"), "note", 4000) || ownText(value, "unsaved", 4000);
  const isCut = (name: string) => own(truncated, name) === true;
  return {
    verdict: readVerdict(own(value, "verdict")),
    state: state === "preserved" || state === "rolled_back" || state === "lost" ? state : "none",
    usage: readUsage(own(value, "usage")),
    allowed: readAllowed(own(value, "allowed")),
    walls: texts(ownList(value, "walls")),
    truncated: {
      stdout: isCut("stdout"), stderr: isCut("stderr"), files: isCut("files"), result: isCut("result"), events: isCut("events"),
    },
    missing: texts(ownList(value, "missing")),
    checkpoint: isRecord(checkpoint) ? ownText(checkpoint, "id", 100) || null : typeof checkpoint === "string" ? checkpoint : null,
    skipped: ownText(checkpoint, "skipped", 1000) || ownText(value, "skipped", 1000) || null,
    undone: texts(ownList(isRecord(checkpoint) ? checkpoint : value, "undone")),
    after: ownText(checkpoint, "after", 100) || ownText(value, "after", 100) || null,
    why: ownText(checkpoint, "why", 1000) || ownText(value, "why", 1000),
    hasFiles: ownText(checkpoint, "files", 20) === "" && own(value, "hasFiles") !== false,
    note: readNote(checkpoint, unsaved) || ownText(value, "note", 4000),
    unsaved,
  };
}
