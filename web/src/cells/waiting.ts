// SPDX-License-Identifier: Apache-2.0
// The queue of cells, kept by this tab: a refresh must not forget it. The browser does not keep it, or another tab would
// run the cells as well.

export interface Waiting {
  cell: string;
  run: string | null; // that was made for it already
}

const keyOf = (conversation: string) => `vivarium.queue.${conversation}`;

function isWaiting(value: unknown): value is Waiting {
  const saved = value as Waiting | null;
  return typeof saved === "object" && saved !== null && typeof saved.cell === "string" && (saved.run === null || typeof saved.run === "string");
}

export function remember(conversation: string, turns: readonly Waiting[]): void {
  try {
    if (turns.length) sessionStorage.setItem(keyOf(conversation), JSON.stringify(turns));
    else sessionStorage.removeItem(keyOf(conversation));
  } catch {
    // A browser that keeps nothing: the queue lasts as long as the page.
  }
}

export function recall(conversation: string): Waiting[] {
  try {
    const saved: unknown = JSON.parse(sessionStorage.getItem(keyOf(conversation)) ?? "[]");
    return Array.isArray(saved) ? saved.filter(isWaiting) : [];
  } catch {
    return [];
  }
}

/** Is this the same page again? A tab that was copied or brought back has the memory of another one. */
export function isRefreshed(): boolean {
  const [entry] = performance.getEntriesByType("navigation");
  return entry !== undefined && (entry as PerformanceNavigationTiming).type === "reload";
}
