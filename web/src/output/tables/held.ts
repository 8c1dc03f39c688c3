// SPDX-License-Identifier: Apache-2.0
// The rows at hand, asked: filters and order are put into TanStack's row models; the meaning of each is here.
import {
  createTable, getCoreRowModel, getFilteredRowModel, getSortedRowModel, type ColumnDef, type FilterFn, type SortingFn, type TableOptionsResolved,
} from "@tanstack/table-core";
import type { Filter, Query, Summary } from "./query";
import type { Column, Row, Table } from "./table";
import { compare, exactText, isMissing, shownText, wantedBy } from "./values";

const BINS = 20;
const TOP = 10;

export const valueOf = (row: Row, key: string): unknown => (key.startsWith("i") ? row.index[Number(key.slice(1))] : row.cells[Number(key)]);

/** Whether a value passes a filter. A value that is missing passes none but "is missing". */
export function passes(value: unknown, { op, value: wanted }: Filter, column: Column): boolean {
  if (op === "missing") return isMissing(value);
  if (op === "present") return !isMissing(value);
  if (isMissing(value)) return false;
  if (op === "contains") return exactText(value, column).toLowerCase().includes(wanted.toLowerCase());
  const order = typeof value === "boolean" ? compare(exactText(value, column).toLowerCase(), wanted.trim().toLowerCase()) : compare(value, wantedBy(value, wanted));
  switch (op) {
    case "eq":
      return order === 0;
    case "ne":
      return order !== 0;
    case "lt":
      return order < 0;
    case "le":
      return order <= 0;
    case "gt":
      return order > 0;
    case "ge":
      return order >= 0;
  }
}

const filterFn: FilterFn<Row> = (row, key, { filter, column }: { filter: Filter; column: Column }) => passes(valueOf(row.original, key), filter, column);
const sortingFn: SortingFn<Row> = (a, b, key) => compare(valueOf(a.original, key), valueOf(b.original, key));

/** The rows at hand that pass, in order. */
export function heldRows(table: Table, query: Query): Row[] {
  const all = [...table.index, ...table.columns];
  const find = (key: string) => all.find((column) => column.key === key);
  const columns = all.map((column): ColumnDef<Row> => ({
    id: column.key, accessorFn: (row) => valueOf(row, column.key) ?? undefined, filterFn, sortingFn, sortUndefined: "last",
  }));
  const wanted = query.search.toLowerCase();
  const asked = createTable<Row>({
    data: table.rows, columns, renderFallbackValue: null, onStateChange: () => {},
    getCoreRowModel: getCoreRowModel(), getFilteredRowModel: getFilteredRowModel(), getSortedRowModel: getSortedRowModel(),
    getColumnCanGlobalFilter: () => true,
    globalFilterFn: (row, key) => shownText(valueOf(row.original, key), find(key)!, row.original.texts?.[key]).toLowerCase().includes(wanted),
    state: {},
  } as TableOptionsResolved<Row>);
  asked.setOptions((options) => ({
    ...options,
    state: {
      ...asked.initialState,
      globalFilter: query.search || undefined,
      columnFilters: query.filters.flatMap((filter) => (find(filter.key) ? [{ id: filter.key, value: { filter, column: find(filter.key) } }] : [])),
      sorting: query.sort && find(query.sort.key) ? [{ id: query.sort.key, desc: query.sort.isDown }] : [],
    },
  }));
  return asked.getSortedRowModel().rows.map((row) => row.original);
}

function histogramOf(numbers: readonly number[], low: number, high: number): Summary["histogram"] {
  if (!(high > low) || !Number.isFinite(high - low)) return null;
  const counts = Array.from({ length: BINS }, () => 0);
  for (const number of numbers) counts[Math.min(BINS - 1, Math.floor(((number - low) / (high - low)) * BINS))]!++;
  return { edges: Array.from({ length: BINS + 1 }, (_, i) => low + ((high - low) * i) / BINS), counts };
}

/** The summary of a column from the rows at hand. */
export function heldSummary(rows: readonly Row[], column: Column, isNumber: boolean): Summary {
  const values = rows.map((row) => valueOf(row, column.key)).filter((value) => !isMissing(value) && value !== "");
  const kinds = new Map<string, { value: unknown; count: number }>();
  for (const value of values) {
    const text = exactText(value, column);
    const kind = kinds.get(text);
    if (kind) kind.count++;
    else kinds.set(text, { value, count: 1 });
  }
  const inOrder = [...kinds.values()].map(({ value }) => value).sort(compare);
  const numbers = isNumber ? values.map(Number).filter(Number.isFinite) : [];
  const [low, high] = numbers.reduce(([least, most], number) => [Math.min(least, number), Math.max(most, number)], [Infinity, -Infinity]);
  return {
    count: values.length, missing: rows.length - values.length, distinct: kinds.size, min: inOrder[0], max: inOrder.at(-1),
    mean: numbers.length ? numbers.reduce((sum, number) => sum + number, 0) / numbers.length : null,
    histogram: isNumber ? histogramOf(numbers, low, high) : null,
    top: isNumber ? [] : [...kinds.values()].sort((a, b) => b.count - a.count).slice(0, TOP),
  };
}
