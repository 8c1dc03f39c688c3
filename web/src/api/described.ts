// SPDX-License-Identifier: Apache-2.0
// Made by scripts/page_types.py from the daemon's own description of its answers. Change the tables there, not this.

export interface Verdict {
  kind: "ok" | "exception" | "exit" | "timeout" | "memory" | "killed" | "output" | "disk" | "guard" | "denied" | "interrupted" | "cancelled" | "backend";
  exit_code: number;
  signal: number | null;
  message: string;
  remedy: string;
  remedy_key: string | null;
  remedy_detail?: string;
  limit: string | null;
  limit_value?: number;
  peak: number | null;
  by: "supervisor" | "runner" | "remote";
}

export interface Usage {
  queue_ms: number;
  wall_ms: number;
  cpu_ms: number;
  peak_memory: number;
  output_bytes: number;
}

export interface Allowed {
  timeout_ms?: number;
  memory?: number;
  output?: number;
  cpus?: number;
}

export interface Truncated {
  stdout: boolean;
  stderr: boolean;
  files: boolean;
  result: boolean;
  events: boolean;
}

export interface Exception {
  type?: string;
  message?: string;
  traceback?: string;
  line?: number | null;
}

export interface File {
  path: string;
  size: number;
  mtime_ms?: number;
  mime?: string | null;
  sha256?: string | null;
  base64?: string | null;
}

export interface CheckpointMade {
  id?: string;
  skipped?: string;
  last?: string | null;
  files?: string;
  after?: string;
  undone?: string[];
  why?: string;
  kept?: unknown;
  woken?: unknown;
  note?: string;
}

export interface Result {
  id: string;
  session: string | null;
  who?: Who;
  verdict: Verdict | null;
  state: "none" | "held" | "preserved" | "rolled_back" | "lost";
  stdout: string;
  stderr: string;
  truncated: Truncated;
  result: Record<string, unknown> | null;
  error: Exception | null;
  displays: Record<string, unknown>[];
  charts: unknown[];
  table: unknown;
  files: File[];
  missing: string[];
  left_out?: string[];
  saved_state?: unknown;
  checkpoint?: CheckpointMade;
  usage: Usage;
  allowed?: Allowed;
  backend: string;
  runtime: string;
  walls: string[];
  walls_by?: string;
  limits: string | null;
}

export interface Who {
  token?: string | null;
  via?: string;
  client?: string | null;
  peer?: string;
}

export interface Policy {
  name: string;
  built_in?: boolean;
  max?: Record<string, unknown>;
  runtimes?: string[];
  warning?: string | null;
  base?: string;
  memory?: number;
  cpus?: number;
  pids?: number;
  disk?: number;
  io?: number;
  files?: number;
  output?: number;
  timeout_ms?: number;
  timeout_max_ms?: number;
  background_ms?: number;
  runtime?: string;
  backend?: string;
  data?: string;
  guard?: Record<string, unknown>;
  network?: string;
  approve?: boolean;
  approve_ms?: number;
  audit_code?: boolean;
  limits?: "cgroup" | "measured";
  trust?: string;
  swap?: number;
}
