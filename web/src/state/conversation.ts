// SPDX-License-Identifier: Apache-2.0
// A conversation that is open: its cells, and how they are kept. The daemon has the truth; what is typed here goes there
// after a short rest, and a conflict with another tab is told, never overwritten in silence.
import { signal, type Signal } from "@preact/signals";
import { ApiError } from "../api/client";
import * as calls from "../api/calls";
import type { CellKind, CellRecord, ConversationRecord, RunPhase, Who } from "../api/types";
import { Output } from "../output/model";
import { failed } from "./toasts";

const REST_MS = 400;

export class Cell {
  readonly id: string;
  readonly kind: Signal<CellKind>;
  readonly source: Signal<string>;
  readonly output: Signal<Output | null>;
  readonly phase: Signal<RunPhase | "idle">;
  readonly who = signal<Who | null>(null); // of a run that this page did not start

  constructor(record: CellRecord) {
    this.id = record.id;
    this.kind = signal(record.kind);
    this.source = signal(record.source);
    this.output = signal(record.run ? new Output(record.run) : null);
    this.phase = signal("idle");
  }

  record(): CellRecord {
    return { id: this.id, kind: this.kind.value, source: this.source.value, run: this.output.value?.run ?? null };
  }
}

export function newCell(kind: CellKind = "code", source = ""): Cell {
  const id = "c" + Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return new Cell({ id, kind, source, run: null });
}

export class Conversation {
  readonly id: string;
  readonly name: Signal<string>;
  readonly session: Signal<string | null>;
  readonly sandbox: Signal<boolean>;
  readonly cells: Signal<Cell[]>;
  readonly saving = signal<"saved" | "waiting" | "saving" | "conflict" | "failed">("saved");
  version: number;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private last: Promise<void> = Promise.resolve(); // saves happen one after the other

  constructor(record: ConversationRecord) {
    this.id = record.id;
    this.name = signal(record.name);
    this.session = signal(record.session);
    this.sandbox = signal(record.sandbox);
    this.cells = signal(record.document.cells.map((cell) => new Cell(cell)));
    this.version = record.version;
  }

  /** Call after any change: the document is sent after a short rest. */
  touch(): void {
    this.saving.value = "waiting";
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.save(), REST_MS);
  }

  save(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.last = this.last.then(() => this.put());
    return this.last;
  }

  private async put(): Promise<void> {
    this.saving.value = "saving";
    try {
      const row = await calls.putConversation(this.id, {
        version: this.version,
        name: this.name.peek(),
        session: this.session.peek(),
        sandbox: this.sandbox.peek(),
        document: { cells: this.cells.peek().map((cell) => cell.record()) },
      });
      this.version = row.version;
      if (this.timer === null) this.saving.value = "saved";
    } catch (cause) {
      const isConflict = cause instanceof ApiError && cause.kind === "conflict";
      this.saving.value = isConflict ? "conflict" : "failed";
      if (!isConflict) failed(`save "${this.name.peek()}"`, cause);
    }
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
}
