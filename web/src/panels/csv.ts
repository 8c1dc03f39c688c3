// SPDX-License-Identifier: Apache-2.0
// A table out of delimited text. The text is anybody's: every count is capped, nothing throws, and what was left out is
// said.

export interface Sheet {
  columns: string[];
  rows: string[][];
  delimiter: string;
  isRagged: boolean; // some row has more fields than the header
  isCut: boolean; // there is more than was read: rows, columns, or a field's end
}

export interface SheetCaps {
  rows: number;
  columns: number;
  field: number; // characters
}

const CAPS: SheetCaps = { rows: 1000, columns: 200, field: 2000 };
const DELIMITERS = [",", ";", "\t", "|"] as const;
const LOOKED_AT = 16 * 1024;

/** The delimiter that splits the first lines into the same, highest number of fields. */
export function findDelimiter(text: string): string {
  const head = text.slice(0, LOOKED_AT);
  let best = ",";
  let bestScore = 0;
  for (const delimiter of DELIMITERS) {
    const { rows } = split(head, delimiter, { rows: 20, columns: 10_000, field: 200 });
    const counts = rows.map((row) => row.length);
    if (text.length > LOOKED_AT && counts.length > 1) counts.pop(); // the last line may be half a line
    const first = counts[0] ?? 0;
    const same = counts.filter((count) => count === first).length;
    const score = first > 1 ? (same / counts.length) * Math.log2(first + 1) + same / counts.length : 0;
    if (score > bestScore) [best, bestScore] = [delimiter, score];
  }
  return best;
}

interface Rows {
  rows: string[][];
  isCut: boolean;
  isOpen: boolean; // the text ended inside of a row: without a newline
}

/** The text between quotes, from the first one on, and the place behind the last one. A quote that never closes ends with
 * the text. */
function quoted(text: string, open: number): { value: string; end: number } {
  let value = "";
  for (let from = open + 1; ; ) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return { value: value + text.slice(from), end: text.length };
    value += text.slice(from, quote);
    if (text[quote + 1] !== '"') return { value, end: quote + 1 };
    value += '"';
    from = quote + 2;
  }
}

/** RFC 4180 as it is found in the wild: quotes double, quoted fields hold newlines, a lone CR ends a line, too. A quote
 * inside of an unquoted field is a character. */
function split(text: string, delimiter: string, caps: SheetCaps): Rows {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  let isCut = false;
  let isOpen = false;

  const keep = (field: string) => {
    if (row.length >= caps.columns || field.length > caps.field) isCut = true;
    if (row.length < caps.columns) row.push(field.slice(0, caps.field));
  };

  while (at < text.length && rows.length < caps.rows) {
    isOpen = true;
    const { value, end: from } = text[at] === '"' ? quoted(text, at) : { value: "", end: at };
    let end = from;
    while (end < text.length && text[end] !== delimiter && text[end] !== "\n" && text[end] !== "\r") end++;
    keep(value + text.slice(from, end));
    at = end + 1;
    if (text[end] === delimiter) {
      if (at === text.length) keep("");
    } else if (end < text.length) {
      if (text[end] === "\r" && text[at] === "\n") at++;
      isOpen = false;
      if (row.length > 1 || row[0] !== "") rows.push(row);
      row = [];
    }
  }
  if (row.length > 0 && rows.length < caps.rows) rows.push(row);
  return { rows, isCut: isCut || at < text.length, isOpen };
}

/** `isWhole` false: the text is the beginning of a longer one, so its last line is left out. */
export function parseSheet(text: string, isWhole = true, caps: Partial<SheetCaps> = {}, delimiter?: string): Sheet {
  const body = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  const by = delimiter ?? findDelimiter(body);
  const all = { ...CAPS, ...caps };
  const { rows, isCut, isOpen } = split(body, by, { ...all, rows: all.rows + 1 });
  if (!isWhole && isOpen && rows.length > 1) rows.pop();
  const [columns = [], ...rest] = rows;
  return {
    columns,
    rows: rest,
    delimiter: by,
    isRagged: rest.some((row) => row.length > columns.length),
    isCut: isCut || !isWhole,
  };
}

export interface Decoded {
  text: string;
  encoding: "utf-8" | "utf-16" | "latin-1";
}

/** Bytes as text, or null when they are none. `isWhole` false: the last character may be cut. */
export function decodeText(bytes: Uint8Array, isWhole = true): Decoded | null {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    const label = bytes[0] === 0xff ? "utf-16le" : "utf-16be";
    return { text: new TextDecoder(label).decode(bytes), encoding: "utf-16" };
  }
  if (bytes.includes(0)) return null;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !isWhole });
    return { text, encoding: "utf-8" };
  } catch {
    // Old spreadsheets: one byte each. Control characters tell that it is no text at all.
    const controls = bytes.subarray(0, 4096).reduce((sum, byte) => sum + Number(byte < 9 || (byte > 13 && byte < 32)), 0);
    if (controls > 4) return null;
    return { text: new TextDecoder("windows-1252").decode(bytes), encoding: "latin-1" };
  }
}
