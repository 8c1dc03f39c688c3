// SPDX-License-Identifier: Apache-2.0
import { useEffect, useReducer } from "preact/hooks";

/** One clock for all that tick alike: ages that stand beside each other are of the same moment. */
class Clock {
  private now = 0;
  private timer: ReturnType<typeof setInterval> | undefined;
  private readonly readers = new Set<() => void>();

  constructor(private readonly everyMs: number) {}

  /** The time at the last tick. A clock without readers stands still, and is set here. */
  read(): number {
    if (this.readers.size === 0 && Math.abs(Date.now() - this.now) >= this.everyMs) this.now = Date.now();
    return this.now;
  }

  tell(reader: () => void): () => void {
    if (this.readers.size === 0) this.timer = setInterval(() => this.tick(), this.everyMs);
    this.readers.add(reader);
    return () => {
      this.readers.delete(reader);
      if (this.readers.size === 0) clearInterval(this.timer);
    };
  }

  private tick(): void {
    this.now = Date.now();
    for (const reader of this.readers) reader();
  }
}

const clocks = new Map<number, Clock>(); // by how often they tick

/** The time, told anew every so often: the same to all who ask as often. */
export function useNow(everyMs: number): number {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const clock = clocks.get(everyMs) ?? new Clock(everyMs);
  clocks.set(everyMs, clock);
  useEffect(() => clock.tell(() => draw(0)), [clock]);
  return clock.read();
}
