// SPDX-License-Identifier: Apache-2.0
// A question to a table: an order, filters, a text to find. The session answers for all of its rows (session.ts); where
// it cannot, the rows at hand are asked (held.ts), and the table says so.
import type { Column, Page } from "./table";

/** The session has other rows by now than those that were shown: its answers must not stand beside them. */
export class Changed extends Error {}

export const OPS = ["eq", "ne", "lt", "le", "gt", "ge", "contains", "missing", "present"] as const;
export type Op = (typeof OPS)[number];

export const OP_NAMES: Readonly<Record<Op, string>> = {
  eq: "is", ne: "is not", lt: "is less than", le: "is at most", gt: "is more than", ge: "is at least", contains: "contains",
  missing: "is missing", present: "is there",
};
export const OP_SIGNS: Readonly<Record<Op, string>> = {
  eq: "=", ne: "≠", lt: "<", le: "≤", gt: ">", ge: "≥", contains: "contains", missing: "is missing", present: "is there",
};

export const takesValue = (op: Op) => op !== "missing" && op !== "present";

export const isOrder = (op: Op) => ["lt", "le", "gt", "ge"].includes(op);

export interface Filter {
  key: string;
  op: Op;
  value: string; // as it was typed
}

export interface Sort {
  key: string;
  isDown: boolean;
}

export interface Query {
  sort: Sort | null;
  filters: Filter[];
  search: string;
}

export const ALL: Query = { sort: null, filters: [], search: "" };
export const isAll = (query: Query) => query.sort === null && query.filters.length === 0 && query.search === "";
export const isFiltered = (query: Query) => query.filters.length > 0 || query.search !== "";

/** A click on a column's name: up, down, as it was. */
export function turnSort(query: Query, key: string): Query {
  const { sort } = query;
  return { ...query, sort: sort?.key !== key ? { key, isDown: false } : sort.isDown ? null : { key, isDown: true } };
}

/** One filter for each column: the new one takes the place of the old one, and null takes it away. */
export function setFilter(query: Query, key: string, filter: Filter | null): Query {
  const others = query.filters.filter((one) => one.key !== key);
  return { ...query, filters: filter ? [...others, filter] : others };
}

export interface Summary {
  count: number;
  missing: number;
  distinct: number | null; // null: they cannot be told apart
  min: unknown;
  max: unknown;
  mean: number | null;
  histogram: { edges: unknown[]; counts: number[] } | null; // edges are values of the column
  top: { value: unknown; count: number }[];
}

/** The one that answers for the whole table. */
export interface Asker {
  page: (query: Query, offset: number, limit: number, signal: AbortSignal) => Promise<Page>;
  summary: (query: Query, column: Column, signal: AbortSignal) => Promise<Summary | null>;
  csv: (query: Query) => Promise<Blob>;
}
