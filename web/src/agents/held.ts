// SPDX-License-Identifier: Apache-2.0
// Runs that wait for a person. A card keeps its place from the moment it is shown until the reader clears it: what was
// decided, here or elsewhere, stays where it was, so that nothing ever moves under the pointer.
import { computed, signal } from "@preact/signals";
import { allowRun, denyRun, getRun, listHeld, status } from "../api/calls";
import { ApiError } from "../api/client";
import type { HeldRun, RunRow, Status } from "../api/types";
import { isRecord, ownText, own } from "../output/checks";
import { onReload, onRun, runs } from "../state/feed";
import { failed } from "../state/toasts";

export type Fate = "held" | "deciding" | "allowed" | "denied" | "elsewhere" | "late";

export interface Card {
  run: HeldRun;
  seenMs: number; // when it was first shown here
  fate: Fate;
  why?: string; // of one that was refused: what the person or the rule said
}

export const cards = signal<readonly Card[]>([]);
export const approve = signal<Status["approve"] | null>(null); // null: not known yet
export const moreHeld = signal(0); // that wait behind those that are listed
export const heldError = signal<Error | null>(null);

const CARDS_MAX = 200; // decided ones make room first
const REST_MS = 60;

export const isOpen = (card: Card) => card.fate === "held" || card.fate === "deciding";

/** How many runs wait. A person who may not see their code still sees, in the list of runs, that they wait. */
export const heldCount = computed(() =>
  cards.value.length > 0
    ? cards.value.filter(isOpen).length + moreHeld.value
    : runs.value.filter((row) => row.state === "held").length,
);

/** The fate of a run that waits no more and was not decided here. */
function fateOf(card: Card, row: RunRow | undefined): Fate {
  if (card.fate !== "held") return card.fate;
  if (row?.verdict === "denied" && Date.now() >= card.run.until_ms - 1000) return "late";
  return "elsewhere";
}

/** Known cards stay where they are; new ones go to the end. */
export function mergeHeld(old: readonly Card[], held: readonly HeldRun[], rows: readonly RunRow[], nowMs: number): Card[] {
  const waiting = new Map(held.map((run) => [run.id, run]));
  const known = new Set(old.map((card) => card.run.id));
  const kept = old.map((card) => {
    const run = waiting.get(card.run.id);
    if (run) return { ...card, run };
    return { ...card, fate: fateOf(card, rows.find((row) => row.id === card.run.id)) };
  });
  const fresh = held
    .filter((run) => !known.has(run.id))
    .toSorted((a, b) => a.held_ms - b.held_ms)
    .map((run) => ({ run, seenMs: nowMs, fate: "held" as const }));
  const all = [...kept, ...fresh];
  let surplus = all.length - CARDS_MAX;
  return all.filter((card) => surplus <= 0 || isOpen(card) || surplus-- <= 0).slice(0, CARDS_MAX);
}

const REFUSALS: readonly (string | null)[] = ["denied", "guard", "cancelled"];

/** Reads why a run was refused, once that is known: by a person here or elsewhere, by time, or by the guard behind them. */
async function askWhy({ run: { id } }: Card): Promise<void> {
  if (!REFUSALS.includes(runs.peek().find((row) => row.id === id)?.verdict ?? null)) return;
  const verdict = own(await getRun(id).catch(() => null), "verdict"); // who may not see it sees the fate alone
  if (!isRecord(verdict)) return;
  const why = ownText(verdict, "message", 1000);
  cards.value = cards.peek().map((card) => (card.run.id === id ? { ...card, why } : card));
}

let asked = 0;
export async function loadHeld(): Promise<void> {
  const mine = ++asked;
  try {
    const [about, { held, more = 0 }] = await Promise.all([status(), listHeld()]);
    if (mine !== asked) return;
    moreHeld.value = more;
    approve.value = about.approve ?? null;
    heldError.value = null;
    cards.value = mergeHeld(cards.peek(), held, runs.peek(), Date.now());
    for (const card of cards.peek()) if (!isOpen(card) && card.why === undefined) void askWhy(card);
  } catch (cause) {
    if (mine === asked) heldError.value = cause instanceof Error ? cause : new Error(String(cause));
  }
}

let due: ReturnType<typeof setTimeout> | null = null;
function loadSoon(): void {
  due ??= setTimeout(() => {
    due = null;
    void loadHeld();
  }, REST_MS);
}

export function clearDecided(): void {
  cards.value = cards.peek().filter(isOpen);
}

function setFate(id: string, fate: Fate): void {
  cards.value = cards.peek().map((card) => (card.run.id === id ? { ...card, fate } : card));
}

async function decide(card: Card, fate: "allowed" | "denied", deed: () => Promise<RunRow>): Promise<void> {
  const { id } = card.run;
  if (cards.peek().find((one) => one.run.id === id)?.fate !== "held") return;
  setFate(id, "deciding");
  try {
    await deed();
    setFate(id, fate);
  } catch (cause) {
    // 409: somebody else was first, or the time was up.
    const isLate = cause instanceof ApiError && (cause.status === 409 || cause.status === 404);
    setFate(id, isLate ? "elsewhere" : "held");
    failed(fate === "allowed" ? "allow the run" : "deny the run", cause);
  }
  loadSoon();
}

export const allow = (card: Card) => decide(card, "allowed", () => allowRun(card.run.id));
export const deny = (card: Card, why: string) => decide(card, "denied", () => denyRun(card.run.id, why || undefined));

/** Keeps the list; call once. */
export function watchHeld(): void {
  onReload(loadSoon);
  onRun((row) => {
    if (row.state === "held" || cards.peek().some((card) => card.run.id === row.id && card.why === undefined)) loadSoon();
  });
}
