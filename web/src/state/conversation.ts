// SPDX-License-Identifier: Apache-2.0
// A conversation that is open: its cells, and how they are kept. The daemon has the truth; what is typed here goes there
// after a short rest. Where somebody else was faster, both changes are merged (state/merge.ts) and saved again.
import { batch, signal, type Signal } from "@preact/signals";
import { ApiError } from "../api/client";
import * as calls from "../api/calls";
import type { CellKind, CellMark, CellRecord, ConversationRecord, ConversationRow, RunPhase, Use, Who } from "../api/types";
import { countOf, own, ownText } from "../output/checks";
import { Output } from "../output/model";
import { dropDraft, dropKept, keepDraft, loadDrafts, type Kept } from "./drafts";
import { isCellRecord, isSame, lastRuns, merge, type Snapshot } from "./merge";
import { failed, toast } from "./toasts";

const REST_MS = 400;
const TRIES_MAX = 6;
const PAUSES_MS = [1000, 2000, 5000, 10_000, 30_000]; // before a save that failed is tried again

const MARKS: readonly unknown[] = ["stale", "undone", "restarted", "rolled_back", "ended", "apart"] satisfies CellMark[];
/** Whether the variables that the run set are not in the session. */
export const isGoneMark = (mark: CellMark | null): boolean => mark !== null && mark !== "stale";
const markOf = ({ mark = null }: CellRecord): CellMark | null => (MARKS.includes(mark) ? mark : null);

/** Documents come from whoever has the token: what is no setting is left out. */
function useOf(record: ConversationRecord): Use {
  const use: unknown = record.document?.use;
  const [policy, runtime, timeout_ms] = [ownText(use, "policy", 100), ownText(use, "runtime", 100), countOf(own(use, "timeout_ms"))];
  return { ...(policy && { policy }), ...(runtime && { runtime }), ...(timeout_ms && { timeout_ms }) };
}

function runsOf(record: ConversationRecord): readonly string[] {
  const runs: unknown = record.document?.runs;
  return Array.isArray(runs) ? lastRuns(runs.filter((run) => typeof run === "string")) : [];
}

const ranOf = ({ ran, source }: CellRecord): string => (typeof ran === "string" ? ran : source);

export class Cell {
  readonly id: string;
  readonly kind: Signal<CellKind>;
  readonly source: Signal<string>;
  readonly output: Signal<Output | null>;
  readonly phase: Signal<RunPhase | "idle">;
  readonly who: Signal<Who | null>; // of a run that no page started
  readonly mark: Signal<CellMark | null>; // what became of its result since it ran
  readonly timeoutMs: Signal<number | null>; // of its runs; null: as the conversation says
  readonly ran: Signal<string>; // the code of the run that is shown

  constructor(record: CellRecord) {
    this.id = record.id;
    this.kind = signal(record.kind);
    this.source = signal(record.source);
    this.output = signal(record.run ? new Output(record.run) : null);
    this.phase = signal("idle");
    this.who = signal(record.who ?? null);
    this.mark = signal(markOf(record));
    this.timeoutMs = signal(countOf(record.timeout_ms));
    this.ran = signal(ranOf(record));
  }

  record(): CellRecord {
    const who = this.who.peek();
    const run = this.output.peek()?.run ?? null;
    const [mark, timeout_ms, ran] = [this.mark.peek(), this.timeoutMs.peek(), this.ran.peek()];
    return {
      id: this.id, kind: this.kind.peek(), source: this.source.peek(), run,
      ...(who && { who }), ...(mark && { mark }), ...(timeout_ms && { timeout_ms }), ...(run && ran !== this.source.peek() && { ran }),
    };
  }

  /** Takes what somebody else made of it. */
  accept(record: CellRecord): void {
    this.kind.value = record.kind;
    this.source.value = record.source;
    this.who.value = record.who ?? this.who.peek();
    this.mark.value = markOf(record);
    this.timeoutMs.value = countOf(record.timeout_ms);
    this.ran.value = ranOf(record);
    const run = this.output.peek()?.run ?? null;
    if (record.run !== run) this.output.value = record.run ? new Output(record.run) : null;
  }
}

export function newId(): string {
  return "c" + Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function newCell(kind: CellKind = "code", source = ""): Cell {
  return new Cell({ id: newId(), kind, source, run: null });
}

/** Ids are what everything here goes by: a second cell with one that is taken is left out, too. */
export function cellsOf(record: ConversationRecord): CellRecord[] {
  const cells: unknown = record.document?.cells;
  if (!Array.isArray(cells)) return [];
  return [...new Map(cells.filter(isCellRecord).map((cell) => [cell.id, cell])).values()];
}

export const documentOf = (cells: readonly CellRecord[], use: Use = {}, runs: readonly string[] = []) =>
  ({ cells: [...cells], ...(Object.keys(use).length > 0 && { use }), ...(runs.length > 0 && { runs: [...runs] }) });

/** Whether the same may be taken later: nobody answered, or who did could not do it now. */
const isPassing = (cause: unknown) =>
  cause instanceof ApiError && (cause.isAway || cause.status >= 500 || [408, 409, 429].includes(cause.status));
const isGone = (cause: unknown) => cause instanceof ApiError && cause.status === 404;

const snapshotOf = (record: ConversationRecord): Snapshot => ({
  name: record.name, session: record.session, sandbox: record.sandbox, use: useOf(record), cells: cellsOf(record), runs: runsOf(record),
});

export class Conversation {
  readonly id: string;
  readonly name: Signal<string>;
  readonly session: Signal<string | null>;
  readonly sandbox: Signal<boolean>;
  readonly use: Signal<Use>;
  readonly cells: Signal<Cell[]>;
  readonly saving = signal<"saved" | "waiting" | "saving" | "failed" | "gone">("saved");
  runs: readonly string[]; // that its cells made, in whichever tab; the last ones
  version: number;
  onSaved: (row: ConversationRow) => void = () => {};
  onMerged: () => void = () => {}; // others' changes came in: outputs may have to be read
  onGone: () => void = () => {}; // the daemon does not have it any more
  private base: Snapshot; // what the daemon has, as far as this page knows
  private readonly tab = newId(); // this one, among those that keep a draft of it
  private taken: Kept[] = []; // drafts that are in here and not saved yet
  private timer: ReturnType<typeof setTimeout> | null = null;
  private failures = 0; // saves in a row
  private last: Promise<void> = Promise.resolve(); // saves and loads happen one after the other

  constructor(record: ConversationRecord) {
    this.id = record.id;
    this.base = snapshotOf(record);
    this.version = record.version;
    this.name = signal(record.name);
    this.session = signal(record.session);
    this.sandbox = signal(record.sandbox);
    this.use = signal(useOf(record));
    this.cells = signal(this.base.cells.map((cell) => new Cell(cell)));
    this.runs = this.base.runs ?? [];
    this.takeDrafts();
  }

  snapshot(): Snapshot {
    return {
      name: this.name.peek(), session: this.session.peek(), sandbox: this.sandbox.peek(), use: this.use.peek(),
      cells: this.cells.peek().map((cell) => cell.record()), runs: this.runs,
    };
  }

  get isDirty(): boolean {
    return this.saving.peek() !== "saved" && !isSame(this.base, this.snapshot());
  }

  /** A cell made a run: it stays one of this conversation when the cell has made another, or is gone. */
  noteRun(run: string): void {
    if (!this.runs.includes(run)) this.runs = lastRuns([...this.runs, run]);
  }

  /** Marks all cells as gone: the session no longer has their variables. A cell that was gone before keeps its first
   * reason; one that was rolled back had set nothing. */
  undoAll(why: CellMark): void {
    for (const { mark, output: { value: output } } of this.cells.peek()) {
      if (output?.run && output.ending?.state !== "rolled_back" && !isGoneMark(mark.peek())) mark.value = why;
    }
    this.touch();
  }

  /** Call after any change: the document is sent after a short rest. */
  touch(): void {
    if (this.saving.peek() === "gone") return;
    this.saving.value = "waiting";
    this.saveIn(REST_MS);
  }

  private saveIn(ms: number): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.save(), ms);
  }

  save(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    return this.queue(() => this.put());
  }

  /** Takes in `version`, which another client saved, unless it is our own. Without a number: the latest one. */
  pull(version = Infinity): Promise<void> {
    return this.queue(async () => {
      if (version <= this.version) return;
      try {
        this.takeIn(await calls.getConversation(this.id));
      } catch (cause) {
        if (cause instanceof ApiError && cause.isAway) return; // the feed tells again when it is back
        if (isGone(cause)) return this.onGone();
        failed(`read "${this.name.peek()}"`, cause);
        return;
      }
      if (this.timer === null && !isSame(this.base, this.snapshot())) await this.put();
    });
  }

  /** Before the page goes: what is not saved stays in this browser. */
  keep(): void {
    if (this.isDirty && keepDraft(this.id, this.tab, { base: this.base, ours: this.snapshot() })) this.dropTaken();
  }

  private dropTaken(): void {
    this.taken.forEach(dropKept);
    this.taken = [];
  }

  /** Another client deleted it. */
  lose(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.saving.value = "gone";
  }

  insert(cell: Cell, at = this.cells.peek().length): void {
    this.cells.value = this.cells.peek().toSpliced(at, 0, cell);
    this.touch();
  }

  remove(cell: Cell): void {
    this.cells.value = this.cells.peek().filter((other) => other !== cell);
    this.touch();
  }

  move(cell: Cell, to: number): void {
    const others = this.cells.peek().filter((other) => other !== cell);
    this.cells.value = others.toSpliced(Math.max(0, Math.min(to, others.length)), 0, cell);
    this.touch();
  }

  private queue(work: () => Promise<void>): Promise<void> {
    this.last = this.last.then(work);
    return this.last;
  }

  private async put(): Promise<void> {
    for (let tries = 1; this.saving.peek() !== "gone"; tries++) {
      const ours = this.snapshot();
      if (isSame(ours, this.base)) break;
      this.saving.value = "saving";
      try {
        const { cells, use, runs, ...rest } = ours;
        const row = await calls.putConversation(this.id, { version: this.version, ...rest, document: documentOf(cells, use, runs) });
        this.version = row.version;
        this.base = ours;
        this.onSaved(row);
        break;
      } catch (cause) {
        if (tries < TRIES_MAX && (await this.isSettled(cause))) continue;
        this.giveUp(cause);
        return;
      }
    }
    if (this.saving.peek() === "gone") return;
    this.failures = 0;
    this.saving.value = this.timer === null ? "saved" : "waiting";
    dropDraft(this.id, this.tab);
    this.dropTaken();
  }

  /** After a conflict: others' changes are in, and the save may be tried again. */
  private async isSettled(cause: unknown): Promise<boolean> {
    if (!(cause instanceof ApiError) || cause.kind !== "conflict") return false;
    try {
      this.takeIn(await calls.getConversation(this.id));
      return true;
    } catch {
      return false;
    }
  }

  private giveUp(cause: unknown): void {
    if (this.saving.peek() === "gone") return;
    this.saving.value = "failed";
    if (isGone(cause)) return this.onGone();
    this.keep();
    const isFirst = this.failures++ === 0;
    if (isPassing(cause) && this.timer === null) this.saveIn(PAUSES_MS[Math.min(this.failures, PAUSES_MS.length) - 1]!);
    // While the daemon is away the banner says so, and what is here is saved when it is back.
    if (isFirst && !(cause instanceof ApiError && (cause.isAway || cause.status === 401))) failed(`save "${this.name.peek()}"`, cause);
  }

  private takeIn(record: ConversationRecord): void {
    const theirs = snapshotOf(record);
    const merged = merge(this.base, this.snapshot(), theirs, newId);
    this.base = theirs;
    this.version = record.version;
    this.show(merged);
    if (merged.kept.length) toast("A cell was changed here and elsewhere at the same time: both texts are kept, one below the other");
    this.onMerged();
  }

  /** Takes in text that was typed into this conversation, in any tab, and not saved before the page went away. */
  private takeDrafts(): void {
    this.taken = loadDrafts(this.id);
    for (const { draft } of this.taken) this.show(merge(draft.base, draft.ours, this.snapshot(), newId));
    if (isSame(this.base, this.snapshot())) this.dropTaken();
    else this.touch();
  }

  /** Cells keep their objects, so that an editor in one of them stays where it is. */
  private show(next: Snapshot): void {
    const here = new Map(this.cells.peek().map((cell) => [cell.id, cell]));
    batch(() => {
      this.name.value = next.name;
      this.session.value = next.session;
      this.sandbox.value = next.sandbox;
      this.use.value = next.use ?? {};
      this.runs = next.runs ?? [];
      const cells = next.cells.map((record) => {
        const cell = here.get(record.id);
        cell?.accept(record);
        return cell ?? new Cell(record);
      });
      const isMoved = cells.length !== here.size || cells.some((cell, i) => cell !== this.cells.peek()[i]);
      if (isMoved) this.cells.value = cells;
    });
  }
}
