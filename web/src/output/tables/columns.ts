// SPDX-License-Identifier: Apache-2.0
// How wide each column is: by what it holds at first, then as the person draws it. TanStack keeps the sizes and follows the
// pointer.
import { createTable, getCoreRowModel, type ColumnSizingInfoState, type ColumnSizingState, type TableOptionsResolved, type Updater } from "@tanstack/table-core";
import { useMemo, useState } from "preact/hooks";
import { valueOf } from "./held";
import type { Column, Row, Table } from "./table";
import { isNumeric, shownText } from "./values";

const LETTER = 7.4; // pixels, about
const DIGIT = 8.4; // of the widest fonts: a number that is cut reads as another one
const SMALL = 6.3; // of a type's name
const EDGES = 22;
const BUTTONS = 32; // of the head: the sort's mark, the menu
const [WIDTH_MIN, WIDTH_MAX] = [56, 340];
const ROWS_SEEN = 50;

const STILL: ColumnSizingInfoState = {
  startOffset: null, startSize: null, deltaOffset: null, deltaPercentage: null, isResizingColumn: false, columnSizingStart: [],
};

/** `last`: the largest number of a row, for which an index of numbers must have room. */
export function widthOf(column: Column, rows: readonly Row[], last: number): number {
  const least = column.key.startsWith("i") && /^u?int/i.test(column.dtype) ? String(last).length : 0;
  const longest = rows.slice(0, ROWS_SEEN).reduce((most, row) => Math.max(most, shownText(valueOf(row, column.key), column).length), least);
  const letter = isNumeric(column, rows.map((row) => valueOf(row, column.key))) ? DIGIT : LETTER;
  const head = Math.max(...column.levels.map((level) => level.length * LETTER), column.dtype.length * SMALL) + BUTTONS;
  return Math.round(Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, Math.max(longest * letter, head) + EDGES)));
}

export interface Widths {
  of: (key: string) => number;
  isNumber: (key: string) => boolean;
  begin: (key: string) => ((event: unknown) => void) | undefined; // a press on the edge of a column's head
  change: (key: string, by: number) => void;
  reset: (key: string) => void;
  version: unknown;
}

/** Rows without an index are numbered, in a column of this name. */
export const NUMBERS: Column = { key: "i0", name: "", levels: [""], dtype: "", decimals: null, missing: "" };

export function useWidths(table: Table): Widths {
  const [sizing, setSizing] = useState<ColumnSizingState>({});
  const [info, setInfo] = useState(STILL);
  const { grid, numbers } = useMemo(() => {
    const index = table.index.length ? table.index : [NUMBERS];
    const first = (column: Column) => (table.index.length || column !== NUMBERS
      ? widthOf(column, table.rows, table.total - 1) : Math.max(WIDTH_MIN, String(table.total).length * DIGIT + EDGES));
    const all = [...index, ...table.columns];
    return {
      numbers: new Set(all.filter((column) => isNumeric(column, table.rows.map((row) => valueOf(row, column.key)))).map(({ key }) => key)),
      grid: createTable<Row>({
        data: [], columns: all.map((column) => ({ id: column.key, size: first(column), minSize: 40, maxSize: 1200 })), state: {},
        renderFallbackValue: null, onStateChange: () => {}, getCoreRowModel: getCoreRowModel(), columnResizeMode: "onChange",
      } as TableOptionsResolved<Row>),
    };
  }, [table]);
  const told = <T,>(set: (change: (old: T) => T) => void) => (next: Updater<T>) => set((old) => (typeof next === "function" ? (next as (old: T) => T)(old) : next));
  grid.setOptions((options) => ({
    ...options, state: { ...grid.initialState, columnSizing: sizing, columnSizingInfo: info },
    onColumnSizingChange: told(setSizing), onColumnSizingInfoChange: told(setInfo),
  }));
  const of = (key: string) => grid.getColumn(key)?.getSize() ?? WIDTH_MIN;
  return {
    of, version: sizing, isNumber: (key) => numbers.has(key),
    begin: (key) => grid.getFlatHeaders().find((head) => head.column.id === key)?.getResizeHandler(document),
    change: (key, by) => setSizing((old) => ({ ...old, [key]: Math.max(40, Math.min(1200, of(key) + by)) })),
    reset: (key) => setSizing(({ [key]: _gone, ...rest }) => rest),
  };
}
