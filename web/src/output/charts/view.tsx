// SPDX-License-Identifier: Apache-2.0
// One chart on a canvas: made when it comes into sight, redrawn when the theme or its size changes, undone when it goes.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Boundary, Notice, saveAs, Tool, useSeen } from "../parts";
import { IconDownload, IconImage, IconTable, IconZoomIn, IconZoomReset } from "../../ui/icons";
import { plainTable } from "../tables/table";
import { TableView } from "../tables/view";
import { csvOf, sheetOf } from "./csv";
import type { ECharts } from "./engine";
import { Legend, legendColours, legendOf } from "./legend";
import { describeChart, isEmpty, type ChartModel } from "./model";
import { optionOf } from "./option";
import { pictureOf } from "./picture";
import { isStill, theme } from "./theme";
import "./charts.css";

type Load = "loading" | "drawn" | { failed: string };

/** Draws the chart into the element; says how that went, and gives the chart's handle. */
function useChart(chart: ChartModel, isSeen: boolean, names: readonly string[], off: ReadonlySet<string>) {
  const place = useRef<HTMLDivElement>(null);
  const handle = useRef<ECharts | null>(null);
  const [load, setLoad] = useState<Load>("loading");
  const colours = theme.value;

  useEffect(() => {
    if (!isSeen || !place.current) return;
    const element = place.current;
    let isGone = false;
    let observer: ResizeObserver | null = null;
    import("./engine").then(({ makeChart }) => {
      if (isGone) return;
      const made = (handle.current = makeChart(element));
      made.setOption(optionOf(chart, theme.peek(), isStill(), off));
      observer = new ResizeObserver(() => made.resize());
      observer.observe(element);
      setLoad("drawn");
    }).catch((cause: unknown) => {
      handle.current?.dispose(); // half made, it would fail again with every frame
      handle.current = null;
      if (!isGone) setLoad({ failed: cause instanceof Error ? cause.message : String(cause) });
    });
    return () => {
      isGone = true;
      observer?.disconnect();
      handle.current?.dispose();
      handle.current = null;
    };
  }, [chart, isSeen]);

  useEffect(() => {
    if (load === "drawn") handle.current?.setOption(optionOf(chart, colours, true, off));
  }, [colours]);

  useEffect(() => {
    if (load !== "drawn" || !handle.current) return;
    for (const name of names) handle.current.dispatchAction({ type: off.has(name) ? "legendUnSelect" : "legendSelect", name });
  }, [off]);
  return { place, handle, load };
}

function fileNameOf(chart: ChartModel): string {
  return chart.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "chart";
}

const canZoom = (chart: ChartModel) => chart.kind !== "pie" && chart.kind !== "box";

function zoom(handle: ECharts | null, factor: number): void {
  if (!handle) return;
  const zooms = (handle.getOption() as { dataZoom?: { start?: number; end?: number }[] }).dataZoom ?? [];
  zooms.forEach(({ start = 0, end = 100 }, dataZoomIndex) => {
    const middle = (start + end) / 2;
    const half = factor ? Math.max(0.5, ((end - start) / 2) * factor) : 50;
    const range = factor ? { start: Math.max(0, middle - half), end: Math.min(100, middle + half) } : { start: 0, end: 100 };
    handle.dispatchAction({ type: "dataZoom", dataZoomIndex, ...range });
  });
}

function ChartBody({ chart }: { chart: ChartModel }) {
  const [box, isSeen] = useSeen<HTMLElement>();
  const names = useMemo(() => legendOf(chart), [chart]);
  const [off, setOff] = useState<ReadonlySet<string>>(new Set());
  const { place, handle, load } = useChart(chart, isSeen, names, off);
  const [isData, setData] = useState(false);
  const sheet = useMemo(() => {
    const { columns, rows } = isData ? sheetOf(chart) : { columns: [], rows: [] };
    return isData ? plainTable(columns, rows) : null;
  }, [chart, isData]);
  const savePicture = () => {
    if (!handle.current) return;
    const colours = theme.peek();
    handle.current.setOption(optionOf(chart, colours, true, off)); // as it stands, whatever still moved
    const shown = legendColours(chart, names, colours).map((colour, i) => ({ name: names[i]!, colour })).filter(({ name }) => !off.has(name));
    pictureOf(handle.current, { title: chart.title, names: shown }, colours).toBlob((blob) => {
      if (blob) saveAs(blob, `${fileNameOf(chart)}.png`);
    });
  };
  const saveCsv = () => {
    const { columns, rows } = sheetOf(chart);
    saveAs(csvOf(columns, rows), `${fileNameOf(chart)}.csv`, "text/csv");
  };
  if (isEmpty(chart)) return <Notice tone="info">This chart has no data.</Notice>;
  return (
    <figure class="chart" ref={box}>
      {chart.title && <figcaption>{chart.title}</figcaption>}
      {typeof load === "object" && <Notice>This chart could not be drawn: {load.failed.slice(0, 300)}</Notice>}
      {names.length > 0 && typeof load !== "object" && <Legend names={names} colours={legendColours(chart, names, theme.value)} off={off} change={setOff} />}
      <div class={typeof load === "object" ? "chart-canvas is-failed" : "chart-canvas"} ref={place} role="img" aria-label={describeChart(chart)} />
      {load === "loading" && <p class="out-soft" role="status">Drawing…</p>}
      {chart.notices.slice(0, 5).map((notice, i) => <p key={i} class="out-soft">{notice}</p>)}
      <div class="out-tools">
        {canZoom(chart) && <Tool label="Zoom in" icon={IconZoomIn} disabled={load !== "drawn"} onClick={() => zoom(handle.current, 0.6)} />}
        {canZoom(chart) && <Tool label="Reset zoom" icon={IconZoomReset} disabled={load !== "drawn"} onClick={() => zoom(handle.current, 0)} />}
        <Tool label="Show data as a table" icon={IconTable} pressed={isData} onClick={() => setData(!isData)} />
        <Tool label="Save as PNG" icon={IconImage} disabled={load !== "drawn"} onClick={savePicture} />
        <Tool label="Save as CSV" icon={IconDownload} onClick={saveCsv} />
      </div>
      {sheet && <TableView table={sheet} name={fileNameOf(chart)} />}
    </figure>
  );
}

export const ChartView = ({ chart }: { chart: ChartModel }) => (
  <Boundary what="chart"><ChartBody chart={chart} /></Boundary>
);
