// SPDX-License-Identifier: Apache-2.0
// Lines as rows of equal height: a line that is wider than the box takes several, broken as a terminal would. So a list of
// 100,000 lines, or one line of 10 MB, knows at once what stands at any place.
import { plainOf, spansOf, type Span } from "./ansi";
import type { TextLine } from "./screen";

const CHANGING = 50; // of the last lines: a progress bar may still change them

export class Rows {
  private starts: number[] = []; // the first row of each line
  private total = 0;

  constructor(readonly columns: number) {}

  get count(): number {
    return this.total;
  }

  /** Takes notice of new and changed lines; `lines` are those of the box. */
  sync(lines: readonly TextLine[], from: number, count: number): void {
    const first = Math.max(0, Math.min(this.starts.length, count) - CHANGING);
    let row = first < this.starts.length ? this.starts[first]! : this.total;
    this.starts.length = first;
    for (let i = first; i < count; i++) {
      this.starts.push(row);
      row += Math.max(1, Math.ceil(plainOf(lines[from + i]!.text).length / this.columns));
    }
    this.total = row;
  }

  /** The line in which a row lies, and which part of it. */
  at(row: number): { line: number; part: number } {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle]! <= row) low = middle;
      else high = middle - 1;
    }
    return { line: low, part: row - (this.starts[low] ?? 0) };
  }
}

const known = new WeakMap<TextLine, { text: string; spans: Span[] }>();

function spansOfLine(line: TextLine): Span[] {
  const found = known.get(line);
  if (found && found.text === line.text) return found.spans;
  const spans = spansOf(line.text);
  known.set(line, { text: line.text, spans });
  return spans;
}

/** The spans of one row of a line. */
export function rowSpans(line: TextLine, part: number, columns: number): Span[] {
  const from = part * columns;
  const to = from + columns;
  const shown: Span[] = [];
  let at = 0;
  for (const { text, classes } of spansOfLine(line)) {
    if (at >= to) break;
    const cut = text.slice(Math.max(0, from - at), to - at);
    if (cut && at + text.length > from) shown.push({ text: cut, classes });
    at += text.length;
  }
  return shown;
}
