// SPDX-License-Identifier: Apache-2.0
// What a panel shows of a session, loaded anew after each run and each change, and never in disorder: the answer of an
// older question does not replace that of a newer one.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api/client";
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
    load(session).then(
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
