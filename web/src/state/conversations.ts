// SPDX-License-Identifier: Apache-2.0
// The list of conversations, and the one that is open.
import { effect, signal } from "@preact/signals";
import * as calls from "../api/calls";
import { ApiError } from "../api/client";
import type { CellRecord, ConversationRow, RunRow, Use } from "../api/types";
import { Conversation, documentOf } from "./conversation";
import { dropDrafts } from "./drafts";
import { connection, onConversation, onReload, sessions } from "./feed";
import { go, route } from "./route";
import { sessionName } from "./session";
import { settings } from "./settings";
import { UNTITLED } from "./title";
import { closeHere, failed, toast } from "./toasts";

const REST_MS = 250;
const RUNS_MAX = 100; // of a session that becomes a conversation

export const conversations = signal<readonly ConversationRow[]>([]); // latest change first
export const isListed = signal(false); // the list has been loaded once
export const current = signal<Conversation | null>(null);
current.subscribe(closeHere);

const mergeListeners = new Set<(conversation: Conversation) => void>();
/** Others' changes came into a conversation: there may be outputs to read. */
export function onMerged(listener: (conversation: Conversation) => void): () => void {
  mergeListeners.add(listener);
  return () => void mergeListeners.delete(listener);
}

export const newestFirst = (rows: readonly ConversationRow[]) => rows.toSorted((a, b) => b.changed_ms - a.changed_ms);

function putRow(row: ConversationRow): void {
  conversations.value = newestFirst([row, ...conversations.peek().filter((other) => other.id !== row.id)]);
}

function dropRow(id: string): void {
  conversations.value = conversations.peek().filter((row) => row.id !== id);
}

async function loadList(): Promise<void> {
  try {
    conversations.value = newestFirst(await calls.listConversations());
    isListed.value = true;
  } catch (cause) {
    if (!(cause instanceof ApiError && (cause.isAway || cause.status === 401))) failed("list the conversations", cause);
  }
}

let listTimer: ReturnType<typeof setTimeout> | null = null;
function loadListSoon(): void {
  listTimer ??= setTimeout(() => {
    listTimer = null;
    void loadList();
  }, REST_MS);
}

function adopt(conversation: Conversation): Conversation {
  conversation.onSaved = putRow;
  conversation.onGone = () => goneElsewhere(conversation);
  conversation.onMerged = () => mergeListeners.forEach((listener) => listener(conversation));
  return conversation;
}

function setCurrent(conversation: Conversation | null): void {
  const before = current.peek();
  if (before && before !== conversation) void before.save();
  current.value = conversation;
}

let opening = 0; // of several that are asked for the last one counts

/** Opens it; the promise fails with an ApiError when it cannot be read. */
export async function openConversation(id: string): Promise<Conversation> {
  const mine = ++opening;
  const open = current.peek();
  if (open?.id === id && open.saving.peek() !== "gone") return open;
  const conversation = adopt(new Conversation(await calls.getConversation(id)));
  if (mine === opening) setCurrent(conversation);
  return conversation;
}

export interface NewConversation {
  name?: string;
  cells?: readonly CellRecord[];
  sandbox?: boolean;
  session?: string;
  use?: Use;
}

/** Makes one and opens it. */
export async function createConversation(ask: NewConversation = {}): Promise<Conversation> {
  const { cells = [], use, name = UNTITLED, sandbox = settings.peek().sandboxByDefault, session } = ask;
  const mine = ++opening;
  const record = await calls.makeConversation({ name: sessionName(name.trim()) || UNTITLED, sandbox, session });
  if (cells.length) {
    const document = documentOf(cells, use);
    const row = await calls.putConversation(record.id, { version: record.version, document });
    Object.assign(record, row, { document });
  }
  const { document: _, ...row } = record;
  putRow({ ...row, cells: cells.length });
  const conversation = adopt(new Conversation(record));
  if (mine === opening) {
    setCurrent(conversation);
    go(`#/c/${conversation.id}`);
  }
  return conversation;
}

/** Its session is called the same, so that `viv session list` knows it too. */
export async function renameConversation(id: string, name: string): Promise<void> {
  const short = sessionName(name.trim());
  if (!short) return;
  const open = current.peek();
  const row = conversations.peek().find((other) => other.id === id);
  if (open?.id === id) {
    open.name.value = short;
    await open.save();
  } else {
    const { version } = await calls.getConversation(id);
    putRow(await calls.putConversation(id, { version, name: short }));
  }
  const session = open?.id === id ? open.session.peek() : row?.session;
  if (session && sessions.peek().has(session)) await calls.renameSession(session, short).catch(() => {}); // it may just have ended
}

const isDeleting = new Set<string>();

/** Also ends its session, unless another conversation goes on with it. */
export async function deleteConversation(id: string): Promise<void> {
  const open = current.peek();
  const row = conversations.peek().find((other) => other.id === id);
  const session = open?.id === id ? open.session.peek() : row?.session;
  const isKept = session ? sessions.peek().get(session)?.keep : false; // then the daemon ends it with the conversation
  isDeleting.add(id); // the feed tells of it too, and may be faster than the answer
  try {
    await calls.removeConversation(id);
  } finally {
    isDeleting.delete(id);
  }
  forget(id);
  const isShared = conversations.peek().some((other) => other.session === session);
  if (session && !isShared && !isKept) await calls.endSession(session).catch(() => {}); // it may have ended by itself
}

function forget(id: string): void {
  dropRow(id);
  dropDrafts(id);
  const open = current.peek();
  if (open?.id !== id) return;
  open.lose();
  if (route.peek().page === "conversation") go("#/"); // first: else its page would ask for it once more
  current.value = null;
}

/** Another client deleted the open conversation: its text on the screen can still be saved. */
function goneElsewhere(conversation: Conversation): void {
  if (conversation.saving.peek() === "gone" || isDeleting.has(conversation.id)) return;
  const { name, sandbox, use, cells } = conversation.snapshot();
  const bringBack = () => void createConversation({ name, sandbox, use, cells }).catch((cause) => failed(`bring back "${name}"`, cause));
  forget(conversation.id);
  toast(`"${name}" was deleted elsewhere`, "info", "", { label: "Bring it back", run: bringBack });
}

async function cellOf(run: RunRow): Promise<CellRecord> {
  const source = await calls.runCode(run.id).catch(() => run.line ?? "");
  return { id: `r${run.id}`, kind: "code", source, run: run.id, who: run.who };
}

const opened = new Map<string, Promise<Conversation>>(); // sessions that are being opened

async function conversationOf(session: string): Promise<Conversation> {
  if (!isListed.peek()) await loadList();
  const row = conversations.peek().find((other) => other.session === session);
  if (row) return openConversation(row.id);
  const [about, rows] = await Promise.all([calls.getSession(session), calls.listRuns({ session, limit: RUNS_MAX })]);
  const oldestFirst = rows.toSorted((a, b) => a.begun_ms - b.begun_ms);
  const cells = await Promise.all(oldestFirst.map(cellOf));
  return createConversation({ name: about.name || `Session ${session.slice(4, 10)}`, session, sandbox: true, cells });
}

/** A session that an agent made: its conversation is found, or made from its runs. */
export function openSession(session: string): Promise<Conversation> {
  const promise = opened.get(session) ?? conversationOf(session).finally(() => opened.delete(session));
  opened.set(session, promise);
  return promise;
}

/** Takes part in what others do to conversations; call once. */
export function watchConversations(): void {
  onReload(() => {
    void loadList();
    const open = current.peek();
    if (open) void open.pull(Infinity);
  });
  onConversation(({ id, version }) => {
    const open = current.peek();
    if (version === null) {
      if (open?.id === id) goneElsewhere(open);
      forget(id);
      return;
    }
    const known = conversations.peek().find((row) => row.id === id);
    if (!known || known.version < version) loadListSoon();
    if (open?.id === id) void open.pull(version);
  });
  effect(() => {
    // Changes that could not be saved while the daemon was away are saved when it is back.
    if (connection.value === "on" && current.peek()?.saving.peek() === "failed") void current.peek()?.save();
  });
  addEventListener("pagehide", () => current.peek()?.keep());
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) void current.peek()?.save();
  });
}
