// SPDX-License-Identifier: Apache-2.0
// A table: by pages of rows and of columns, in the order of any column. Only one page exists in the document.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { failed } from "../../state/toasts";
import { csvOf } from "../charts/csv";
import { momentOf, momentText } from "../charts/moments";
import { textOf } from "../checks";
import { formatCount, plural } from "../format";
import { saveAs, Tool } from "../parts";
import { numericColumns, orderOf, readTable, type Sort, type TableSource } from "./table";
import "./tables.css";

const PAGE_ROWS = 20;
const PAGE_COLUMNS = 30;
const CHUNK = 2000; // rows that are asked for at once
const ROWS_MAX = 200_000; // rows that the page holds
const CELL_MAX = 400;

/** The rows that are here, and a way to have more of them. */
function useRows(source: TableSource) {
  const [rows, setRows] = useState(source.rows);
  const [isBusy, setBusy] = useState(false);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => {
    setRows(source.rows);
    return () => stop.current?.abort();
  }, [source]);
  const most = Math.min(source.total, ROWS_MAX);

  /** Sees to it that the first `count` rows are here; answers with all that are. */
  const need = async (count: number): Promise<unknown[][]> => {
    const wanted = Math.min(count, most);
    let have = rows;
    if (have.length >= wanted || !source.more || isBusy) return have;
    const { signal } = (stop.current = new AbortController());
    setBusy(true);
    try {
      while (have.length < wanted && !signal.aborted) {
        const part = readTable(await source.more(have.length, CHUNK, signal));
        if (typeof part === "string" || part.rows.length === 0) break;
        have = [...have, ...part.rows];
        setRows(have);
      }
    } catch (cause) {
      failed("load more rows", cause);
    } finally {
      setBusy(false);
    }
    return have;
  };
  return { rows, isBusy, need, reach: source.more ? most : rows.length };
}

function Head({ name, isNumber, sort, column, onSort }: { name: string; isNumber: boolean; sort: Sort | null; column: number; onSort: (column: number) => void }) {
  const isSorted = sort?.column === column;
  return (
    <th scope="col" class={isNumber ? "is-number" : ""} aria-sort={isSorted ? (sort.isDown ? "descending" : "ascending") : "none"}>
      <button type="button" onClick={() => onSort(column)} title={name}>
        <span class="table-name">{name || "\u00a0"}</span>
        <span class="table-sort" aria-hidden="true">{isSorted ? (sort.isDown ? "↓" : "↑") : ""}</span>
      </button>
    </th>
  );
}

/** A number with the digits that matter, a moment without its zeros; all of it is in the tooltip, and in the CSV. */
function shortValue(value: unknown, whole: string): string {
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  if (typeof value === "string" && value[10] === "T") {
    const moment = momentOf(value);
    if (moment !== null && !/(Z|[+-]\d\d:?\d\d)$/.test(value)) return momentText(moment);
  }
  return whole;
}

function Cell({ value, isNumber }: { value: unknown; isNumber: boolean }) {
  if (value === null || value === undefined) return <td class={isNumber ? "is-number is-missing" : "is-missing"}>–</td>;
  const whole = textOf(value, CELL_MAX);
  const text = shortValue(value, whole);
  return <td class={isNumber ? "is-number" : ""} title={text !== whole || text.length > 40 ? whole : undefined}>{text}</td>;
}

function Pager({ first, last, total, what, onStep }: { first: number; last: number; total: number; what: "page" | "columns"; onStep: (by: number) => void }) {
  const [back, on] = what === "page" ? ["Previous page", "Next page"] : ["Previous columns", "Next columns"];
  return (
    <span class="table-pager">
      <button type="button" class="out-tool" aria-label={back} title={back} disabled={first <= 1} onClick={() => onStep(-1)}>‹</button>
      <span class="out-soft" aria-live="polite">
        {what === "columns" && "columns "}{formatCount(first)}–{formatCount(last)} of {formatCount(total)}
      </span>
      <button type="button" class="out-tool" aria-label={on} title={on} disabled={last >= total} onClick={() => onStep(1)}>›</button>
    </span>
  );
}

export function TableView({ source, name = "table", pageRows = PAGE_ROWS }: { source: TableSource; name?: string; pageRows?: number }) {
  const { rows, isBusy, need, reach } = useRows(source);
  const [page, setPage] = useState(0);
  const [firstColumn, setFirstColumn] = useState(0);
  const [sort, setSort] = useState<Sort | null>(null);
  const order = useMemo(() => (sort ? orderOf(rows, sort) : null), [rows, sort]);
  const lastColumn = Math.min(firstColumn + PAGE_COLUMNS, source.columns.length);
  const isNumber = useMemo(() => numericColumns(source.rows, firstColumn, lastColumn), [source, firstColumn, lastColumn]);
  const first = page * pageRows;
  const shown = Array.from({ length: Math.max(0, Math.min(pageRows, rows.length - first)) }, (_, i) => order?.[first + i] ?? first + i);
  const step = (by: number) => {
    const next = Math.max(0, page + by);
    void need((next + 1) * pageRows).then((have) => {
      if (next * pageRows < have.length) setPage(next);
    });
  };
  const sortBy = (column: number) => {
    setSort(sort?.column !== column ? { column, isDown: false } : sort.isDown ? null : { column, isDown: true });
    setPage(0);
  };
  const save = () => void need(source.total).then((have) => saveAs(csvOf(source.columns, have), `${name}.csv`, "text/csv"));
  if (!source.columns.length && !source.rows.length) return <p class="out-soft">An empty table.</p>;
  return (
    <div class="table">
      <div class="table-box" tabIndex={0} role="group" aria-label={`Rows of ${name}`}>
        <table aria-busy={isBusy} aria-rowcount={source.total}>
          <caption class="out-hidden">{plural(source.total, "row")}, {plural(source.columns.length, "column")}</caption>
          <thead>
            <tr>
              <th scope="col" class="table-corner"><span class="out-hidden">Row</span></th>
              {source.columns.slice(firstColumn, lastColumn).map((column, i) => (
                <Head key={firstColumn + i} name={column} isNumber={isNumber[i] ?? false} column={firstColumn + i} sort={sort} onSort={sortBy} />
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((number) => (
              <tr key={number}>
                <th scope="row">{number}</th>
                {isNumber.map((flag, j) => <Cell key={j} value={rows[number]?.[firstColumn + j]} isNumber={flag} />)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="out-tools">
        {reach > pageRows
          ? <Pager what="page" first={first + 1} last={first + shown.length} total={reach} onStep={step} />
          : <span class="out-soft">{plural(source.total, "row")} × {plural(source.columns.length, "column")}</span>}
        {source.columns.length > PAGE_COLUMNS && (
          <Pager what="columns" first={firstColumn + 1} last={lastColumn} total={source.columns.length} onStep={(by) => setFirstColumn(firstColumn + by * PAGE_COLUMNS)} />
        )}
        {reach < source.total && <span class="out-soft">of {plural(source.total, "row")} in all</span>}
        {sort && rows.length < reach && (
          <Tool label={`Sort all ${formatCount(reach)} rows`} disabled={isBusy} onClick={() => void need(source.total)} />
        )}
        {isBusy && <span class="out-soft" role="status">Loading rows…</span>}
        <Tool label="Save as CSV" disabled={isBusy} onClick={save} />
      </div>
    </div>
  );
}
