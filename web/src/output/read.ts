// SPDX-License-Identifier: Apache-2.0
// Parts of events, checked. The daemon vouches for the verdict; the rest was made in a sandbox, and may be anything.
import type { FileEntry, RunError, RunState, Truncated, Usage, Verdict, VerdictKind } from "../api/types";
import { countOf, isRecord, own, ownList, ownText } from "./checks";

const FILES_MAX = 10_000;

export interface Ending {
  verdict: Verdict;
  state: RunState;
  usage: Usage;
  walls: string[];
  truncated: Truncated;
  missing: string[]; // files that were asked for and are not there
  checkpoint: string | null;
  skipped: string | null; // why there is no checkpoint
  undone: number; // runs that a rollback undid, this one included
  why: string; // why it went back no less far
  hasFiles: boolean; // ... and files came back, too
  note: string; // of a session that was woken or restarted: what it goes on from, and what is missing
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
  const sum = ownText(value, "sha256", 64);
  return sum ? { ...file, sha256: sum } : file;
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
    exit_code: numberOrNull(own(value, "exit_code")),
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

/** The ending of a run, from its last event or from what was kept of it. */
export function readEnding(value: unknown): Ending {
  const state = ownText(value, "state", 20);
  const checkpoint = own(value, "checkpoint");
  const truncated = own(value, "truncated");
  const isCut = (name: string) => own(truncated, name) === true;
  return {
    verdict: readVerdict(own(value, "verdict")),
    state: state === "preserved" || state === "rolled_back" || state === "lost" ? state : "none",
    usage: readUsage(own(value, "usage")),
    walls: texts(ownList(value, "walls")),
    truncated: {
      stdout: isCut("stdout"), stderr: isCut("stderr"), files: isCut("files"), result: isCut("result"), events: isCut("events"),
    },
    missing: texts(ownList(value, "missing")),
    checkpoint: isRecord(checkpoint) ? ownText(checkpoint, "id", 100) || null : typeof checkpoint === "string" ? checkpoint : null,
    skipped: ownText(checkpoint, "skipped", 1000) || ownText(value, "skipped", 1000) || null,
    undone: ownList(checkpoint, "undone").length || countOf(own(value, "undone")) || 0,
    why: ownText(checkpoint, "why", 1000) || ownText(value, "why", 1000),
    hasFiles: ownText(checkpoint, "files", 20) !== "skipped" && own(value, "hasFiles") !== false,
    note: isRecord(own(checkpoint, "woken")) ? ownText(checkpoint, "note", 4000) : ownText(value, "note", 4000),
  };
}
