// SPDX-License-Identifier: Apache-2.0
// A table with all that can be asked of it: order, filters, search, a row by its number, summaries, CSV. The session answers
// for the whole table; where it cannot, the rows at hand do, and it is said.
import { computed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { sessions } from "../../state/feed";
import { failed, toast } from "../../state/toasts";
import { IconButton } from "../../ui";
import { IconClose, IconDownload } from "../../ui/icons";
import { csvOf } from "../charts/csv";
import { formatCount, plural } from "../format";
import { Notice, saveAs, Tool } from "../parts";
import { ColumnMenu } from "./column_menu";
import { Grid } from "./grid";
import { heldRows, heldSummary, valueOf } from "./held";
import { ALL, Changed, isAll, isFiltered, OP_SIGNS, setFilter, takesValue, turnSort, type Asker, type Filter, type Query } from "./query";
import { useRows, type Rows } from "./rows";
import { asOfText, type Column, type Table } from "./table";
import { isNumeric } from "./values";
import "./tables.css";

const TYPING_MS = 250; // a search is asked when the person has stopped typing
const TOOLS_FROM = 10; // rows: fewer are searched by looking

export interface ExplorerProps {
  table: Table;
  asker: Asker | null;
  session: string | null; // that is asked
  name: string; // of the file it is saved as
  part?: string; // the table is a part of something: what is said of that
}

/** The CSV of the rows at hand, index first as pandas writes it. */
export function heldCsv(table: Table, query: Query): { text: string; count: number } {
  const columns = [...table.index, ...table.columns];
  const rows = isAll(query) ? table.rows : heldRows(table, query);
  return { text: csvOf(columns.map(({ name }) => name), rows.map((row) => columns.map(({ key }) => valueOf(row, key)))), count: rows.length };
}

async function save({ table, asker, name }: ExplorerProps, query: Query, isHeld: boolean): Promise<void> {
  if (asker && !isHeld) {
    try {
      saveAs(await asker.csv(query), `${name}.csv`);
      return;
    } catch (cause) {
      if (table.rows.length >= table.total) toast(`${cause instanceof Changed ? "The frame has changed" : "The session did not answer"}: the table was saved from the page, where all of its rows are.`);
      else return failed("save the whole table", cause);
    }
  }
  const { text, count } = heldCsv(table, query);
  saveAs(text, `${name}.csv`, "text/csv");
  if (table.rows.length < table.total) toast(`Saved ${plural(count, "row")} of those that are here; the table has ${formatCount(table.total)}.`);
}

function countText(table: Table, rows: Rows, query: Query): string {
  const across = plural(table.columns.length, "column");
  if (!rows.isCounted && !rows.refusal) return "Searching…";
  if (isFiltered(query) && !rows.refusal) return `${formatCount(rows.count)} of ${plural(rows.isWhole ? table.total : table.rows.length, "row")} match`;
  if (!rows.isWhole) return `${formatCount(table.rows.length)} of ${plural(table.total, "row")} are here × ${across}`;
  return `${plural(rows.refusal ? table.total : rows.count, "row")} × ${across}`;
}

/** Why the session is not asked for more of the table. */
function WhyHeld({ rows }: { rows: Rows }) {
  if (rows.isChanged) return <Notice tone="info">{rows.why.replace(/^this frame/, "This frame")}.</Notice>;
  if (rows.isLost) return <Notice tone="info">The session no longer has this table. Run the cell again to see all of it.</Notice>;
  return <Notice tone="info">The session could not be asked for more of this table: {rows.why}. <Tool label="Ask again" onClick={rows.retry} /></Notice>;
}

function Notices({ table, rows, query, part }: { table: Table; rows: Rows; query: Query; part?: string }) {
  const isPart = !rows.isWhole || part !== undefined;
  const held = formatCount(table.rows.length);
  const isLacking = rows.isChanged || table.rows.length < table.total; // else all there is to ask for is here
  return (
    <>
      {rows.why && isLacking && <WhyHeld rows={rows} />}
      {rows.refusal && <Notice>{rows.refusal} <Tool label="Ask again" onClick={rows.retry} /></Notice>}
      {rows.asOf && <p class="out-soft">{asOfText("rows", rows.asOf)}</p>}
      {isPart && !isAll(query) && (
        <p class="out-soft" role="status">Order, filters and search cover only the {held} rows that are here{rows.isWhole ? "" : `, not all ${formatCount(table.total)}`}.</p>
      )}
      {part && <p class="out-soft">{part}</p>}
    </>
  );
}

function Chips({ query, columns, change }: { query: Query; columns: readonly Column[]; change: (query: Query) => void }) {
  const textOf = ({ key, op, value }: Filter) => {
    const name = columns.find((column) => column.key === key)?.name || "Index";
    return takesValue(op) ? `${name} ${OP_SIGNS[op]} ${value}` : `${name} ${OP_SIGNS[op]}`;
  };
  if (!query.filters.length) return null;
  return (
    <ul class="table-chips" aria-label="Filters">
      {query.filters.map((filter) => (
        <li key={filter.key} class="table-chip">
          <span>{textOf(filter)}</span>
          <IconButton label={`Remove the filter ${textOf(filter)}`} icon={IconClose} size="small" onClick={() => change(setFilter(query, filter.key, null))} />
        </li>
      ))}
    </ul>
  );
}

function GoTo({ most, go }: { most: number; go: (row: number) => void }) {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    const row = Number(text.replace(/[,_\s]/g, ""));
    if (text.trim() && Number.isInteger(row)) go(Math.max(0, Math.min(most, row)));
  };
  return (
    <form class="table-goto" onSubmit={submit}>
      <input class="input" inputMode="numeric" aria-label={`Go to row, 0 to ${formatCount(most)}`} placeholder="Go to row" value={text}
        onInput={(event) => setText(event.currentTarget.value)} />
    </form>
  );
}

/** The text of the search field; it becomes the query once typing has paused. */
function useSearch(change: (next: (query: Query) => Query) => void) {
  const [text, setText] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (typed: string) => {
    setText(typed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change((query) => ({ ...query, search: typed.trim() })), TYPING_MS);
  };
  return [text, type] as const;
}

/** A session that has woken is asked again, and says whether it still has the table. */
function useWaking(session: string | null, rows: Rows): void {
  const isAwake = useMemo(() => computed(() => {
    const state = sessions.value.get(session ?? "")?.state;
    return state !== "asleep" && state !== "starting";
  }), [session]).value;
  useEffect(() => {
    if (isAwake && rows.why && !rows.isLost) rows.retry();
  }, [isAwake]);
}

export function Explorer(props: ExplorerProps) {
  const { table, asker, session, name, part } = props;
  const [query, setQuery] = useState<Query>(ALL);
  const rows = useRows(table, asker, query);
  useWaking(session, rows);
  const [menu, setMenu] = useState<{ column: Column; anchor: HTMLElement } | null>(null);
  const [target, setTarget] = useState<{ row: number } | null>(null);
  const [search, type] = useSearch(setQuery);
  const [isSaving, setSaving] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const columns = useMemo(() => [...table.index, ...table.columns], [table]);
  const isHeld = asker === null || rows.why !== "";
  useEffect(() => setQuery((old) => (isAll(old) ? old : ALL)), [table]);

  const summarize = async (column: Column, signal: AbortSignal) => {
    if (asker && !isHeld) return asker.summary(query, column, signal);
    const held = heldRows(table, { ...query, sort: null });
    return heldSummary(held, column, isNumeric(column, held.map((row) => valueOf(row, column.key))));
  };
  const scope = table.rows.length < table.total && isHeld ? `Of the ${formatCount(table.rows.length)} rows that are here.` : isFiltered(query) ? "Of the rows that match." : "";
  const closeMenu = (refocus: boolean) => {
    setMenu(null);
    if (refocus) root.current?.querySelector<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });
  };
  const saveCsv = () => {
    setSaving(true);
    void save(props, query, isHeld).finally(() => setSaving(false));
  };
  if (!table.columns.length && !table.index.length && !table.rows.length) return <p class="out-soft">An empty table.</p>;
  return (
    <div class="table" ref={root}>
      <Chips query={query} columns={columns} change={setQuery} />
      <Grid table={table} rows={rows} query={query} name={name} target={target} onSort={({ key }) => setQuery(turnSort(query, key))}
        onMenu={(column, anchor) => setMenu(menu?.anchor === anchor ? null : { column, anchor })} />
      {menu && (
        <ColumnMenu key={menu.column.key} {...menu} isHeld={isHeld} isNumber={isNumeric(menu.column, table.rows.map((row) => valueOf(row, menu.column.key)))} query={query} scope={scope} summarize={(signal) => summarize(menu.column, signal)} onClose={closeMenu}
          onSort={(isDown) => setQuery({ ...query, sort: isDown === null ? null : { key: menu.column.key, isDown } })}
          onFilter={(filter) => setQuery(setFilter(query, menu.column.key, filter))} />
      )}
      {rows.count === 0 && rows.isCounted && !rows.refusal && isFiltered(query) && <p class="out-soft" role="status">No row passes.</p>}
      <div class="out-tools table-tools">
        <span class="out-soft" aria-live="polite">{countText(table, rows, query)}</span>
        {(table.total > TOOLS_FROM || search !== "") && (
          <>
            <input class="input table-search" type="search" aria-label="Search rows" placeholder="Search" value={search} onInput={(event) => type(event.currentTarget.value)} />
            <GoTo most={Math.max(0, rows.count - 1)} go={(row) => setTarget({ row })} />
          </>
        )}
        <Tool label="Save as CSV" icon={IconDownload} disabled={isSaving} onClick={saveCsv} />
      </div>
      <Notices table={table} rows={rows} query={query} part={part} />
    </div>
  );
}
