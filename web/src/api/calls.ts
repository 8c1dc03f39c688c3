// SPDX-License-Identifier: Apache-2.0
// Every call the page makes, one function each.
import { call, callJson, stream } from "./client";
import type * as T from "./types";

const sessionPath = (id: string) => `/v1/sessions/${encodeURIComponent(id)}`;
const runPath = (id: string) => `/v1/runs/${encodeURIComponent(id)}`;
const conversationPath = (id: string) => `/v1/conversations/${encodeURIComponent(id)}`;
export const filePath = (session: string, path: string) =>
  `${sessionPath(session)}/files/${path.replace(/^\/workspace\//, "").split("/").map(encodeURIComponent).join("/")}`;

// ---- sessions ----
export const listSessions = async () => (await callJson<{ sessions: T.Session[] }>("/v1/sessions")).sessions;
export const getSession = (id: string) => callJson<T.Session>(sessionPath(id));
export const makeSession = (ask: { name?: string; policy?: string; runtime?: string; keep?: boolean }) =>
  callJson<T.Session>("/v1/sessions", { json: ask });
export const renameSession = (id: string, name: string) =>
  callJson<T.Session>(sessionPath(id), { method: "PATCH", json: { name } });
/** Of one that sleeps: what its last state on disk has comes back. */
export const wakeSession = (id: string) => callJson<T.Session>(`${sessionPath(id)}/wake`, { json: {} });
/** A new interpreter, of another policy or Python where they are named: the files stay, the variables go. */
export const restartSession = (id: string, choice: { policy?: string; runtime?: string } = {}) =>
  callJson<T.Session>(`${sessionPath(id)}/restart`, { json: choice });
export const keepSession = (id: string) => callJson<T.Session>(sessionPath(id), { method: "PATCH", json: { keep: true } });
export const endSession = (id: string) => call(sessionPath(id), { method: "DELETE" });
export const interrupt = (session: string, run?: string) =>
  callJson<T.Session>(`${sessionPath(session)}/interrupt`, { json: run ? { run } : {} });
export const complete = (session: string, code: string, cursor: number, signal?: AbortSignal) =>
  callJson<{ matches: string[]; start: number; end: number }>(`${sessionPath(session)}/complete`, {
    json: { code, cursor }, signal,
  });

// ---- runs ----
/** Starts a run in a session and answers with its id; its events are read by `runEvents`. */
export const startRun = (session: string, ask: { code: string; stdin?: "live"; timeout_ms?: number }) =>
  callJson<{ id: string }>(`${sessionPath(session)}/run`, { json: { ...ask, detach: true } });
export const listRuns = async (query: { session?: string; limit?: number } = {}) =>
  (await callJson<{ runs: T.RunRow[] }>("/v1/runs", { query })).runs;
export const getRun = (id: string) => callJson<Record<string, unknown>>(runPath(id));
export const runEvents = (id: string, after: number, signal?: AbortSignal) =>
  stream<T.RunEvent>(`${runPath(id)}/events`, { query: { after }, signal });
/** The events that are there by now, without waiting for more. */
export const runEventsSoFar = (id: string, after: number, signal?: AbortSignal) =>
  stream<T.RunEvent>(`${runPath(id)}/events`, { query: { after, follow: false }, signal });
export const runCode = async (id: string) => (await call(`${runPath(id)}/code`)).text();
/** Also told as an event, so that everybody who follows the run sees what was typed. */
export const sendStdin = (id: string, text: string) => call(`${runPath(id)}/stdin`, { json: { text, echo: true } });
export const endStdin = (id: string) => call(`${runPath(id)}/stdin`, { json: { eof: true } });
export const cancelRun = (id: string) => call(runPath(id), { method: "DELETE" });

// ---- approvals ----
/** `more`: how many wait behind those that are listed. */
export const listHeld = () => callJson<{ held: T.HeldRun[]; more?: number }>("/v1/approvals");
export const allowRun = (id: string) => callJson<T.RunRow>(`${runPath(id)}/allow`, { json: {} });
export const denyRun = (id: string, why?: string) =>
  callJson<T.RunRow>(`${runPath(id)}/deny`, { json: why ? { why } : {} });

// ---- variables, files, checkpoints ----
export const listVars = (session: string, offset = 0) =>
  callJson<{ vars: T.Variable[]; as_of?: string; checkpoint_blocked_by?: string; next?: number }>(`${sessionPath(session)}/vars`, { query: { offset: offset || undefined } });
const varPath = (session: string, name: string) => `${sessionPath(session)}/vars/${encodeURIComponent(name)}`;
/** Rows of a table, from the whole of it: in an order, and of those that pass. */
export const readTable = (session: string, name: string, query: T.TableQuery, signal?: AbortSignal) =>
  callJson<unknown>(varPath(session, name), { query: { ...query }, signal });
export const tableCsv = (session: string, name: string, query: T.TableQuery) =>
  call(varPath(session, name), { query: { ...query, format: "csv" }, accept: "text/csv" });
export const tableSummary = (session: string, name: string, query: T.TableQuery) =>
  callJson<unknown>(`${varPath(session, name)}/summary`, { query: { ...query } });
export const listFiles = (session: string, after?: string) =>
  callJson<{ files: T.FileEntry[]; next?: string }>(`${sessionPath(session)}/files`, { query: { recursive: true, after } });
export const readFile = (session: string, path: string, signal?: AbortSignal) => call(filePath(session, path), { signal });
export const removeFile = (session: string, path: string) => call(filePath(session, path), { method: "DELETE" });
export const listCheckpoints = async (session: string) =>
  (await callJson<{ checkpoints: T.Checkpoint[] }>(`${sessionPath(session)}/checkpoints`)).checkpoints;
export const makeCheckpoint = (session: string, name?: string) =>
  callJson<T.Checkpoint>(`${sessionPath(session)}/checkpoints`, { json: name ? { name } : {} });
export const rollback = (session: string, checkpoint: string) =>
  callJson<T.Session>(`${sessionPath(session)}/rollback`, { json: { checkpoint } });
/** A branch that goes on from this checkpoint, or from the session as it is. */
export const fork = async (session: string, checkpoint?: string) =>
  (await callJson<{ sessions: T.Session[] }>(`${sessionPath(session)}/fork`, { json: checkpoint ? { checkpoint } : {} })).sessions;
export const diff = (session: string, from: string, to?: string) =>
  callJson<T.Diff>(`${sessionPath(session)}/diff`, { query: { from, to } });

// ---- conversations ----
export const listConversations = async () =>
  (await callJson<{ conversations: T.ConversationRow[] }>("/v1/conversations")).conversations;
export const makeConversation = (ask: { name?: string; session?: string; sandbox?: boolean }) =>
  callJson<T.ConversationRecord>("/v1/conversations", { json: ask });
export const getConversation = (id: string, signal?: AbortSignal) => callJson<T.ConversationRecord>(conversationPath(id), { signal });
export const putConversation = (
  id: string,
  put: { version: number; name?: string; session?: string | null; sandbox?: boolean; document?: T.Document },
) => callJson<T.ConversationRow>(conversationPath(id), { method: "PUT", json: put });
export const removeConversation = (id: string) => call(conversationPath(id), { method: "DELETE" });
/** null: nothing was kept. */
export const getOutput = async (id: string, cell: string): Promise<unknown> => {
  const response = await call(`${conversationPath(id)}/outputs/${encodeURIComponent(cell)}`);
  return response.status === 204 ? null : response.json();
};
export const putOutput = (id: string, cell: string, json: string) =>
  call(`${conversationPath(id)}/outputs/${encodeURIComponent(cell)}`, { method: "PUT", body: json });
export const removeOutput = (id: string, cell: string) =>
  call(`${conversationPath(id)}/outputs/${encodeURIComponent(cell)}`, { method: "DELETE" });

// ---- the daemon ----
export const feed = (after: number | undefined, signal: AbortSignal) =>
  stream<T.FeedEvent>("/v1/events", { query: { after }, signal });
export const status = () => callJson<T.Status>("/v1/status");
export const policies = async () => (await callJson<{ policies: T.Policy[] }>("/v1/policies")).policies;
export const packages = (runtime?: string) =>
  callJson<{ packages: { name: string; version: string }[] }>("/v1/packages", { query: { runtime } });
export const metrics = async () => (await call("/metrics")).text();
export const auditTail = async (limit = 100) =>
  (await callJson<{ lines: T.AuditLine[] }>("/v1/audit", { query: { limit } })).lines;
