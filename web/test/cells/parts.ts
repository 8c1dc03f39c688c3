// SPDX-License-Identifier: Apache-2.0
// What the tests of cells are made of: a conversation without a daemon, and events as a run sends them.
import { ApiError } from "../../src/api/client";
import type { RunEvent, VerdictKind } from "../../src/api/types";
import { type Cell, Conversation } from "../../src/state/conversation";

export const away = new ApiError(0, "away", "the daemon does not answer");
export const gone = new ApiError(404, "not_found", "there is no such run");

export function conversationOf(cells: Cell[], session: string | null = null): Conversation {
  const conversation = new Conversation({
    id: "cnv_1", name: "test", session, sandbox: true, cells: 0, version: 1, created_ms: 0, changed_ms: 0, document: { cells: [] },
  });
  conversation.cells.value = cells;
  conversation.touch = () => {};
  conversation.save = () => Promise.resolve();
  conversation.pull = () => Promise.resolve();
  return conversation;
}

export const started = (seq: number, run = "run_a1"): RunEvent => ({ seq, t_ms: 0, type: "started", run, backend: "namespace", runtime: "base" });
export const said = (seq: number, text: string): RunEvent => ({ seq, t_ms: 1, type: "stdout", text });
export const verdict = (seq: number, kind: VerdictKind = "ok"): RunEvent => ({
  seq, t_ms: 2, type: "verdict", state: "preserved", walls: [], limits: null, files: [], missing: [],
  truncated: { stdout: false, stderr: false, files: false, result: false, events: false },
  verdict: { kind, exit_code: 0, signal: null, message: "", remedy: "", remedy_key: null, limit: null, peak: null, by: "runner" },
  usage: { queue_ms: 0, wall_ms: 1, cpu_ms: 1, peak_memory: 1, output_bytes: 0 },
});
