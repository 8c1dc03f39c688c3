// SPDX-License-Identifier: Apache-2.0
// The session behind a conversation: made when it is first needed, and made again when it has ended.
import { signal } from "@preact/signals";
import { ApiError } from "../api/client";
import * as calls from "../api/calls";
import type { Session } from "../api/types";
import type { Conversation } from "./conversation";
import { connection, sessions } from "./feed";
import { isOthers } from "./self";
import { settings } from "./settings";
import { toast } from "./toasts";

const NAME_BYTES_MAX = 200;
const making = new Map<string, Promise<string>>(); // by conversation

/** Conversations whose session is being restarted from here: it is not ready, whatever the feed still tells. */
export const restarting = signal<ReadonlyMap<string, Promise<unknown>>>(new Map());

/** Cells that are run meanwhile wait for it. */
export function whileRestarting<T>(conversation: Conversation, deed: () => Promise<T>): Promise<T> {
  const promise = deed().finally(() => {
    const left = new Map(restarting.peek());
    left.delete(conversation.id);
    restarting.value = left;
  });
  restarting.value = new Map(restarting.peek()).set(conversation.id, promise);
  return promise;
}

/** A name as the daemon takes it: no longer than its limit in UTF-8, and not cut within a character. */
export function sessionName(name: string): string {
  const encoder = new TextEncoder();
  let short = name;
  while (encoder.encode(short).length > NAME_BYTES_MAX) short = [...short].slice(0, -1).join("");
  return short;
}

/** The session, or null when there is none to go on with; `why` it is lost where the daemon knows. */
async function find(id: string): Promise<{ session: Session | null; why: string }> {
  const known = connection.peek() === "on" ? sessions.peek().get(id) : undefined;
  if (known && known.state !== "lost") return { session: known, why: "" };
  try {
    const session = await calls.getSession(id);
    return session.state === "lost" ? { session: null, why: session.why ?? "" } : { session, why: "" };
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === 404) return { session: null, why: "" };
    throw cause;
  }
}

async function make(conversation: Conversation): Promise<string> {
  const { policy, runtime } = { ...settings.peek(), ...conversation.use.peek() };
  const session = await calls.makeSession({
    name: sessionName(conversation.name.peek()),
    policy: policy || undefined,
    runtime: runtime || undefined,
    keep: true, // it lives as long as the conversation
  });
  sessions.value = new Map(sessions.peek()).set(session.id, session);
  conversation.session.value = session.id;
  void conversation.save(); // at once: a refresh in the middle of the first run must find it
  return session.id;
}

async function ensure(conversation: Conversation): Promise<string> {
  await restarting.peek().get(conversation.id)?.catch(() => {}); // who asked for it says why it failed
  const before = conversation.session.peek();
  if (!before) return make(conversation);
  const { session, why } = await find(before);
  if (session && isOthers(session)) {
    throw new ApiError(403, "forbidden", `the session belongs to ${session.token}`, "you can look at it; code of your own runs in a conversation of your own");
  }
  if (session) return session.id;
  const made = await make(conversation);
  conversation.undoAll("ended");
  toast(`The session had ended${why ? ` (${why})` : ""}: a new one goes on. Its variables are gone; run the cells again.`);
  return made;
}

/** The id of a session that can run cells. */
export function ensureSession(conversation: Conversation): Promise<string> {
  const asked = making.get(conversation.id);
  if (asked) return asked;
  const promise = ensure(conversation).finally(() => making.delete(conversation.id));
  making.set(conversation.id, promise);
  return promise;
}
