// SPDX-License-Identifier: Apache-2.0
// A table as it came, checked: columns with their types, index levels, rows with their place in the whole table.
import { visible } from "../../panels/format";
import { countOf, isRecord, own, ownList, ownText, textOf } from "../checks";

export interface Column {
  key: string; // as a question names it: "3" is the fourth column, "i0" the first level of the index
  name: string;
  levels: string[]; // of a name that has several; else just the name
  dtype: string; // "" when it is not known
  decimals: number | null; // digits behind the point, as pandas prints the column
  missing: string; // how a missing value is printed: NaN, NaT, <NA>, None
  hasTime?: boolean; // of moments: not all are days
  above?: string[]; // beside the heads of the columns: the names of their levels, where pandas prints them
}

export interface Row {
  at: number; // its position in the whole table
  index: unknown[];
  cells: unknown[];
  texts?: Record<string, string>; // by a column's key: what its value does not tell of how it is printed
}

export interface Table {
  index: Column[]; // empty: the table has no index, and its rows are numbered
  columns: Column[];
  rows: Row[]; // the first ones
  total: number; // how many rows there are in all
  handle: string | null; // the name by which the session is asked for more of it
}

/** While a run is on, the session answers from a state that it has kept. */
export interface AsOf {
  state: string;
  blockedBy: string; // why it is not the one that the run began from; "": it is
}

/** A page of a table, with its facts beyond the rows. */
export interface Page extends Table {
  matched: number; // rows that pass the filters
  asOf: AsOf | null; // null: the rows are those of now
  isChanged: boolean; // the frame is known to differ from the one that was shown
}

const NAME_MAX = 200;
const WHY_MAX = 300;
const DECIMALS_MAX = 100; // what Number.toFixed takes

export function asOfIn(answer: unknown): AsOf | null {
  const state = ownText(answer, "as_of", NAME_MAX);
  return state ? { state, blockedBy: ownText(answer, "checkpoint_blocked_by", WHY_MAX) } : null;
}

/** Which state the variables or rows are of; `title` names it where that is known. */
export function asOfText(what: "variables" | "rows", { blockedBy }: AsOf, title = ""): string {
  if (!blockedBy) return `A run is on: these are the ${what} of before it.`;
  return `A run is on: these are the ${what} of ${title ? `the state "${title}"` : "an earlier state"}, without what later runs did. No newer state could be kept: ${visible(blockedBy)}.`;
}

/** Whether a value of a bundle is a table at all: lists of columns and of rows. */
export function isTable(value: unknown): boolean {
  return Array.isArray(own(value, "columns")) && Array.isArray(own(value, "rows"));
}

/** The text for a missing value where the table does not say. */
export function missingOf(dtype: string): string {
  if (/^(datetime|timedelta|period)/i.test(dtype)) return "NaT";
  if (/^(Int|UInt|Float|boolean|string)/.test(dtype)) return "<NA>";
  return dtype === "object" || dtype === "" ? "None" : "NaN";
}

const texts = (list: unknown[]) => list.slice(0, 32).map((part) => textOf(part, NAME_MAX));

function readColumns(value: unknown, names: unknown[]): Column[] {
  const [dtypes, decimals, levels] = [ownList(value, "dtypes"), ownList(value, "decimals"), ownList(value, "column_levels")];
  const missing = own(value, "missing");
  return names.map((name, i) => {
    const dtype = textOf(dtypes[i], 80);
    const digits = countOf(decimals[i]);
    const given = levels[i];
    const text = textOf(name, NAME_MAX);
    return {
      key: String(i), name: text, levels: Array.isArray(given) ? texts(given) : [text], dtype,
      decimals: digits === null ? null : Math.min(DECIMALS_MAX, Math.floor(digits)),
      missing: textOf(own(missing, String(i)), 20) || missingOf(dtype),
    };
  });
}

function readIndex(value: unknown): { levels: Column[]; rows: unknown[][] } {
  const index = own(value, "index");
  if (!isRecord(index)) return { levels: [], rows: [] };
  const [dtypes, missing] = [ownList(index, "dtypes"), own(index, "missing")];
  const levels = ownList(index, "names").slice(0, 32).map((name, i): Column => {
    const [text, dtype] = [textOf(name, NAME_MAX), textOf(dtypes[i], 80)];
    return { key: `i${i}`, name: text, levels: [text], dtype, decimals: null, missing: textOf(own(missing, String(i)), 20) || missingOf(dtype) };
  });
  const above = texts(ownList(value, "column_names"));
  const last = levels.at(-1);
  if (last && above.some(Boolean)) last.above = above;
  return { levels, rows: ownList(index, "rows") as unknown[][] };
}

const PLACE = /^\d{1,9}$/;

/** By row and by a column's key, the texts of a page, or of its index. */
function readTexts(value: unknown, prefix: string, rows: Row[]): void {
  const told = own(value, "texts");
  if (!isRecord(told)) return;
  for (const [column, texts] of Object.entries(told)) {
    for (const [number, text] of PLACE.test(column) && isRecord(texts) ? Object.entries(texts) : []) {
      const row = PLACE.test(number) ? rows[Number(number)] : undefined;
      if (row && typeof text === "string") (row.texts ??= {})[prefix + column] = text.slice(0, NAME_MAX);
    }
  }
}

const DAY = /T00:00:00(\.0+)?$/;

/** As pandas prints them: where one moment has a time, all do. */
function withTimes(columns: Column[], valuesOf: (column: number) => unknown[]): Column[] {
  return columns.map((column, i) => column.dtype.startsWith("datetime")
    ? { ...column, hasTime: valuesOf(i).some((value) => typeof value === "string" && value.includes("T") && !DAY.test(value)) } : column);
}

/** The table, or one sentence on what is wrong with it. `first` is the position of its first row, where it does not say. */
export function readTable(value: unknown, first = 0): Page | string {
  const names = own(value, "columns");
  const given = own(value, "rows");
  if (!Array.isArray(names) || !Array.isArray(given)) return "it has no lists of columns and rows";
  const odd = given.findIndex((row) => !Array.isArray(row));
  if (odd >= 0) return `row ${odd + 1} is not a list`;
  const index = readIndex(value);
  const numbers = ownList(value, "numbers");
  const rows = given.map((cells: unknown[], i): Row => {
    const labels = index.rows[i];
    return { at: countOf(numbers[i]) ?? first + i, index: Array.isArray(labels) ? labels : [], cells };
  });
  readTexts(value, "", rows);
  readTexts(own(value, "index"), "i", rows);
  const total = Math.max(rows.length, Math.floor(Math.min(countOf(own(value, "total")) ?? rows.length, 1e12)));
  const handle = own(value, "handle");
  return {
    index: withTimes(index.levels, (i) => rows.map((row) => row.index[i])),
    columns: withTimes(readColumns(value, names), (i) => rows.map((row) => row.cells[i])), rows, total,
    handle: typeof handle === "string" && /^~[0-9a-z]{1,40}$/.test(handle) ? handle : null,
    matched: Math.floor(Math.min(countOf(own(value, "matched")) ?? total, 1e12)),
    asOf: asOfIn(value),
    isChanged: own(value, "changed") === true,
  };
}

/** A table of the page's own: a chart's numbers, the lines of a CSV file. */
export function plainTable(names: readonly string[], rows: readonly (readonly unknown[])[]): Table {
  return {
    index: [], total: rows.length, handle: null, rows: rows.map((cells, at) => ({ at, index: [], cells: [...cells] })),
    columns: names.map((name, i) => ({ key: String(i), name, levels: [name], dtype: "", decimals: null, missing: "" })),
  };
}
