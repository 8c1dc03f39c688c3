// SPDX-License-Identifier: Apache-2.0
// What a cell shows: the events of one run, gathered. Text is kept as lines so that 100,000 of them stay light; the rest
// are items in the order in which they came.
import { signal } from "@preact/signals";
import type { Bundle, Chart, FileEntry, RunError, RunEvent, RunState, TableData, Truncated, Usage, Verdict } from "../api/types";

export interface TextLine {
  stream: "stdout" | "stderr";
  text: string; // without its newline
}

export type Item =
  | { kind: "text"; first: number; count: number } // lines of `lines`: a run of text between two other items
  | { kind: "display"; bundle: Bundle }
  | { kind: "result"; bundle: Bundle }
  | { kind: "chart"; chart: Chart }
  | { kind: "table"; table: TableData }
  | { kind: "error"; error: RunError };

export interface Ending {
  verdict: Verdict;
  state: RunState;
  usage: Usage;
  walls: string[];
  truncated: Truncated;
  checkpoint: string | null;
  skipped: string | null; // why there is no checkpoint
}

/** Everything here is changed in place; `version` tells those who show it, at most once a frame. */
export class Output {
  readonly version = signal(0);
  run: string | null;
  seq = 0; // of the last event that is in here: where a reader goes on
  lines: TextLine[] = [];
  items: Item[] = [];
  files: FileEntry[] = [];
  ending: Ending | null = null;
  begunMs: number | null = null; // by the page's clock
  isSaved = false; // it is what was kept, not the run's own log
  private isOpenLine = false; // the last line has no newline yet
  private isDue = false;

  constructor(run: string | null = null) {
    this.run = run;
  }

  /** Events that are here already, or that are no news, change nothing: reading on twice is harmless. */
  apply(event: RunEvent): void {
    if (event.type === "keepalive" || event.seq <= this.seq) return;
    this.seq = event.seq;
    switch (event.type) {
      case "started":
        this.run = event.run;
        this.begunMs ??= Date.now() - event.t_ms;
        break;
      case "stdout":
      case "stderr":
        this.addText(event.type, event.text);
        break;
      case "display":
        this.add({ kind: "display", bundle: event.display });
        break;
      case "result":
        this.add({ kind: "result", bundle: event.result });
        break;
      case "chart":
        this.add({ kind: "chart", chart: event.chart });
        break;
      case "table":
        this.add({ kind: "table", table: event.table });
        break;
      case "error":
        this.add({ kind: "error", error: event.error });
        break;
      case "file":
        this.files = [...this.files.filter((file) => file.path !== event.file.path), event.file];
        break;
      case "verdict": {
        const { verdict, state, usage, walls, truncated, checkpoint } = event;
        this.files = event.files;
        this.ending = {
          verdict, state, usage, walls, truncated,
          checkpoint: checkpoint && "id" in checkpoint ? checkpoint.id : null,
          skipped: checkpoint && "skipped" in checkpoint ? checkpoint.skipped : null,
        };
        break;
      }
    }
    this.tell();
  }

  get isOver(): boolean {
    return this.ending !== null;
  }

  private add(item: Item): void {
    this.isOpenLine = false;
    this.items.push(item);
  }

  private addText(stream: TextLine["stream"], text: string): void {
    let item = this.items.at(-1);
    if (item?.kind !== "text") {
      item = { kind: "text", first: this.lines.length, count: 0 };
      this.items.push(item);
    }
    const parts = text.split("\n");
    const last = this.lines.at(-1);
    let from = 0;
    if (this.isOpenLine && last && last.stream === stream) {
      last.text += parts[0]!;
      from = 1;
      if (parts.length > 1) this.isOpenLine = false;
    }
    const isComplete = parts.at(-1) === "";
    const end = isComplete ? parts.length - 1 : parts.length;
    for (let i = from; i < end; i++) {
      this.lines.push({ stream, text: parts[i]! });
      item.count++;
    }
    if (end > from) this.isOpenLine = !isComplete;
  }

  private tell(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.version.value++;
    });
  }
}
