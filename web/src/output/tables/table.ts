// SPDX-License-Identifier: Apache-2.0
// A table as it came, checked; and its rows in an order.
import type { TableData } from "../../api/types";
import { countOf, own, textOf } from "../checks";

export interface TableSource {
  columns: string[];
  rows: unknown[][];
  total: number; // how many rows there are in all
  /** More of the same table, where it can be had; rows from `offset` on. */
  more?: (offset: number, limit: number, signal: AbortSignal) => Promise<TableData>;
}

export interface Sort {
  column: number;
  isDown: boolean;
}

const NAME_MAX = 200;

/** Whether a value of a bundle is a table at all: lists of columns and of rows. */
export function isTable(value: unknown): boolean {
  return Array.isArray(own(value, "columns")) && Array.isArray(own(value, "rows"));
}

/** The table, or one sentence on what is wrong with it. */
export function readTable(value: unknown): TableSource | string {
  const columns = own(value, "columns");
  const rows = own(value, "rows");
  if (!Array.isArray(columns) || !Array.isArray(rows)) return "it has no lists of columns and rows";
  const odd = rows.findIndex((row) => !Array.isArray(row));
  if (odd >= 0) return `row ${odd + 1} is not a list`;
  const total = countOf(own(value, "total")) ?? rows.length;
  return {
    columns: columns.map((name) => textOf(name, NAME_MAX)),
    rows: rows as unknown[][],
    total: Math.max(rows.length, Math.floor(Math.min(total, 1e12))),
  };
}

/** The numbers of the rows in order: numbers by size, then everything else by its text; what is missing comes last, whichever way the order goes. */
export function orderOf(rows: readonly unknown[][], { column, isDown }: Sort): number[] {
  const texts = new Intl.Collator("en", { numeric: true });
  const rank = (value: unknown) => (value === null || value === undefined ? 2 : typeof value === "number" || typeof value === "boolean" ? 0 : 1);
  const keyed = rows.map((row, number) => {
    const value = row[column];
    const order = rank(value);
    return { number, order, key: order === 0 ? Number(value) : textOf(value, 500) };
  });
  keyed.sort((a, b) => {
    if (a.order === 2 || b.order === 2) return a.order - b.order;
    let by = a.order - b.order;
    if (!by) by = a.order === 0 ? (a.key as number) - (b.key as number) : texts.compare(a.key as string, b.key as string);
    return isDown ? -by : by;
  });
  return keyed.map(({ number }) => number);
}

/** Columns of which every value shown is a number stand to the right. */
export function numericColumns(rows: readonly unknown[][], from: number, to: number): boolean[] {
  const flags: boolean[] = [];
  for (let column = from; column < to; column++) {
    let hasNumber = false;
    const isAll = rows.slice(0, 100).every((row) => {
      const value = row[column];
      if (typeof value === "number") hasNumber = true;
      return value === null || value === undefined || typeof value === "number";
    });
    flags.push(hasNumber && isAll);
  }
  return flags;
}
