// SPDX-License-Identifier: Apache-2.0
// Loads a panel's view of a session again after each run and each change, and keeps the order: the answer to an older
// question does not replace that to a newer one.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { connection } from "../state/feed";

/** Counts what happened to each session that may have changed its variables, files or checkpoints. */
const pulses = signal<ReadonlyMap<string, number>>(new Map());

const due = new Set<string>();
const REST_MS = 40; // the end of a run, its checkpoint and its session's news come together: one look is enough

export function sessionChanged(session: string): void {
  if (due.has(session)) return;
  due.add(session);
  setTimeout(() => {
    due.delete(session);
    pulses.value = new Map(pulses.peek()).set(session, (pulses.peek().get(session) ?? 0) + 1);
  }, REST_MS);
}

export function pulseOf(session: string | null): number {
  return session === null ? 0 : (pulses.value.get(session) ?? 0);
}

export interface Loaded<T> {
  data: T | null;
  error: ApiError | Error | null;
  isLoading: boolean;
  reload: () => void;
}

const PAUSES_MS = [300, 1200]; // before a session that was not ready is asked again

/** A session that goes back or starts anew in this moment says so (409), and answers a little later. */
async function readily<T>(load: () => Promise<T>, isWanted: () => boolean): Promise<T> {
  for (const ms of PAUSES_MS) {
    try {
      return await load();
    } catch (cause) {
      if (!(cause instanceof ApiError && cause.status === 409)) throw cause;
      await new Promise((resolve) => setTimeout(resolve, ms));
      if (!isWanted()) throw cause;
    }
  }
  return load();
}

/** Loads when the session, the key or the session's pulse changes. What was there stays until the new is there. */
export function useLoad<T>(session: string | null, key: string, load: (session: string) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ of: string | null; data: T | null; error: Error | null; isLoading: boolean }>({
    of: null, data: null, error: null, isLoading: session !== null,
  });
  const [count, setCount] = useState(0);
  const asked = useRef(0);
  const pulse = pulseOf(session);

  useEffect(() => {
    if (session === null) {
      setState({ of: null, data: null, error: null, isLoading: false });
      return;
    }
    const number = ++asked.current;
    const of = `${session} ${key}`;
    setState((old) => ({ ...old, data: old.of === of ? old.data : null, of, isLoading: true }));
    readily(() => load(session), () => number === asked.current).then(
      (data) => number === asked.current && setState({ of, data, error: null, isLoading: false }),
      (cause: unknown) => {
        if (number !== asked.current) return;
        const error = cause instanceof Error ? cause : new Error(String(cause));
        setState((old) => ({ ...old, error, isLoading: false }));
      },
    );
    return () => void asked.current++;
  }, [session, key, pulse, count]);

  // When the daemon is back, what failed or grew old meanwhile is read by itself.
  const isOn = connection.value === "on";
  const wasOn = useRef(isOn);
  useEffect(() => {
    if (isOn && !wasOn.current) setCount((n) => n + 1);
    wasOn.current = isOn;
  }, [isOn]);

  return { data: state.data, error: state.error, isLoading: state.isLoading, reload: () => setCount((n) => n + 1) };
}
