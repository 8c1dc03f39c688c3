// SPDX-License-Identifier: Apache-2.0
// Two changed one conversation at the same time: what comes of it. Pure, so that every case can be tested.
//
// Should:   take each side's change where only one side changed a thing; keep both where both did.
// Must not: lose a text that somebody typed, on either side.
import type { CellRecord, Use } from "../api/types";

/** The part of a conversation that is saved. */
export interface Snapshot {
  name: string;
  session: string | null;
  sandbox: boolean;
  use?: Use;
  cells: readonly CellRecord[];
  runs?: readonly string[]; // that its cells made, the last ones: a cell knows only its present one
}

const RUNS_MAX = 100; // those that nobody may hear of any more

export const lastRuns = (runs: readonly string[]): readonly string[] => runs.slice(-RUNS_MAX);

/** Documents come from whoever has the token, in whatever version: a cell that is none is left out. */
export function isCellRecord(value: unknown): value is CellRecord {
  const cell = value as CellRecord | null;
  return typeof cell === "object" && cell !== null && typeof cell.id === "string" && /^[A-Za-z0-9_-]{1,64}$/.test(cell.id) &&
    typeof cell.source === "string" && (cell.kind === "code" || cell.kind === "note") &&
    (cell.run === null || typeof cell.run === "string") && (cell.who === undefined || typeof cell.who?.via === "string");
}

export interface Merged extends Snapshot {
  kept: string[]; // ids of cells that were added because both sides had rewritten one
}

/** One side's value where only it changed; `ours` where both did. */
function pick<T>(base: T, ours: T, theirs: T): T {
  return ours === base ? theirs : ours;
}

/** Where `text` differs from `base`: from, and to in each of them. */
function changed(base: readonly string[], text: readonly string[]): { from: number; baseTo: number; to: number } {
  const most = Math.min(base.length, text.length);
  let from = 0;
  while (from < most && base[from] === text[from]) from++;
  let tail = 0;
  while (tail < most - from && base[base.length - 1 - tail] === text[text.length - 1 - tail]) tail++;
  return { from, baseTo: base.length - tail, to: text.length - tail };
}

/** Both changes in one text where they are in different lines, with one untouched line between; null where not. */
export function mergeText(base: string, ours: string, theirs: string): string | null {
  if (ours === theirs || theirs === base) return ours;
  if (ours === base) return theirs;
  const lines = base.split("\n");
  const sides = [ours, theirs].map((text) => {
    const split = text.split("\n");
    return { split, ...changed(lines, split) };
  });
  const [first, second] = sides.sort((a, b) => a.from - b.from || a.baseTo - b.baseTo) as [typeof sides[0], typeof sides[0]];
  if (first.baseTo >= second.from) return null;
  return [
    ...first.split.slice(0, first.to),
    ...lines.slice(first.baseTo, second.from),
    ...second.split.slice(second.from),
  ].join("\n");
}

function mergeCell(base: CellRecord | undefined, ours: CellRecord, theirs: CellRecord): { cell: CellRecord; other: string | null } {
  const before = base ?? { ...theirs, source: "", run: null };
  const source = mergeText(before.source, ours.source, theirs.source);
  const isRewritten = source === null && theirs.source.trim() !== "";
  const { mark: _mark, timeout_ms: _timeout, ran: _ran, ...rest } = theirs;
  const run = pick(before.run, ours.run, theirs.run);
  const marked = run === ours.run && run === theirs.run ? pick(before.mark ?? null, ours.mark ?? null, theirs.mark ?? null)
    : run === ours.run ? ours.mark : theirs.mark; // a mark is that of a run
  const shown = run === ours.run ? ours : theirs;
  const ran = shown.ran ?? shown.source; // the code of the run, whoever has edited it since
  const timeout = pick(before.timeout_ms ?? null, ours.timeout_ms ?? null, theirs.timeout_ms ?? null);
  return {
    cell: {
      ...rest,
      kind: pick(before.kind, ours.kind, theirs.kind),
      source: source ?? ours.source,
      run,
      ...(marked && { mark: marked }),
      ...(timeout && { timeout_ms: timeout }),
      ...(run && ran !== (source ?? ours.source) && { ran }),
      ...((ours.who ?? theirs.who) && { who: ours.who ?? theirs.who }),
    },
    other: isRewritten ? theirs.source : null,
  };
}

const byId = (cells: readonly CellRecord[]) => new Map(cells.map((cell) => [cell.id, cell]));

/** The cells that all three have, in the order of one of them. */
function commonOrder(cells: readonly CellRecord[], ...others: ReadonlyMap<string, CellRecord>[]): string {
  return cells.filter(({ id }) => others.every((other) => other.has(id))).map(({ id }) => id).join(" ");
}

/** `order` with what only `others` has put behind the one it stands behind there. */
function weave(order: readonly string[], others: readonly string[]): string[] {
  const woven = [...order];
  const known = new Set(order);
  others.forEach((id, i) => {
    if (known.has(id)) return;
    known.add(id);
    woven.splice(i === 0 ? 0 : woven.indexOf(others[i - 1]!) + 1, 0, id);
  });
  return woven;
}

function mergeCells(
  base: readonly CellRecord[], ours: readonly CellRecord[], theirs: readonly CellRecord[], newId: () => string,
): { cells: CellRecord[]; kept: string[] } {
  const [before, here, there] = [byId(base), byId(ours), byId(theirs)];
  const isMovedHere = commonOrder(ours, before, there) !== commonOrder(base, here, there);
  const [leading, following] = isMovedHere ? [ours, theirs] : [theirs, ours];
  const order = weave(leading.map(({ id }) => id), following.map(({ id }) => id));

  const cells: CellRecord[] = [];
  const kept: string[] = [];
  for (const id of order) {
    const [was, our, their] = [before.get(id), here.get(id), there.get(id)];
    if (our && their) {
      const { cell, other } = mergeCell(was, our, their);
      cells.push(cell);
      if (other === null || [...ours, ...theirs].some(({ id: same, source }) => same !== id && source === other)) continue;
      const copy = { id: newId(), kind: their.kind, source: other, run: null };
      cells.push(copy);
      kept.push(copy.id);
    } else {
      // Only one side has it: new there, or deleted by the other, which counts unless the text was changed since.
      const left = (our ?? their)!;
      if (!was || left.source !== was.source) cells.push(left);
    }
  }
  return { cells, kept };
}

/** The runs that either side has added. */
function mergeRuns(base: readonly string[] = [], ours: readonly string[] = [], theirs: readonly string[] = []): readonly string[] {
  return lastRuns([...theirs, ...ours.filter((run) => !base.includes(run) && !theirs.includes(run))]);
}

export function merge(base: Snapshot, ours: Snapshot, theirs: Snapshot, newId: () => string): Merged {
  return {
    name: pick(base.name, ours.name, theirs.name),
    session: pick(base.session, ours.session, theirs.session),
    sandbox: pick(base.sandbox, ours.sandbox, theirs.sandbox),
    use: isSameUse(base.use, ours.use) ? theirs.use : ours.use,
    runs: mergeRuns(base.runs, ours.runs, theirs.runs),
    ...mergeCells(base.cells, ours.cells, theirs.cells, newId),
  };
}

const isSameUse = (a: Use = {}, b: Use = {}) => a.policy === b.policy && a.runtime === b.runtime && a.timeout_ms === b.timeout_ms;

export function isSame(a: Snapshot, b: Snapshot): boolean {
  return (
    a.name === b.name && a.session === b.session && a.sandbox === b.sandbox && isSameUse(a.use, b.use) &&
    (a.runs ?? []).join() === (b.runs ?? []).join() && a.cells.length === b.cells.length &&
    a.cells.every((cell, i) => {
      const other = b.cells[i]!;
      return cell.id === other.id && cell.kind === other.kind && cell.source === other.source && cell.run === other.run &&
        (cell.mark ?? null) === (other.mark ?? null) && (cell.timeout_ms ?? null) === (other.timeout_ms ?? null);
    })
  );
}
