// SPDX-License-Identifier: Apache-2.0
// How wide each column is: by what it holds at first, then as the person draws it. TanStack keeps the sizes and follows the
// pointer.
import { createTable, getCoreRowModel, type ColumnSizingInfoState, type ColumnSizingState, type TableOptionsResolved, type Updater } from "@tanstack/table-core";
import { useMemo, useState } from "preact/hooks";
import { valueOf } from "./held";
import type { Column, Row, Table } from "./table";
import { isNumeric, shownText } from "./values";

// Pixels at 13, of the widest of common fonts: what is cut reads as another value. The first kind that fits counts.
const DIGIT = 8.4;
const LETTERS: readonly [RegExp, number][] = [
  [/\d/, DIGIT], [/[ .,:;'!|()[\]ijltfrI]/, 5.4], [/[mwMW%@]/, 13], [/[A-Z&]/, 10.3], [/[\u0021-\u024f]/, 8.3], [/./u, 14],
];
const BOLD = 1.08; // of a name, to a value
const SMALL = 11 / 13; // of a type's name and of upper levels, to a value
const TEXT_MAX = 80; // letters that are measured: no column begins wider
const EDGES = 22;
const BUTTONS = 32; // of the head: the sort's mark, the menu
const [WIDTH_MIN, WIDTH_MAX] = [56, 340];
const ROWS_SEEN = 50;

const STILL: ColumnSizingInfoState = {
  startOffset: null, startSize: null, deltaOffset: null, deltaPercentage: null, isResizingColumn: false, columnSizingStart: [],
};

const widths = new Map<string, number>();

function letterWidth(letter: string): number {
  const known = widths.get(letter);
  if (known !== undefined) return known;
  const width = LETTERS.find(([kind]) => kind.test(letter))?.[1] ?? DIGIT;
  if (widths.size < 1000) widths.set(letter, width);
  return width;
}

/** The pixels that a text takes, rather too many than too few. */
function textWidth(text: string): number {
  let width = 0;
  for (const letter of text.slice(0, TEXT_MAX)) width += letterWidth(letter);
  return width;
}

const widestOf = (column: Column, rows: readonly Row[]) =>
  rows.reduce((most, row) => Math.max(most, textWidth(shownText(valueOf(row, column.key), column, row.texts?.[column.key]))), 0);

const roomFor = (width: number) => Math.round(Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, width + EDGES)));

/** `last`: the largest number of a row, for which an index of numbers must have room. */
export function widthOf(column: Column, rows: readonly Row[], last: number): number {
  const least = column.key.startsWith("i") && /^u?int/i.test(column.dtype) ? String(last).length * DIGIT : 0;
  const widest = Math.max(least, widestOf(column, rows.slice(0, ROWS_SEEN)));
  const name = textWidth(column.levels.at(-1) ?? "") * BOLD;
  const head = Math.max(name, ...[...(column.above ?? []), ...column.levels.slice(0, -1), column.dtype].map((text) => textWidth(text) * SMALL)) + BUTTONS;
  return roomFor(Math.max(widest, head));
}

export interface Widths {
  of: (key: string) => number;
  isNumber: (key: string) => boolean;
  begin: (key: string) => ((event: unknown) => void) | undefined; // a press on the edge of a column's head
  change: (key: string, by: number) => void;
  reset: (key: string) => void;
  fit: (columns: readonly Column[], rows: readonly Row[]) => void; // room for all digits of these rows: columns only grow
  version: unknown;
}

/** Rows without an index are numbered, in a column of this name. */
export const NUMBERS: Column = { key: "i0", name: "", levels: [""], dtype: "", decimals: null, missing: "" };

export function useWidths(table: Table): Widths {
  const [sizing, setSizing] = useState<ColumnSizingState>({});
  const [info, setInfo] = useState(STILL);
  const [grown, setGrown] = useState(0);
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
  const fit = (columns: readonly Column[], rows: readonly Row[]) => {
    const narrow = columns.filter(({ key }) => numbers.has(key)).flatMap((column) => {
      const [known, width] = [grid.getColumn(column.key)?.columnDef, roomFor(widestOf(column, rows))];
      return known && width > known.size! ? [{ known, width }] : [];
    });
    for (const { known, width } of narrow) known.size = width;
    if (narrow.length) setGrown((count) => count + 1);
  };
  const version = useMemo(() => ({}), [sizing, grown]);
  return {
    of, fit, version, isNumber: (key) => numbers.has(key),
    begin: (key) => grid.getFlatHeaders().find((head) => head.column.id === key)?.getResizeHandler(document),
    change: (key, by) => setSizing((old) => ({ ...old, [key]: Math.max(40, Math.min(1200, of(key) + by)) })),
    reset: (key) => setSizing(({ [key]: _gone, ...rest }) => rest),
  };
}
