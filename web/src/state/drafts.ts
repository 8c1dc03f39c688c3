// SPDX-License-Identifier: Apache-2.0
// What could not be saved before the page went away, kept in this browser until it can: with what it was based on, so
// that it is merged into what others did meanwhile.
import { isCellRecord, type Snapshot } from "./merge";

export interface Draft {
  base: Snapshot;
  ours: Snapshot;
}

const keyOf = (id: string) => `vivarium.draft.${id}`;

function isSnapshot(value: unknown): value is Snapshot {
  const saved = value as Snapshot | null;
  return typeof saved === "object" && saved !== null && typeof saved.name === "string" && typeof saved.sandbox === "boolean" &&
    (saved.session === null || typeof saved.session === "string") && Array.isArray(saved.cells) && saved.cells.every(isCellRecord) &&
    (saved.runs === undefined || (Array.isArray(saved.runs) && saved.runs.every((run) => typeof run === "string")));
}

export function keepDraft(id: string, draft: Draft): void {
  try {
    localStorage.setItem(keyOf(id), JSON.stringify(draft));
  } catch {
    // No room, or a browser that keeps nothing: the page still has it while it is open.
  }
}

export function dropDraft(id: string): void {
  try {
    localStorage.removeItem(keyOf(id));
  } catch {
    // As above.
  }
}

export function loadDraft(id: string): Draft | null {
  try {
    const saved = JSON.parse(localStorage.getItem(keyOf(id)) ?? "null") as Draft | null;
    return saved && isSnapshot(saved.base) && isSnapshot(saved.ours) ? saved : null;
  } catch {
    return null;
  }
}
