// SPDX-License-Identifier: Apache-2.0
// Searching conversations: by name at once, and in the text of their cells, which is fetched from the daemon a few
// conversations at a time, the latest first. What was fetched stays here until it changes; all of it is bounded.
import { effect, signal } from "@preact/signals";
import * as calls from "../api/calls";
import type { ConversationRow } from "../api/types";
import { cellsOf } from "../state/conversation";
import { conversations } from "../state/conversations";

const REST_MS = 250; // after the last key
const WORD_MIN = 2; // letters; one is in everything
const LOOKED_MAX = 1000; // conversations
const AT_ONCE = 2; // a browser has six connections to a host, and others need them too
const TEXT_MAX = 200_000; // letters of one conversation
const KEPT_MAX = 8_000_000; // ... and of all that stay here
const SHOWN_MAX = 80;
const SHOWN_BEFORE = 12; // letters of a long line that stand before what was found

export const query = signal("");
export const linesFound = signal<ReadonlyMap<string, string>>(new Map()); // by conversation: where a word is in a cell
export const isLooking = signal(false);
export const isMoreLeft = signal(false); // older ones were not looked into

/** Letters as people search for them: without case and accents. */
const plain = (text: string) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

const wordsOf = (words: string) => plain(words).split(/\s+/).filter(Boolean);

/** Every word of the query is somewhere in the name. */
export function isFound(name: string, words: string): boolean {
  const text = plain(name);
  return wordsOf(words).every((word) => text.includes(word));
}

// ---- the text of cells ----
interface Kept {
  version: number;
  text: string;
  plain: string;
}
const kept = new Map<string, Kept>(); // the longest unused first
let letters = 0;

function drop(id: string): void {
  letters -= kept.get(id)?.text.length ?? 0;
  kept.delete(id);
}

async function textOf(row: ConversationRow, abort: AbortSignal): Promise<Kept> {
  let found = kept.get(row.id);
  if (found?.version !== row.version) {
    const record = await calls.getConversation(row.id, abort);
    const text = cellsOf(record).map(({ source }) => source).join("\n").slice(0, TEXT_MAX);
    found = { version: record.version, text, plain: plain(text) };
  }
  drop(row.id);
  kept.set(row.id, found);
  letters += found.text.length;
  for (const oldest of kept.keys()) {
    if (letters <= KEPT_MAX) break;
    drop(oldest);
  }
  return found;
}

/** The line to be shown for a conversation that has these words in its name or its cells; null: it has not. */
export function lineOf(name: string, text: Pick<Kept, "text" | "plain">, words: readonly string[]): string | null {
  const inName = plain(name);
  const missing = words.filter((word) => !inName.includes(word));
  if (missing.length === 0 || !missing.every((word) => text.plain.includes(word))) return null;
  for (const line of text.text.split("\n")) {
    const at = plain(line).indexOf(missing[0]!);
    if (at < 0) continue;
    const from = line.length > SHOWN_MAX ? Math.max(0, at - SHOWN_BEFORE) : 0;
    return (from ? "…" : "") + line.slice(from, from + SHOWN_MAX).trim();
  }
  return null;
}

async function look(words: readonly string[], rows: readonly ConversationRow[], abort: AbortSignal): Promise<void> {
  const left = rows.filter(({ cells }) => cells > 0).slice(0, LOOKED_MAX);
  const found = new Map<string, string>();
  isMoreLeft.value = rows.length > LOOKED_MAX;
  isLooking.value = true;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let row = left.shift(); row && !abort.aborted; row = left.shift()) {
      try {
        const line = lineOf(row.name, await textOf(row, abort), words);
        if (line === null || abort.aborted) continue;
        found.set(row.id, line);
        linesFound.value = new Map(found);
      } catch {
        // Deleted meanwhile, or the daemon is away: the list says so.
      }
    }
  }));
  if (abort.aborted) return;
  linesFound.value = found;
  isLooking.value = false;
}

/** Looks into cells whenever something is searched for; call once. */
export function watchSearch(): () => void {
  let controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let before = "";
  const stop = effect(() => {
    const words = wordsOf(query.value).filter((word) => word.length >= WORD_MIN);
    const rows = conversations.value;
    controller.abort();
    clearTimeout(timer);
    if (query.value !== before) linesFound.value = new Map();
    before = query.value;
    isLooking.value = words.length > 0;
    isMoreLeft.value = false;
    controller = new AbortController();
    const { signal: abort } = controller;
    if (words.length) timer = setTimeout(() => void look(words, rows, abort), REST_MS);
  });
  return () => {
    stop();
    controller.abort();
    clearTimeout(timer);
  };
}
