// SPDX-License-Identifier: Apache-2.0
// The daemon's answers, as docs/http.md has them. Everything in them that code in a sandbox chose is text to show, never
// markup: chart objects, bundles and tables are checked where they are shown (output/).

import type { Exception, File, Result, Verdict, Who } from "./described";

export type { Allowed, Policy, Truncated, Usage, Verdict, Who } from "./described";

export interface ErrorBody {
  error: { kind: string; message: string; field?: string; remedy?: string };
}

export type SessionState = "starting" | "idle" | "running" | "frozen" | "asleep" | "lost";

export interface Session {
  id: string;
  name: string | null;
  state: SessionState;
  token?: string | null; // whose it is; absent: nobody in particular
  policy: string;
  runtime: string;
  backend: string;
  created_ms: number;
  used_ms: number;
  idle_ms: number;
  ttl_ms: number;
  runs: number;
  memory: number;
  transactional: boolean;
  head: string | null;
  went_back_ms?: number; // when it was told to go to its head, which it has not left since
  why?: string;
  checkpoint_blocked_by?: string;
  keep?: boolean; // its states are written to disk
  kept?: { states: number; bytes: number; dropped: number; pending: boolean; why?: string };
  woken?: { missing?: Missing[] }; // in the answer of a wake
}

export type VerdictKind = Verdict["kind"];
export type RunState = Exclude<Result["state"], "held">;

/** As output/read.ts has checked it. */
export type RunError = Required<Exception>;
export type FileEntry = File;

/** A MIME bundle: values are texts, or any JSON for JSON types. */
export type Bundle = Record<string, unknown>;

/** Which rows of a table, as docs/http.md has it. */
export interface TableQuery {
  offset?: number;
  limit?: number;
  sort?: string; // "3:desc"
  filter?: string; // JSON
  search?: string;
}

export type Chart =
  | { kind: "image"; mime: string; base64: string; index?: number; scale?: number; data?: unknown }
  | { kind: "spec"; spec: unknown }
  | { kind: "plotly"; figure: unknown };

interface EventBase {
  seq: number;
  t_ms: number;
}

export type RunEvent = EventBase &
  (
    | ({ type: "started"; run: string } & Pick<Result, "backend" | "runtime">)
    | { type: "stdout" | "stderr"; text: string }
    | { type: "stdin"; text: string } // what a person typed for input()
    | { type: "display"; data: Bundle }
    | { type: "chart"; chart: Chart }
    | { type: "table"; table: unknown }
    | { type: "file"; file: FileEntry }
    | { type: "result"; result: Bundle }
    | { type: "error"; error: Exception }
    | ({ type: "verdict"; verdict: Verdict; state: RunState } & Pick<
        Result,
        "usage" | "allowed" | "walls" | "limits" | "truncated" | "files" | "missing" | "checkpoint"
      >)
    | { type: "keepalive" }
    | { type: "held"; run: string } // it waits for a person; without a number, as `keepalive`
  );

export type RunPhase = "held" | "waiting" | "running" | "over";

export interface RunRow {
  id: string;
  session: string | null;
  op: string;
  policy: string;
  runtime: string;
  begun_ms: number;
  events: number;
  state: RunPhase;
  line: string | null; // null: a run of before it was kept
  who: Who;
  verdict: VerdictKind | null;
  wall_ms?: number;
  cpu_ms?: number;
  peak_memory?: number;
  inherited?: boolean; // of the session that this branch was forked from
}

export interface HeldRun extends RunRow {
  code: string;
  code_size: number;
  held_ms: number;
  until_ms: number;
  inputs?: unknown;
  may?: boolean; // this caller may decide about it
}

export interface Variable {
  name: string;
  type: string;
  repr: string;
  size: number;
  shape?: number[];
  dtype?: string;
  columns?: string[];
}

export interface Missing {
  name: string;
  why?: string;
}

export interface Checkpoint {
  id: string;
  name: string | null;
  parent: string | null; // the nearest before it that is still there
  not_kept?: number; // states between that one and this that are gone
  run: string | null;
  created_ms: number;
  memory: number;
  files?: "skipped" | "shared" | "coming"; // going back leaves the files as they are, or their copy is being made
  kind?: "live" | "portable"; // portable: bytes on disk, read by a new sandbox
  bytes?: number; // on disk
  missing?: Missing[]; // what could not be written
  lacks?: Missing[]; // of a live one that was read from disk: what it lacks since then
}

export interface Diff {
  added: string[];
  removed: string[];
  changed: string[];
}

export type CellKind = "code" | "note";

export interface CellRecord {
  id: string;
  kind: CellKind;
  source: string;
  run: string | null;
  who?: Who; // of a run that no page started
  mark?: CellMark | null; // what became of its result since
  timeout_ms?: number | null; // how long its runs may take; absent: as the conversation says
  ran?: string; // the code of the run that is shown, where it is not the source any more
}

/** The fate of a cell's result: a cell whose variables it reads has run since (stale); or the session went back to before
 * it, was restarted after it, went back because a later run failed, has ended; or this is a branch that begins without it. */
export type CellMark = "stale" | "undone" | "restarted" | "rolled_back" | "ended" | "apart";

/** Limits for the runs of a conversation; the settings and the policy decide the absent ones. */
export interface Use {
  policy?: string;
  runtime?: string;
  timeout_ms?: number;
}

export interface Document {
  cells: CellRecord[];
  use?: Use;
  runs?: string[]; // that its cells made, the last ones
}

export interface ConversationRow {
  id: string;
  name: string;
  session: string | null;
  sandbox: boolean;
  cells: number;
  version: number;
  created_ms: number;
  changed_ms: number;
}

export interface ConversationRecord extends ConversationRow {
  document: Document;
}

export type FeedEvent =
  | { seq: number; type: "hello"; boot: string }
  | { type: "reset" }
  | { seq: number; type: "session"; session: Session }
  | { seq: number; type: "session_gone"; id: string }
  | { seq: number; type: "run"; run: RunRow }
  | { seq: number; type: "conversation"; id: string; version: number }
  | { seq: number; type: "conversation_gone"; id: string }
  | { type: "keepalive" };

export interface Backend {
  name: string;
  priority: number;
  isolation: string;
  available: boolean;
  why: string | null;
  remedy: string | null;
  /** Abilities that sessions on it lack, a word each. */
  lacks?: string[];
  for: string[];
}

export interface WallFact {
  name: string;
  on: boolean;
  what: string;
  why: string | null;
  remedy: string | null;
}

export interface Pool {
  runtime: string;
  memory: number;
  keep: number;
  ready: number;
  coming: number;
  why: string | null;
}

export interface Status {
  version: string;
  config: string | null;
  started_ms: number;
  uptime_ms: number;
  backend: string;
  backends: Backend[];
  walls: string[];
  wall_facts: WallFact[];
  runtimes: { name: string; preload: string[] }[];
  pools: Pool[];
  sandboxes: number;
  approve: { needs: "nothing" | "key" | "token"; may: boolean };
  caller?: { token: string | null; oversees: boolean };
  [more: string]: unknown;
}

export interface AuditLine extends Partial<Who> {
  time: string;
  run: string;
  session: string | null;
  policy: string;
  verdict: string;
  [more: string]: unknown;
}
