// SPDX-License-Identifier: Apache-2.0
// The text of a run as a terminal would show it: lines, and a cursor that a progress bar may take back to the start of
// its line, or up to an earlier one. Bounded in lines and letters: what is above is dropped and counted.
import { carryOf, plainOf } from "./ansi";

export interface TextLine {
  stream: "stdout" | "stderr";
  text: string; // without its newline; with escapes for colours
}

export const LINES_MAX = 400_000;
export const LETTERS_MAX = 24_000_000;
const OVERWRITE_MAX = 1000; // a longer line is replaced as a whole: each letter that goes over it costs its length

// Sequences that move the cursor or end a line. The rest is text.
const MOVE = /\r\n|[\r\n\b]|\x1b\[(\d*)([AK])/g;
const MOVES = /[\r\b]|\x1b\[\d*[AK]/;

/** Writes over a part of a line. What stays of the old line loses its colours: a progress bar writes all of it anew. */
function overwrite(old: string, column: number, text: string): string {
  if (old.length > OVERWRITE_MAX || text.length > OVERWRITE_MAX) return text;
  const plain = plainOf(old);
  const head = column > 0 ? plain.slice(0, column).padEnd(column) : "";
  return head + text + plain.slice(column + plainOf(text).length);
}

export class Screen {
  readonly lines: TextLine[] = [];
  dropped = 0; // lines that were not kept
  private letters = 0;
  private row = 0; // where the cursor is; lines.length: on a line that is not there yet
  private column = -1; // -1: behind the last letter
  private floor = 0; // the cursor goes no higher: what is above belongs to an earlier item
  private carry = { stdout: "", stderr: "" };
  private carries = new WeakMap<TextLine, string>(); // of lines as they are: the cursor may pass a long one again and again

  /** Of the line that the cursor is in: what is typed behind a prompt goes on there. */
  get stream(): TextLine["stream"] {
    return this.lines[this.row]?.stream ?? "stdout";
  }

  /** A new item begins: text before it is not touched again. */
  seal(): void {
    this.row = this.floor = this.lines.length;
    this.column = -1;
  }

  write(stream: TextLine["stream"], text: string): void {
    if (!MOVES.test(text)) {
      const parts = text.split("\n");
      for (let i = 0; i < parts.length; i++) {
        if (i) this.newline(stream);
        if (parts[i]) this.put(stream, parts[i]!);
      }
      return;
    }
    let from = 0;
    for (const match of text.matchAll(MOVE)) {
      if (match.index > from) this.put(stream, text.slice(from, match.index));
      from = match.index + match[0].length;
      this.move(stream, match[0], match[2], Number(match[1] || 0));
    }
    if (from < text.length) this.put(stream, text.slice(from));
  }

  private move(stream: TextLine["stream"], what: string, escape: string | undefined, count: number): void {
    if (what === "\n" || what === "\r\n") this.newline(stream);
    else if (what === "\r") this.column = this.row < this.lines.length ? 0 : -1;
    else if (what === "\b") this.column = Math.max(0, this.place() - 1);
    else if (escape === "A") {
      this.column = this.place();
      this.row = Math.max(this.floor, this.row - Math.max(1, count));
    } else if (escape === "K") this.erase(count);
  }

  /** The column of the cursor, counted out; a long line is not worth counting, for it will be replaced as a whole. */
  private place(): number {
    if (this.column >= 0) return Math.min(this.column, OVERWRITE_MAX);
    const text = this.lines[this.row]?.text ?? "";
    return text.length > OVERWRITE_MAX ? 0 : plainOf(text).length;
  }

  private erase(how: number): void {
    const line = this.lines[this.row];
    if (!line) return;
    this.carries.delete(line);
    if (how === 2) line.text = "";
    else if (how === 0 && this.column >= 0) line.text = this.column === 0 ? "" : plainOf(line.text).slice(0, this.column);
  }

  private carryFrom(line: TextLine): string {
    const known = this.carries.get(line) ?? carryOf(line.text);
    this.carries.set(line, known);
    return known;
  }

  private newline(stream: TextLine["stream"]): void {
    if (this.row >= this.lines.length) this.put(stream, ""); // an empty line
    const line = this.lines[this.row];
    if (line) this.carry[line.stream] = this.carryFrom(line);
    this.row = Math.min(this.row + 1, this.lines.length);
    this.column = this.row < this.lines.length ? 0 : -1;
  }

  private put(stream: TextLine["stream"], text: string): void {
    const line = this.lines[this.row];
    this.letters += text.length;
    if (this.letters > LETTERS_MAX || (!line && this.lines.length >= LINES_MAX)) {
      this.dropped++;
      return;
    }
    if (line) this.carries.delete(line);
    if (!line || (line.stream !== stream && this.row === this.lines.length - 1)) {
      this.row = this.lines.length;
      this.column = -1;
      this.lines.push({ stream, text: this.carry[stream] + text });
    } else if (this.column < 0) line.text += text;
    else {
      this.letters -= line.text.length; // only what is shown counts: a progress bar may go on for ever
      line.text = overwrite(line.text, this.column, text);
      this.letters += line.text.length - text.length;
      this.column = Math.min(this.column + plainOf(text).length, OVERWRITE_MAX);
    }
  }
}
