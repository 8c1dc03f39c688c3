// SPDX-License-Identifier: Apache-2.0
// The output of a cell: the events of one run, gathered. Text is kept as lines so that 100,000 of them stay light; the rest
// are items in the order in which they came. Everything that a run can send is bounded here.
import { signal } from "@preact/signals";
import type { Bundle, FileEntry, RunError, RunEvent } from "../api/types";
import { typed, untyped } from "./ansi";
import { isRecord } from "./checks";
import { readEnding, readError, readFile, readFiles, type Ending } from "./read";
import { Screen, type TextLine } from "./screen";

export type { Ending } from "./read";
export type { TextLine } from "./screen";

export type Item =
  | { kind: "text"; first: number; count: number } // lines of `lines`: a run of text between two other items
  | { kind: "display"; bundle: Bundle }
  | { kind: "result"; bundle: Bundle }
  | { kind: "chart"; chart: unknown } // checked where it is shown
  | { kind: "table"; table: unknown }
  | { kind: "error"; error: RunError }
  | { kind: "notice"; text: string }; // of the page: something is missing here, and why

export const ITEMS_MAX = 5000;
const LETTERS_MAX = 192_000_000; // of pictures, tables and the like together

/** Everything here is changed in place; `version` tells those who show it, at most once a frame. */
export class Output {
  readonly version = signal(0);
  run: string | null;
  seq = 0; // of the last event that is in here: where a reader goes on
  items: Item[] = [];
  files: FileEntry[] = [];
  ending: Ending | null = null;
  isSaved = false; // it is what was kept, not the run's own log
  private readonly screen = new Screen();
  private letters = 0;
  private dropped = 0;
  private isDue = false;

  constructor(run: string | null = null) {
    this.run = run;
  }

  get lines(): readonly TextLine[] {
    return this.screen.lines;
  }

  get isOver(): boolean {
    return this.ending !== null;
  }

  /** Says what the page itself left out, "" when nothing. */
  get leftOut(): string {
    const parts: string[] = [];
    if (this.screen.dropped) parts.push("more text than this page keeps");
    if (this.dropped) parts.push(`${this.dropped} more results than this page keeps`);
    return parts.join(" and ");
  }

  /** Events that are here already, or that are no news, change nothing: reading on twice is harmless. */
  apply(event: RunEvent): void {
    if (event.type === "keepalive" || event.type === "held" || !(event.seq > this.seq)) return;
    this.seq = event.seq;
    switch (event.type) {
      case "started":
        this.run = event.run;
        break;
      case "stdout":
      case "stderr":
        if (typeof event.text === "string") this.addText(event.type, untyped(event.text));
        break;
      case "stdin":
        if (typeof event.text === "string") this.addText(this.screen.stream, event.text.split("\n").map(typed).join("\n"));
        break;
      case "display":
        this.add({ kind: "display", bundle: bundleOf(event.data) }, event.data);
        break;
      case "result":
        this.add({ kind: "result", bundle: bundleOf(event.result) }, event.result);
        break;
      case "chart":
        this.add({ kind: "chart", chart: event.chart }, event.chart);
        break;
      case "table":
        this.add({ kind: "table", table: event.table }, event.table);
        break;
      case "error":
        this.add({ kind: "error", error: readError(event.error) }, null);
        break;
      case "file": {
        const file = readFile(event.file);
        if (file) this.files = [...this.files.filter(({ path }) => path !== file.path), file];
        break;
      }
      case "verdict":
        this.files = readFiles(event.files);
        this.ending = readEnding(event);
        break;
    }
    this.tell();
  }

  /** Adds an item as it was kept; `source` is what its size is measured by. */
  add(item: Item, source: unknown): void {
    const letters = weigh(source);
    if (this.items.length >= ITEMS_MAX || this.letters + letters > LETTERS_MAX) {
      this.dropped++;
      return;
    }
    this.letters += letters;
    this.screen.seal();
    this.items.push(item);
  }

  addText(stream: TextLine["stream"], text: string): void {
    let item = this.items.at(-1);
    if (item?.kind !== "text") {
      if (this.items.length >= ITEMS_MAX) {
        this.dropped++;
        return;
      }
      this.screen.seal();
      item = { kind: "text", first: this.screen.lines.length, count: 0 };
      this.items.push(item);
    }
    this.screen.write(stream, text);
    item.count = this.screen.lines.length - item.first;
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

function bundleOf(value: unknown): Bundle {
  return isRecord(value) ? value : { "text/plain": "" };
}

/** About how many letters a value holds: its long texts count, and each member a little. Deep ones are not followed. */
function weigh(value: unknown, depth = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || depth > 6) return 8;
  if (Array.isArray(value)) {
    const first = value.slice(0, 20).reduce<number>((sum, part) => sum + weigh(part, depth + 1), 0);
    return value.length <= 20 ? first : Math.ceil((first / 20) * value.length);
  }
  let sum = 0;
  let count = 0;
  for (const name in value) {
    if (count++ > 1000) break;
    sum += name.length + weigh((value as Record<string, unknown>)[name], depth + 1);
  }
  return sum;
}
