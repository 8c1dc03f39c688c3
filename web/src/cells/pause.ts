// SPDX-License-Identifier: Apache-2.0
// Waiting for a daemon that is away: pauses that grow, and that end early when there is reason to try at once.
import { ApiError } from "../api/client";

const FIRST_MS = 200;
const LONGEST_MS = 5000;

/** True where the same call may well succeed a little later. */
export function isPassing(cause: unknown): boolean {
  return cause instanceof ApiError && (cause.isAway || cause.status === 429 || cause.status >= 500);
}

export const isAbort = (cause: unknown): boolean => cause instanceof DOMException && cause.name === "AbortError";
export const isGone = (cause: unknown): boolean => cause instanceof ApiError && cause.status === 404;

/** Ends after `ms`, when the network is back, or when `signal` says so. */
export function rest(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    addEventListener("online", end);
    signal?.addEventListener("abort", end);
  });
}

export class Pauses {
  private next = FIRST_MS;

  reset(): void {
    this.next = FIRST_MS;
  }

  async take(signal?: AbortSignal): Promise<void> {
    const ms = this.next;
    this.next = Math.min(this.next * 2, LONGEST_MS);
    await rest(ms, signal);
  }
}

/** Does it again until the daemon answers; what would fail each time is thrown. */
export async function patiently<T>(deed: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const pauses = new Pauses();
  for (;;) {
    try {
      return await deed();
    } catch (cause) {
      if (!isPassing(cause) || signal?.aborted) throw cause;
    }
    await pauses.take(signal);
  }
}
