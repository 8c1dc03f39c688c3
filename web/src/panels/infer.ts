// SPDX-License-Identifier: Apache-2.0
// What the columns of a table hold, from its first rows, and which chart would tell most.
import type { Sheet } from "./csv";

export type ColumnKind = "number" | "date" | "label" | "id" | "text" | "empty";

export interface Column {
  index: number;
  name: string;
  kind: ColumnKind;
  distinct: number; // among the rows looked at
  cells: string[]; // of the rows looked at
}

/** What is done with the rows that stand at one place of a chart; "each": no place has more than one. */
export type How = "sum" | "mean" | "each";

export type Choice =
  | { kind: "groups"; type: "line" | "bar"; x: Column; split: Column | null; value: Column; how: How }
  | { kind: "points"; x: Column; values: Column[] }
  | { kind: "counts"; x: Column }
  | { kind: "rows"; values: Column[] };

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i;
const DATE = /^\d{4}([-/.](0?[1-9]|1[0-2])([-/.]\d{1,2}([ T]\d{1,2}:\d{2}.*)?)?|-?Q[1-4]|-?W\d{2})$/i;
const DATE_NAME = /^(year|date|day|month|week|quarter|time|timestamp|datetime|jahr|datum)s?$/i;
const ID_NAME = /(^|[_ .-])(id|uuid|key|zip|phone|index|nr|no)$/i;
const MISSING = new Set(["", "na", "n/a", "nan", "null", "none", "-"]);
const ROWS = 400;

function share(values: readonly string[], test: (value: string) => boolean): number {
  return values.length === 0 ? 0 : values.filter(test).length / values.length;
}

function kindOf(name: string, values: readonly string[], distinct: number): ColumnKind {
  if (values.length === 0) return "empty";
  if (DATE_NAME.test(name.trim()) && share(values, (value) => DATE.test(value) || /^\d{4}$/.test(value)) > 0.9) return "date";
  if (share(values, (value) => NUMBER.test(value)) > 0.95) {
    return ID_NAME.test(name.trim()) && distinct > values.length * 0.9 ? "id" : "number";
  }
  if (share(values, (value) => DATE.test(value)) > 0.9) return "date";
  if (ID_NAME.test(name.trim()) && distinct > values.length * 0.9) return "id";
  const isShort = share(values, (value) => value.length <= 40) > 0.95;
  return isShort && distinct <= Math.max(20, values.length * 0.6) ? "label" : "text";
}

export function columnsOf(sheet: Sheet): Column[] {
  const rows = sheet.rows.slice(0, ROWS);
  return sheet.columns.map((name, index) => {
    const cells = rows.map((row) => (row[index] ?? "").trim());
    const values = cells.filter((value) => !MISSING.has(value.toLowerCase()));
    const distinct = new Set(values).size;
    return { index, name, kind: kindOf(name, values, distinct), distinct, cells };
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

/** Whether two rows stand at one place, in what was looked at. */
function isRepeated(places: readonly Column[]): boolean {
  const keys = (places[0]?.cells ?? []).map((_, row) => JSON.stringify(places.map(({ cells }) => cells[row])));
  return new Set(keys).size < keys.length;
}

/** How a value is shown at places that these columns make; rows that were not looked at may repeat what these do not. */
function howOf(value: Column, places: readonly Column[], isPartial: boolean): How {
  if (!isPartial && !isRepeated(places)) return "each";
  return ADDABLE.test(value.name) && !/(per|rate|share|mean|average|avg)/i.test(value.name) ? "sum" : "mean";
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
    const split = isRepeated([date]) ? (labels.find((column) => column.distinct <= SPLIT_MAX) ?? null) : null;
    return { kind: "groups", type: "line", x: date, split, value, how: howOf(value, split ? [date, split] : [date], isPartial) };
  }
  if (label && numbers.length > 0) {
    const value = valueOf(numbers);
    return { kind: "groups", type: "bar", x: label, split: null, value, how: howOf(value, [label], isPartial) };
  }
  if (numbers.length >= 2) return { kind: "points", x: numbers[0]!, values: numbers.slice(1, 2) };
  if (label ?? date) return { kind: "counts", x: (label ?? date)! };
  if (numbers.length === 1) return { kind: "rows", values: numbers };
  const text = columns.find((column) => column.kind === "text" || column.kind === "id");
  return text ? { kind: "counts", x: text } : null;
}
