// SPDX-License-Identifier: Apache-2.0
// The output of a cell: its items in the order they came, the files, and how it ended.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { CellMark } from "../api/types";
import { BundleView, TableItem } from "./bundle";
import { ChartItem } from "./charts/item";
import { EndingAhead, EndingView } from "./ending";
import { FilesView, type FindSince } from "./files";
import { formatCount } from "./format";
import type { Item, Output } from "./model";
import { Boundary, Notice, Tool } from "./parts";
import { TextView } from "./text";
import { type FindCell, TracebackView } from "./traceback";
import type { NumberOf } from "./verdict";

const ITEMS_SHOWN = 60;
const FOLD_LINES = 12; // behind so many lines, or after so many items, how the run ended may be out of sight
const FOLD_ITEMS = 3;

/** The name of a figure that is shown as a chart already: the runner sends it as the result beside the chart. */
function isFigureName(item: Item): boolean {
  if (item.kind !== "result" || Object.keys(item.bundle).length !== 1) return false;
  const text = item.bundle["text/plain"];
  return typeof text === "string" && /^(Figure\(\.\.\.\)|<Figure size [\dx.]+ with \d+ Axes>)$/.test(text);
}

const NAMES: Readonly<Record<Item["kind"], string>> = {
  text: "text", display: "value", result: "result", chart: "chart", table: "table", error: "error", notice: "notice",
};

interface ItemProps {
  item: Item;
  output: Output;
  session: string | null;
  version: number;
  isLive: boolean;
  cell: number | undefined;
  find: FindCell;
}

function Content({ item, output, session, version, isLive, cell, find }: ItemProps) {
  switch (item.kind) {
    case "text":
      return <TextView lines={output.lines} from={item.first} count={item.count} version={version} isLive={isLive} />;
    case "display":
    case "result":
      return <BundleView bundle={item.bundle} session={session} />;
    case "chart":
      return <ChartItem chart={item.chart} />;
    case "table":
      return <TableItem value={item.table} session={session} />;
    case "error":
      return <TracebackView error={item.error} cell={cell} find={find} />;
    case "notice":
      return <Notice tone="info">{item.text}</Notice>;
  }
}

/** Drawn anew only when it can have changed: text that still comes is the one item that does. */
function ItemView({ item, output, session, version, isLive, cell, find }: ItemProps) {
  const change = item.kind === "text" && isLive ? version : 0;
  const count = item.kind === "text" ? item.count : 0;
  return useMemo(() => (
    <div class={`out-item is-${item.kind}`}>
      <Boundary what={NAMES[item.kind]}><Content item={item} output={output} session={session} version={change} isLive={isLive} cell={cell} find={find} /></Boundary>
    </div>
  ), [item, output, session, isLive, change, count, cell]);
}

interface Props {
  output: Output;
  session: string | null;
  label?: string; // "Output of cell 3"
  cell?: number; // its number on the page
  find?: FindCell;
  mark?: CellMark | null;
  isEdited?: boolean; // its code is not the one that ran
  isSaved?: boolean; // the state after it is on disk by now, or it is undone
  since?: FindSince | null; // what became of its files
  numberOf?: NumberOf; // of the cell that shows a run
  deeds?: ComponentChildren; // what can be done about how it ended
}

const findNothing: FindCell = () => null;

export function OutputView({ output, session, label = "Output", cell, find = findNothing, mark = null, isEdited = false, isSaved = false, since = null, numberOf, deeds }: Props) {
  const version = output.version.value;
  const [most, setMost] = useState(ITEMS_SHOWN);
  const { items, ending, files } = output;
  const last = items.length - 1;
  const hasChart = items.some((item) => item.kind === "chart");
  if (!items.length && !ending && !files.length) return null;
  return (
    <div class="output" role="region" aria-label={label}>
      {ending && ending.verdict.kind !== "ok" && (output.lines.length > FOLD_LINES || items.length > FOLD_ITEMS) && <EndingAhead ending={ending} />}
      {items.slice(0, most).map((item, i) => !(hasChart && isFigureName(item)) && (
        <ItemView key={i} item={item} output={output} session={session} version={version} isLive={!ending && i === last} cell={cell} find={find} />
      ))}
      {items.length > most && (
        <div class="out-tools">
          <Tool label={`Show ${formatCount(Math.min(ITEMS_SHOWN, items.length - most))} more of ${formatCount(items.length)} results`} onClick={() => setMost(most + ITEMS_SHOWN)} />
        </div>
      )}
      {output.leftOut && <Notice>This page left out {output.leftOut}.</Notice>}
      <FilesView files={files} session={session} mark={mark} since={since} />
      {ending && <EndingView ending={ending} run={output.run} mark={mark} isEdited={isEdited} isSaved={isSaved} numberOf={numberOf} deeds={deeds} />}
      {output.isSaved && ending && <p class="out-soft">Shown as it was kept; the run's own log is gone.</p>}
    </div>
  );
}
