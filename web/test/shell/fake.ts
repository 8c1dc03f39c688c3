// SPDX-License-Identifier: Apache-2.0
// A daemon in memory for tests of the shell: what api/calls would ask, answered from maps.
import { vi } from "vitest";
import { ApiError } from "../../src/api/client";
import type { CellRecord, ConversationRecord, ConversationRow, RunRow, Session } from "../../src/api/types";

export const daemon = {
  conversations: new Map<string, ConversationRecord>(),
  sessions: new Map<string, Session>(),
  runs: [] as RunRow[],
  token: "", // "": none is needed
  given: "", // the one that the page sends
  isAway: false,
  clock: 1000,
  reset(): void {
    Object.assign(daemon, { conversations: new Map(), sessions: new Map(), runs: [], token: "", given: "", isAway: false, clock: 1000 });
  },
  addSession(id: string, more: Partial<Session> = {}): Session {
    const session = { id, name: id, state: "idle", policy: "default", runtime: "base", used_ms: ++daemon.clock, ...more } as Session;
    daemon.sessions.set(id, session);
    return session;
  },
  addConversation(id: string, name: string, more: Partial<ConversationRecord> = {}): ConversationRecord {
    const now = ++daemon.clock;
    const record = { id, name, session: null, sandbox: true, cells: 0, version: 1, created_ms: now, changed_ms: now, document: { cells: [] }, ...more };
    daemon.conversations.set(id, record);
    return record;
  },
};

function check(): void {
  if (daemon.isAway) throw new ApiError(0, "away", "the daemon does not answer");
  if (daemon.token && daemon.given !== daemon.token) throw new ApiError(401, "unauthorized", "no or a wrong token");
}
function found<T>(value: T | undefined): T {
  if (value === undefined) throw new ApiError(404, "not_found", "no such thing");
  return value;
}
const rowOf = ({ document, ...rest }: ConversationRecord): ConversationRow => ({ ...rest, cells: document.cells.length });

export const calls = {
  listConversations: vi.fn(async () => (check(), [...daemon.conversations.values()].map(rowOf))),
  getConversation: vi.fn(async (id: string) => (check(), structuredClone(found(daemon.conversations.get(id))))),
  makeConversation: vi.fn(async ({ name = "Untitled", session = null, sandbox = true }: { name?: string; session?: string | null; sandbox?: boolean }) => {
    check();
    return structuredClone(daemon.addConversation(`cnv_${daemon.conversations.size + 1}`, name, { session, sandbox }));
  }),
  putConversation: vi.fn(async (id: string, put: { version: number; document?: { cells: CellRecord[] } }) => {
    check();
    const record = found(daemon.conversations.get(id));
    if (record.version !== put.version) throw new ApiError(409, "conflict", "another version");
    Object.assign(record, structuredClone(put), { version: put.version + 1, changed_ms: ++daemon.clock });
    return rowOf(record);
  }),
  removeConversation: vi.fn(async (id: string) => (check(), daemon.conversations.delete(id))),
  listSessions: vi.fn(async () => (check(), [...daemon.sessions.values()])),
  getSession: vi.fn(async (id: string) => (check(), found(daemon.sessions.get(id)))),
  makeSession: vi.fn(async ({ name }: { name: string }) => (check(), daemon.addSession(`ses_${daemon.sessions.size + 1}`, { name }))),
  renameSession: vi.fn(async (id: string, name: string) => Object.assign(found(daemon.sessions.get(id)), { name })),
  keepSession: vi.fn(async (id: string) => (check(), found(daemon.sessions.get(id)))),
  restartSession: vi.fn(async (id: string) => (check(), found(daemon.sessions.get(id)))),
  endSession: vi.fn(async (id: string) => (check(), daemon.sessions.delete(id))),
  listRuns: vi.fn(async ({ session }: { session?: string } = {}) => daemon.runs.filter((run) => !session || run.session === session)),
  runCode: vi.fn(async (id: string) => `code of ${id}`),
  status: vi.fn(async () => (check(), { version: "0.1.0", caller: { token: daemon.token ? "ann" : null, oversees: false }, runtimes: [{ name: "base", preload: [] }, { name: "bare", preload: [] }] })),
  policies: vi.fn(async () => (check(), [{ name: "default" }, { name: "large" }])),
};
