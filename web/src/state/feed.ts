// SPDX-License-Identifier: Apache-2.0
// The daemon's events as they happen: one stream per visible tab. After the daemon was away, the stream goes on where it
// was; where that is not possible, everything is loaded again.
import { batch, signal } from "@preact/signals";
import * as calls from "../api/calls";
import { ApiError, reachability } from "../api/client";
import type { FeedEvent, RunRow, Session } from "../api/types";

const PAUSES_MS = [300, 1000, 2000, 3000, 5000, 8000];
const SILENCE_MS = 40_000; // the daemon says something every 15 s
const HIDDEN_MS = 3000; // a tab that is only passed by keeps its stream
const RUNS_MAX = 200;

export const connection = signal<"connecting" | "on" | "away" | "unauthorized">("connecting");
export const retryAtMs = signal<number | null>(null); // when the next try is, while the daemon is away
export const sessions = signal<ReadonlyMap<string, Session>>(new Map());
export const runs = signal<readonly RunRow[]>([]); // newest first

type Listener<T> = (value: T) => void;
function listeners<T>() {
  const all = new Set<Listener<T>>();
  return {
    add(listener: Listener<T>): () => void {
      all.add(listener);
      return () => void all.delete(listener);
    },
    tell(value: T): void {
      for (const listener of all) listener(value);
    },
  };
}

const runListeners = listeners<RunRow>();
const conversationListeners = listeners<{ id: string; version: number | null }>();
const reloadListeners = listeners<void>();
/** A run was held, began or ended. */
export const onRun = runListeners.add;
/** A conversation was saved, or deleted (`version` null). */
export const onConversation = conversationListeners.add;
/** Everything has to be loaded anew: at the start, and when events were missed. */
export const onReload = reloadListeners.add;

let boot: string | null = null;
let lastSeq: number | undefined;
let isFresh = false; // everything was loaded after this stream had said hello: a reset that follows asks for no more
let helloSeq = 0;

export function putRun(list: readonly RunRow[], row: RunRow): readonly RunRow[] {
  const at = list.findIndex((other) => other.id === row.id);
  return at >= 0 ? list.with(at, row) : [row, ...list].slice(0, RUNS_MAX);
}

async function reload(): Promise<void> {
  const [sessionList, runList] = await Promise.all([calls.listSessions(), calls.listRuns({ limit: RUNS_MAX })]);
  batch(() => {
    sessions.value = new Map(sessionList.map((session) => [session.id, session]));
    runs.value = runList;
  });
  reloadListeners.tell();
}

async function take(event: FeedEvent): Promise<void> {
  switch (event.type) {
    case "hello":
      helloSeq = event.seq;
      isFresh = boot !== event.boot || lastSeq === undefined;
      if (isFresh) {
        await reload();
        lastSeq = event.seq;
      }
      boot = event.boot;
      return;
    case "reset":
      if (!isFresh) await reload();
      lastSeq = helloSeq;
      return;
    case "session":
      sessions.value = new Map(sessions.value).set(event.session.id, event.session);
      break;
    case "session_gone": {
      const left = new Map(sessions.value);
      left.delete(event.id);
      sessions.value = left;
      break;
    }
    case "run":
      runs.value = putRun(runs.value, event.run);
      runListeners.tell(event.run);
      break;
    case "conversation":
      conversationListeners.tell({ id: event.id, version: event.version });
      break;
    case "conversation_gone":
      conversationListeners.tell({ id: event.id, version: null });
      break;
    case "keepalive":
      return;
  }
  lastSeq = event.seq;
  isFresh = false;
}

let controller: AbortController | null = null; // of the stream that is open or being opened
let wake: (() => void) | null = null; // ends the pause between two tries
let isStarted = false;

/** One stream, to its end. */
async function listen(onOpen: () => void): Promise<void> {
  const own = (controller = new AbortController());
  let watchdog: ReturnType<typeof setTimeout> | undefined;
  const isAlive = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => own.abort(), SILENCE_MS);
  };
  try {
    isAlive();
    for await (const event of calls.feed(lastSeq, own.signal)) {
      isAlive();
      await take(event);
      onOpen();
    }
  } finally {
    clearTimeout(watchdog);
    if (controller === own) controller = null;
    own.abort(); // also where a list could not be loaded: the stream must not stay open behind our back
  }
}

function pause(ms: number | null): Promise<void> {
  return new Promise<void>((resolve) => {
    const timer = ms === null ? undefined : setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  }).then(() => {
    wake = null;
  });
}

async function untilVisible(): Promise<void> {
  while (document.hidden && isStarted) await pause(null);
}

async function run(): Promise<void> {
  for (let failures = 0; isStarted; ) {
    await untilVisible();
    retryAtMs.value = null;
    try {
      await listen(() => {
        failures = 0;
        connection.value = "on";
      });
      failures++; // a daemon that stops ends its streams: it is asked again, after a pause
    } catch (cause) {
      if (document.hidden || !isStarted) continue;
      failures++;
      const isUnauthorized = cause instanceof ApiError && cause.status === 401;
      connection.value = isUnauthorized ? "unauthorized" : "away";
      if (isUnauthorized) {
        await pause(null);
        continue;
      }
    }
    const ms = PAUSES_MS[Math.min(failures, PAUSES_MS.length) - 1]!;
    if (connection.value === "away") retryAtMs.value = Date.now() + ms;
    await pause(ms);
  }
}

/** Tries at once: somebody clicked, the token changed, or another call got through. */
export function retryNow(): void {
  if (connection.value !== "on") connection.value = "connecting";
  wake?.();
}

/** Starts over as somebody else: what the other token could see is gone. */
export function restartFeed(): void {
  boot = null;
  lastSeq = undefined;
  connection.value = "connecting";
  batch(() => {
    sessions.value = new Map();
    runs.value = [];
  });
  controller?.abort();
  wake?.();
}

/** Begins, once; the answer ends it. */
export function startFeed(): () => void {
  if (isStarted) return () => {};
  isStarted = true;
  reachability.report = (isReached) => {
    if (isReached && connection.value === "away") wake?.();
  };
  const ends = new AbortController();
  let hidden: ReturnType<typeof setTimeout> | undefined;
  const onVisibility = () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(() => controller?.abort(), HIDDEN_MS);
    else wake?.();
  };
  document.addEventListener("visibilitychange", onVisibility, { signal: ends.signal });
  addEventListener("online", () => wake?.(), { signal: ends.signal });
  void run();
  return () => {
    isStarted = false;
    clearTimeout(hidden);
    ends.abort();
    controller?.abort();
    wake?.();
  };
}
