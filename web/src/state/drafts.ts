// SPDX-License-Identifier: Apache-2.0
// Changes that could not be saved before the page went away. This browser keeps them until they can be, together with the
// version they were based on, so that they are merged into others' changes. Each tab has a key of its own: none takes the
// text of another away.
import { isCellRecord, type Snapshot } from "./merge";

export interface Draft {
  base: Snapshot;
  ours: Snapshot;
}

/** A draft that is kept. */
export interface Kept {
  draft: Draft;
  key: string;
  text: string;
}

const keyOf = (id: string, tab: string) => `vivarium.draft.${id}.${tab}`;
const oldKeyOf = (id: string) => `vivarium.draft.${id}`; // older pages had one for all tabs

function keysOf(id: string): string[] {
  return Object.keys(localStorage).filter((key) => key === oldKeyOf(id) || key.startsWith(keyOf(id, ""))).sort();
}

function isSnapshot(value: unknown): value is Snapshot {
  const saved = value as Snapshot | null;
  return typeof saved === "object" && saved !== null && typeof saved.name === "string" && typeof saved.sandbox === "boolean" &&
    (saved.session === null || typeof saved.session === "string") && Array.isArray(saved.cells) && saved.cells.every(isCellRecord) &&
    (saved.runs === undefined || (Array.isArray(saved.runs) && saved.runs.every((run) => typeof run === "string")));
}

/** false: no room, or a browser that keeps nothing. The page still has it while it is open. */
export function keepDraft(id: string, tab: string, draft: Draft): boolean {
  try {
    localStorage.setItem(keyOf(id, tab), JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

export function dropDraft(id: string, tab: string): void {
  try {
    localStorage.removeItem(keyOf(id, tab));
  } catch {
    // As above.
  }
}

/** Drops one that was taken in, unless its tab has kept more since. */
export function dropKept({ key, text }: Kept): void {
  try {
    if (localStorage.getItem(key) === text) localStorage.removeItem(key);
  } catch {
    // As above.
  }
}

/** Drops those of every tab: the conversation was deleted. A list without it is no proof of that, since each token has a
 * list of its own. */
export function dropDrafts(id: string): void {
  try {
    for (const key of keysOf(id)) localStorage.removeItem(key);
  } catch {
    // As above.
  }
}

function parseDraft(text: string): Draft | null {
  try {
    const draft = JSON.parse(text) as Draft | null;
    return draft && isSnapshot(draft.base) && isSnapshot(draft.ours) ? draft : null;
  } catch {
    return null;
  }
}

/** Those of every tab. A draft that cannot be read is removed. */
export function loadDrafts(id: string): Kept[] {
  try {
    return keysOf(id).flatMap((key) => {
      const text = localStorage.getItem(key) ?? "";
      const draft = parseDraft(text);
      if (draft) return { draft, key, text };
      localStorage.removeItem(key);
      return [];
    });
  } catch {
    return [];
  }
}
