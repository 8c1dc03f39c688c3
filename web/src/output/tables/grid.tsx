// SPDX-License-Identifier: Apache-2.0
// The drawing of a table: only rows and columns in sight are in the document; the head and the index stay. One stop for the
// Tab key: arrows go from cell to cell, Enter on a head sorts, Space there opens its menu.
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { failed } from "../../state/toasts";
import { copyText } from "../parts";
import { chosenText, isChosen, moved, START, type Active, type Place } from "./active";
import { NUMBERS, useWidths, type Widths } from "./columns";
import { Head } from "./head";
import { valueOf } from "./held";
import type { Query } from "./query";
import type { Rows } from "./rows";
import type { Column, Row, Table } from "./table";
import { exactText, isMissing, shownText } from "./values";
import { useSight, type Sight } from "./virtual";

const ROW = 27; // pixels: as tables.css has it
const HEAD = 28;
const LEVEL = 17; // of a head: each further level, and the type
const ROWS_MAX = 400_000; // of one window: browsers draw no box of any height
const STEP = 24; // pixels by which a key changes a width

interface GridProps {
  table: Table;
  rows: Rows;
  query: Query;
  name: string;
  target: { row: number } | null; // a row to go to
  onSort: (column: Column) => void;
  onMenu: (column: Column, anchor: HTMLElement) => void;
}

function Cell({ row, column, id, place, isNumber, isIndex, left, state }: {
  row: Row | undefined; column: Column; id: string; place: number; isNumber: boolean; isIndex: boolean; left?: number; state: string;
}) {
  const value = row && (column === NUMBERS ? row.at : valueOf(row, column.key));
  const text = row ? shownText(value, column, row.texts?.[column.key]) : "…";
  const exact = row ? exactText(value, column, row.texts?.[column.key]) : "";
  const isGap = row !== undefined && isMissing(value);
  const classes = [isNumber && "is-number", isGap && "is-missing", left !== undefined && "is-fixed", !row && "is-coming", state].filter(Boolean).join(" ");
  const shared = {
    id, class: classes, "aria-colindex": place, title: row && (text !== exact || text.length > 30) ? exact.slice(0, 2000) : undefined,
    style: left === undefined ? undefined : { left: `${left}px` },
  };
  return isIndex ? <th scope="row" {...shared}>{text}</th> : <td {...shared}>{text}</td>;
}

/** The parts of one row of the document, in order: the index, what is left out, what is in sight, what is left out. */
function useParts(table: Table, widths: Widths, box: { current: HTMLDivElement | null }) {
  const index = table.index.length ? table.index : [NUMBERS];
  const indexWidth = index.reduce((sum, column) => sum + widths.of(column.key), 0);
  const across = useSight({
    box, count: table.columns.length, size: (i) => widths.of(table.columns[i]!.key), isHorizontal: true, before: indexWidth, overscan: 3, version: widths.version,
  });
  const isFixed = indexWidth <= (box.current?.clientWidth || 1000) * 0.55; // on a narrow screen the index scrolls away with the rest
  let left = 0;
  const lefts = index.map((column) => {
    const here = left;
    left += widths.of(column.key);
    return isFixed ? here : undefined;
  });
  return { index, indexWidth, across, lefts, all: [...index, ...table.columns] };
}

function Space({ sight, height }: { sight: "before" | "after"; height: number }) {
  return height > 0 ? <tr key={sight} aria-hidden="true" class="table-space"><td style={{ height: `${height}px` }} /></tr> : null;
}

/** Keeps what is in sight asked for. */
function useNeed(rows: Rows, down: Sight, base: number): void {
  const [first, last] = [down.items[0]?.index ?? 0, down.items.at(-1)?.index ?? 0];
  useEffect(() => rows.need(base + first, base + last));
}

/** Marks the frame while columns stand to the right of what is in sight. */
function useEdge(frame: { current: HTMLElement | null }, box: { current: HTMLElement | null }, width: number): void {
  useLayoutEffect(() => {
    const [around, element] = [frame.current, box.current];
    if (!around || !element) return;
    const note = () => around.classList.toggle("has-more", element.scrollLeft + element.clientWidth < element.scrollWidth - 1);
    const observer = new ResizeObserver(note);
    observer.observe(element);
    element.addEventListener("scroll", note, { passive: true });
    note();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", note);
    };
  }, [width]);
}

export function Grid({ table, rows, query, name, target, onSort, onMenu }: GridProps) {
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const widths = useWidths(table);
  const [base, setBase] = useState(0); // the row with which the window begins
  const [active, setActive] = useState<Active>(START);
  const [isFocused, setFocused] = useState(false);
  const { index, indexWidth, across, lefts, all } = useParts(table, widths, box);
  const headHeight = HEAD + LEVEL * (Math.max(1, ...all.map(({ levels, above = [] }) => levels.length + above.length)) - 1 + (all.some(({ dtype }) => dtype) ? 1 : 0));
  const first = Math.min(base, Math.max(0, rows.count - 1));
  const count = Math.min(ROWS_MAX, rows.count - first);
  const down = useSight({ box, count, size: () => ROW, before: headHeight, overscan: 8, version: null });
  useNeed(rows, down, first);

  const cellId = ({ row, column }: Place) => `${id}-${row}-${column}`;
  const show = ({ row, column }: Place) => {
    if (row >= 0 && (row < first || row >= first + count)) setBase(Math.max(0, row - ROWS_MAX / 2));
    if (row >= 0) down.show(row - first);
    if (column >= index.length) across.show(column - index.length);
  };
  const go = (to: Place, isExtended: boolean) => {
    setActive({ ...to, from: isExtended ? active.from : to });
    show(to);
  };
  useLayoutEffect(() => {
    if (!target) return;
    const row = Math.max(0, Math.min(rows.count - 1, target.row));
    setActive({ row, column: active.column, from: { row, column: active.column } });
    if (row < first || row >= first + count) setBase(Math.max(0, row - ROWS_MAX / 2));
    else down.top(row - first);
  }, [target]);
  useLayoutEffect(() => {
    if (base) down.top(Math.max(0, active.row - base));
  }, [base]);
  useLayoutEffect(() => {
    setBase(0);
    setActive((old) => ({ ...old, row: Math.min(old.row, 0), from: { ...old, row: Math.min(old.row, 0) } }));
    if (box.current) box.current.scrollTop = 0;
  }, [query]);

  const copy = () => {
    const text = chosenText(active, rows, all, !table.index.length);
    if (text === null) failed("copy", "some of these rows have not come yet");
    else void copyText(text);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    const column = all[active.column]!;
    const isHead = active.row === -1;
    const page = Math.max(1, Math.floor(((box.current?.clientHeight ?? 400) - headHeight) / ROW) - 1);
    const to = event.altKey ? null : moved(active, event, { rows: rows.count, columns: all.length, page });
    if (to) go(to, event.shiftKey);
    else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "c" && !getSelection()?.toString()) copy();
    else if (isHead && event.key === "Enter" && column !== NUMBERS) onSort(column);
    else if (isHead && event.key === " " && column !== NUMBERS) onMenu(column, document.getElementById(cellId(active)) ?? box.current!);
    else if (event.altKey && event.key === "ArrowRight") widths.change(column.key, STEP);
    else if (event.altKey && event.key === "ArrowLeft") widths.change(column.key, -STEP);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onPoint = (event: MouseEvent) => {
    const cell = event.target instanceof Element ? event.target.closest("td, th") : null;
    const [, row, column] = /-(-?\d+)-(\d+)$/.exec(cell?.id ?? "") ?? [];
    if (row === undefined || Number(row) < 0) return;
    const to = { row: Number(row), column: Number(column) };
    setActive({ ...to, from: event.shiftKey ? active.from : to });
  };
  const state = (at: Place) => {
    if (!isFocused) return "";
    if (at.row === active.row && at.column === active.column) return "is-active";
    return isChosen(active, at) ? "is-chosen" : "";
  };
  const seen = across.items.map((item) => ({ column: table.columns[item.index]!, place: index.length + item.index }));
  const width = indexWidth + across.before + across.after + seen.reduce((sum, { column }) => sum + widths.of(column.key), 0);
  useEdge(frame, box, width);
  useLayoutEffect(() => {
    const known = down.items.flatMap((item) => rows.at(first + item.index) ?? []);
    widths.fit([...table.index, ...seen.map(({ column }) => column)], known);
  });
  return (
    <div class="table-frame" ref={frame}>
      <div class="table-box" ref={box}>
        <table role="grid" tabIndex={0} aria-label={`Rows of ${name}`} aria-rowcount={rows.isCounted ? rows.count + 1 : -1} aria-colcount={all.length} aria-busy={rows.isBusy}
          aria-multiselectable="true" aria-activedescendant={isFocused ? cellId(active) : undefined} style={{ width: `${width}px` }}
          onKeyDown={onKeyDown} onClick={onPoint} onFocus={() => setFocused(true)} onBlur={() => setFocused(false)}>
          <colgroup>
            {index.map((column) => <col key={column.key} style={{ width: `${widths.of(column.key)}px` }} />)}
            <col style={{ width: `${across.before}px` }} />
            {seen.map(({ column }) => <col key={column.key} style={{ width: `${widths.of(column.key)}px` }} />)}
            <col style={{ width: `${across.after}px` }} />
          </colgroup>
          <thead>
            <tr aria-rowindex={1} style={{ height: `${headHeight}px` }}>
              {index.map((column, i) => column === NUMBERS
                ? <th key="n" scope="col" id={cellId({ row: -1, column: i })} class="table-head table-corner is-fixed" aria-colindex={1} style={{ left: "0" }}><span class="out-hidden">Row</span></th>
                : <Head key={column.key} {...headOf(column, i)} left={lefts[i]} />)}
              <td class="table-space" aria-hidden="true" />
              {seen.map(({ column, place }) => <Head key={column.key} {...headOf(column, place)} />)}
              <td class="table-space" aria-hidden="true" />
            </tr>
          </thead>
          <tbody>
            <Space sight="before" height={down.before} />
            {down.items.map((item) => {
              const number = first + item.index;
              const row = rows.at(number);
              const cellOf = (column: Column, place: number) => ({
                row, column, place: place + 1, isNumber: widths.isNumber(column.key) || column === NUMBERS, id: cellId({ row: number, column: place }),
                state: state({ row: number, column: place }),
              });
              return (
                <tr key={number} aria-rowindex={number + 2}>
                  {index.map((column, i) => <Cell key={column.key} {...cellOf(column, i)} isIndex left={lefts[i]} />)}
                  <td class="table-space" aria-hidden="true" />
                  {seen.map(({ column, place }) => <Cell key={column.key} {...cellOf(column, place)} isIndex={false} />)}
                  <td class="table-space" aria-hidden="true" />
                </tr>
              );
            })}
            <Space sight="after" height={down.after} />
          </tbody>
        </table>
      </div>
    </div>
  );

  function headOf(column: Column, place: number) {
    return {
      column, id: cellId({ row: -1, column: place }), place: place + 1, isNumber: widths.isNumber(column.key), sort: query.sort,
      isActive: isFocused && active.row === -1 && active.column === place, isFiltered: query.filters.some(({ key }) => key === column.key),
      onSort: () => onSort(column), onMenu: (anchor: HTMLElement) => onMenu(column, anchor), onDraw: (event: unknown) => widths.begin(column.key)?.(event), onFit: () => widths.reset(column.key),
    };
  }
}
