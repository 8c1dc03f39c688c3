// SPDX-License-Identifier: Apache-2.0
// The menu of one column: its order, its filter, and a summary of its values.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button, IconButton, Loading } from "../../ui";
import { IconClose, IconDown, IconUp } from "../../ui/icons";
import { formatCount, formatNumber } from "../format";
import { isOrder, OP_NAMES, OPS, takesValue, type Filter, type Op, type Query, type Summary } from "./query";
import type { Column } from "./table";
import { isOddComma, shownText } from "./values";

const GAP = 4;
const [WIDTH, HEIGHT] = [220, 48]; // of the histogram

function Histogram({ summary, column }: { summary: Summary; column: Column }) {
  const { edges, counts } = summary.histogram!;
  const most = Math.max(1, ...counts);
  const step = WIDTH / counts.length;
  const peak = counts.indexOf(Math.max(...counts));
  // An edge is a double; where it stands for the smallest or largest value, that one has all its digits.
  const end = (edge: unknown, value: unknown) => shownText(Number(value) === edge ? value : edge, column);
  const ends = ` from ${end(edges[0], summary.min)} to ${end(edges.at(-1), summary.max)}`;
  return (
    <svg class="table-histogram" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" preserveAspectRatio="none"
      aria-label={`Histogram of ${counts.length} bins${ends}; the fullest is number ${peak + 1}, with ${formatCount(counts[peak]!)} rows`}>
      {counts.map((count, i) => (
        <rect key={i} x={i * step + 0.5} width={Math.max(1, step - 1)} y={HEIGHT - (count / most) * (HEIGHT - 2) - (count ? 1 : 0)}
          height={(count / most) * (HEIGHT - 2) + (count ? 1 : 0)} rx="1" />
      ))}
    </svg>
  );
}

function Facts({ summary, column }: { summary: Summary; column: Column }) {
  const rows: [string, string][] = [["Values", formatCount(summary.count)], ["Missing", formatCount(summary.missing)]];
  if (summary.distinct !== null) rows.push(["Distinct", formatCount(summary.distinct)]);
  if (summary.min !== undefined && summary.min !== null) rows.push(["Min", shownText(summary.min, column)]);
  if (summary.max !== undefined && summary.max !== null) rows.push(["Max", shownText(summary.max, column)]);
  if (summary.mean !== null) rows.push(["Mean", formatNumber(summary.mean)]);
  return (
    <>
      {summary.histogram && <Histogram summary={summary} column={column} />}
      <dl class="table-facts">
        {rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd title={value}>{value}</dd></div>)}
      </dl>
      {summary.top.length > 0 && (
        <table class="table-top">
          <caption>Most frequent</caption>
          <tbody>
            {summary.top.map(({ value, count }, i) => (
              <tr key={i}><th scope="row" title={shownText(value, column)}>{shownText(value, column)}</th><td>{formatCount(count)}</td></tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

/** Beside what it belongs to, and inside of the window. */
function place(panel: HTMLElement, anchor: HTMLElement): void {
  const at = anchor.getBoundingClientRect();
  const { width, height } = panel.getBoundingClientRect();
  panel.style.top = `${Math.max(GAP, Math.min(at.bottom + GAP, innerHeight - height - GAP))}px`;
  panel.style.left = `${Math.max(GAP, Math.min(at.left, innerWidth - width - GAP))}px`;
}

interface MenuProps {
  column: Column;
  isNumber: boolean;
  isHeld: boolean; // the session is not asked: the rows at hand are all there is
  anchor: HTMLElement;
  query: Query;
  scope: string; // "" when all rows are asked; else which
  summarize: (signal: AbortSignal) => Promise<Summary | null>;
  onSort: (isDown: boolean | null) => void;
  onFilter: (filter: Filter | null) => void;
  onClose: (refocus: boolean) => void;
}

export function ColumnMenu({ column, isNumber, isHeld, anchor, query, scope, summarize, onSort, onFilter, onClose }: MenuProps) {
  const panel = useRef<HTMLDivElement>(null);
  const [summary, setSummary] = useState<Summary | string | null>(null);
  const filter = query.filters.find(({ key }) => key === column.key);
  const [op, setOp] = useState<Op>(filter?.op ?? (column.dtype === "object" || column.dtype === "" ? "contains" : "eq"));
  const [value, setValue] = useState(filter?.value ?? "");
  const [hint, setHint] = useState("");
  const name = column.levels.filter(Boolean).join(" ") || (column.key.startsWith("i") ? "Index" : "(no name)");
  const sort = query.sort?.key === column.key ? query.sort : null;

  useLayoutEffect(() => {
    const element = panel.current!;
    if (element.showPopover) element.showPopover();
    place(element, anchor);
    element.querySelector<HTMLElement>("select, button")?.focus();
  }, []);
  useLayoutEffect(() => place(panel.current!, anchor), [summary]);

  useEffect(() => {
    const stop = new AbortController();
    setSummary(null);
    summarize(stop.signal).then(
      (found) => !stop.signal.aborted && setSummary(found ?? "There is no summary of an index level."),
      (cause: unknown) => !stop.signal.aborted && setSummary(`No summary: ${cause instanceof Error ? cause.message : String(cause)}`),
    );
    return () => stop.abort();
  }, [column, query.filters, query.search]);

  useEffect(() => {
    const stop = new AbortController();
    const leave = (event: Event) => {
      if (event.target instanceof Node && (panel.current?.contains(event.target) || anchor.contains(event.target))) return;
      onClose(false);
    };
    addEventListener("pointerdown", leave, { signal: stop.signal, capture: true });
    addEventListener("resize", leave, { signal: stop.signal });
    return () => stop.abort();
  }, [anchor]);

  const apply = (event: Event) => {
    event.preventDefault();
    if (takesValue(op) && value === "") return;
    if (isNumber && takesValue(op) && op !== "contains" && isOddComma(value)) return setHint("This is no number. Write decimals with a point: 1.5.");
    if (isOrder(op) && column.dtype.startsWith("interval")) return setHint("An interval is neither more nor less than a value.");
    if (isOrder(op) && column.dtype.startsWith("period") && isHeld) return setHint("Only the session can compare periods, and it does not have this table now. Run the cell again.");
    onFilter({ key: column.key, op, value: takesValue(op) ? value : "" });
    onClose(true);
  };
  return (
    <div ref={panel} class="table-menu" role="dialog" aria-label={`Column ${name}`} popover="manual"
      onKeyDown={(event) => { if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); onClose(true); } }}>
      <div class="table-menu-head">
        <strong title={name}>{name}</strong>
        {column.dtype && <span class="table-dtype">{column.dtype}</span>}
        <IconButton label="Close" icon={IconClose} size="small" onClick={() => onClose(true)} />
      </div>
      <div class="table-menu-sort" role="group" aria-label="Order">
        <Button size="small" icon={IconUp} aria-pressed={sort?.isDown === false} onClick={() => onSort(sort?.isDown === false ? null : false)}>Ascending</Button>
        <Button size="small" icon={IconDown} aria-pressed={sort?.isDown === true} onClick={() => onSort(sort?.isDown === true ? null : true)}>Descending</Button>
      </div>
      <form class="table-menu-filter" onSubmit={apply}>
        <select class="input" aria-label={`How ${name} is filtered`} value={op} onChange={(event) => setOp(event.currentTarget.value as Op)}>
          {OPS.map((one) => <option key={one} value={one}>{OP_NAMES[one]}</option>)}
        </select>
        {takesValue(op) && (
          <input class="input" aria-label={`Filter ${name} by`} value={value} placeholder="a value" onInput={(event) => { setValue(event.currentTarget.value); setHint(""); }} />
        )}
        <Button size="small" tone="primary" type="submit" disabled={takesValue(op) && value === ""}>Filter</Button>
        {filter && <Button size="small" onClick={() => { onFilter(null); onClose(true); }}>Clear</Button>}
      </form>
      {hint && <p class="out-soft" role="alert">{hint}</p>}
      <div class="table-menu-summary" aria-live="polite">
        {summary === null ? <Loading label="Reading the column" /> : typeof summary === "string" ? <p class="out-soft">{summary}</p> : <Facts summary={summary} column={column} />}
        {summary !== null && scope && <p class="out-soft">{scope}</p>}
      </div>
    </div>
  );
}
