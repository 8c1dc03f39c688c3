// SPDX-License-Identifier: Apache-2.0
// Finds out from a table's rows what its columns hold, and which chart would tell most.
import type { Sheet } from "./csv";
import { datesOf, momentOf, type Dates } from "./dates";

export type ColumnKind = "number" | "date" | "label" | "id" | "text" | "empty";

export interface Column {
  index: number;
  name: string;
  kind: ColumnKind;
  distinct: number; // values that pandas tells apart, among the rows looked at
  cells: string[]; // of the rows looked at
  dates: Dates | null; // of a date that is not ISO text already
  isPlain: boolean; // pandas reads each cell as what the kind says, or as missing
  isMixed: boolean; // numbers and others
  isLong: boolean; // has integers beyond 64 bits
  hasGaps: boolean; // some cell is missing
}

/** How rows at the same place of a chart are joined; "each": no place has more than one. */
export type How = "sum" | "mean" | "each";

export type Choice =
  | { kind: "groups"; type: "line" | "bar"; x: Column; split: Column | null; value: Column; how: How; isCertain: boolean } // several rows at one place were seen, or none has
  | { kind: "points"; x: Column; values: Column[] }
  | { kind: "counts"; x: Column }
  | { kind: "rows"; values: Column[] };

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;
const DATE = /^\d{4}([-/.](0?[1-9]|1[0-2])([-/.]\d{1,2}([ T]\d{1,2}:\d{2}.*)?)?|-?Q[1-4]|-?W\d{2})$/i;
const DATE_NAME = /^(year|date|day|month|week|quarter|time|timestamp|datetime|jahr|datum)s?$/i;
const ID_NAME = /(^|[_ .-])(id|uuid|key|zip|phone|index|nr|no)$/i;
const MISSING = new Set(["", "na", "n/a", "nan", "null", "none", "-"]);
// What pandas 1 and 2 both read as missing, exactly so.
const PANDAS_MISSING = new Set(["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"]);
const LONG = /^[+-]?\d{19,}$/; // may be beyond 64 bits, which pandas leaves as text

function share(values: readonly string[], test: (value: string) => boolean): number {
  return values.length === 0 ? 0 : values.filter(test).length / values.length;
}

const isMissing = (cell: string): boolean => MISSING.has(cell.toLowerCase());

/** Digits that begin with a zero are a name: of a place, an article, a customer. */
export const hasZeros = (cells: readonly string[]): boolean =>
  cells.some((cell) => /^0\d+$/.test(cell)) && cells.every((cell) => /^\d+$/.test(cell) || isMissing(cell));

function kindOf(name: string, values: readonly string[], distinct: number, dates: Dates | null): ColumnKind {
  if (values.length === 0) return "empty";
  if (dates) return "date";
  if (DATE_NAME.test(name.trim()) && share(values, (value) => DATE.test(value) || /^\d{4}$/.test(value)) > 0.9) return "date";
  if (!hasZeros(values) && share(values, (value) => NUMBER.test(value)) > 0.95) {
    return ID_NAME.test(name.trim()) && distinct > values.length * 0.9 ? "id" : "number";
  }
  if (share(values, (value) => DATE.test(value)) > 0.9) return "date";
  if (ID_NAME.test(name.trim()) && distinct > values.length * 0.9) return "id";
  const isShort = share(values, (value) => value.length <= 40) > 0.95;
  return isShort && distinct <= Math.max(20, values.length * 0.6) ? "label" : "text";
}

/** `read`: the sheet as it stands in the file, where `sheet` has its numbers written with points. */
export function columnsOf(sheet: Sheet, read: Sheet = sheet): Column[] {
  return sheet.columns.map((name, index) => {
    const raw = read.rows.map((row) => row[index] ?? "");
    const cells = sheet.rows.map((row) => (row[index] ?? "").trim());
    const values = cells.filter((value) => !isMissing(value));
    const dates = datesOf(values);
    const kind = kindOf(name, values, new Set(values).size, dates);
    const present = raw.filter((cell) => !PANDAS_MISSING.has(cell));
    // Beside decimal commas, pandas takes "1.5" for a text.
    const isText = (cell: string, row: number) => LONG.test(cell) || (read !== sheet && cell.includes(".") && cell === raw[row]!.trim());
    const numbers = cells.filter((cell, row) => NUMBER.test(cell) && !isText(cell, row)).length;
    return {
      index, name, kind, cells, dates,
      distinct: new Set(present).size,
      isPlain: kind === "number" ? numbers === present.length : present.every((cell) => cell === cell.trim() && !isMissing(cell)),
      isMixed: numbers > 0 && numbers < present.length,
      isLong: kind === "number" && cells.some((cell) => LONG.test(cell) && NUMBER.test(cell)),
      hasGaps: present.length < raw.length,
    };
  });
}

/** Columns of JSON values, which say themselves what they are. Those whose places could not be compared are left out. */
export function valueColumns(sheet: Sheet, valueOf: (row: number, name: string) => unknown): Column[] {
  return columnsOf(sheet).flatMap((column) => {
    const all = column.cells.map((_, row) => valueOf(row, column.name));
    const present = all.filter((value) => value !== undefined && value !== null);
    const isNumber = (value: unknown) => typeof value === "number" && Math.abs(value) < 2 ** 63;
    const isDate = (value: unknown) => typeof value === "string" && value === value.trim() && !isMissing(value);
    if (column.kind !== "number" && new Set(present.map((value) => typeof value)).size > 1) return [];
    return {
      ...column,
      distinct: new Set(present).size,
      isPlain: present.every(column.kind === "number" ? isNumber : isDate),
      hasGaps: present.length < all.length,
    };
  });
}

// A word in a name that says: this is what the table is about.
const TELLING = /(revenue|sales|amount|total|value|price|count|score|profit|income|population|temp|rate|cost)/i;

/** The one to draw: the last that its name recommends, else the last of all: what is measured stands behind what it is of. */
function valueOf(numbers: readonly Column[]): Column {
  const telling = numbers.filter((column) => TELLING.test(column.name));
  return (telling.length > 0 ? telling : numbers).at(-1)!;
}

// Amounts of which two make a larger one. All else (temperatures, prices, rates) is averaged: a sum of them means nothing.
const ADDABLE = /(revenue|sales|amount|total|count|units|quantity|qty|profit|income|cost|spend|expense|budget|population|volume|orders|visits|clicks|views|births|deaths|cases|rain)/i;
const SPLIT_MAX = 8; // lines that can be told apart

/** Whether two rows stand at one place, in what was looked at. One moment can be written with several offsets. */
function isRepeated(places: readonly Column[]): boolean {
  const placeOf = ({ cells, dates }: Column, row: number) => (dates?.order === "time" && dates.isUtc ? momentOf(cells[row] ?? "") : cells[row]);
  const keys = (places[0]?.cells ?? []).map((_, row) => JSON.stringify(places.map((column) => placeOf(column, row))));
  return new Set(keys).size < keys.length;
}

/** How a value is shown at places that these columns make; rows that were not looked at may repeat what these do not. */
function howOf(value: Column, places: readonly Column[], isPartial: boolean): { how: How; isCertain: boolean } {
  const isCertain = isRepeated(places);
  if (!isPartial && !isCertain) return { how: "each", isCertain: true };
  const isAmount = ADDABLE.test(value.name) && !/(per|rate|share|mean|average|avg)/i.test(value.name);
  return { how: isAmount ? "sum" : "mean", isCertain };
}

/** `isPartial`: there are rows that were not looked at. */
export function choose(columns: readonly Column[], isPartial = false): Choice | null {
  const numbers = columns.filter((column) => column.kind === "number");
  const date = columns.find((column) => column.kind === "date");
  const labels = columns.filter((column) => column.kind === "label" && column.distinct > 1);
  const label = labels.find((column) => column.distinct <= 30) ?? labels[0];

  if (date && numbers.length > 0) {
    const value = valueOf(numbers);
    // Lines for the categories, where there are few of them and they are what repeats the moments.
    const split = isRepeated([date]) && date.dates?.order !== "file" ? (labels.find((column) => column.distinct <= SPLIT_MAX) ?? null) : null;
    return { kind: "groups", type: "line", x: date, split, value, ...howOf(value, split ? [date, split] : [date], isPartial) };
  }
  if (label && numbers.length > 0) {
    const value = valueOf(numbers);
    return { kind: "groups", type: "bar", x: label, split: null, value, ...howOf(value, [label], isPartial) };
  }
  if (numbers.length >= 2) return { kind: "points", x: numbers[0]!, values: numbers.slice(1, 2) };
  if (label ?? date) return { kind: "counts", x: (label ?? date)! };
  if (numbers.length === 1) return { kind: "rows", values: numbers };
  const text = columns.find((column) => column.kind === "text" || column.kind === "id");
  return text ? { kind: "counts", x: text } : null;
}
