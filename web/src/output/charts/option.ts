// SPDX-License-Identifier: Apache-2.0
// A chart as ECharts wants it. Tooltips are drawn on the canvas ("richText"): no label ever becomes HTML.
import { formatNumber } from "../format";
import { grouped } from "../tables/values";
import { coloursOf, onPage } from "./looks";
import { isSpanned, type Axis, type ChartModel, type Series } from "./model";
import { momentText } from "./moments";
import type { Theme } from "./theme";

type Part = Record<string, unknown>;

const SYMBOLS_MAX = 60; // points of a line that get a mark each
const LIVELY_MAX = 2000; // points that may be animated
const LARGE_MIN = 2000;
const WHOLE_MAX = 5000; // points of a line that is drawn as a whole, whatever part of it is in sight
const SLIDER_MIN = 30;
const SLICES_MAX = 60;
const TWO_LINES_MAX = 12; // slices
const SHARED_MAX = 15; // series in one tooltip
const NAME_MAX = 36;

const SPACE = "\u200b"; // has no width

/**
 * A text that ECharts may draw. It keeps what it measures in plain objects, by the text: one that is the name of a member
 * of every object (`__proto__`) would change all objects of the page. So no text, no line of it and no piece between
 * braces, which are markup in its tooltips, may be such a name.
 */
export function drawnText(text: string): string {
  const line = text.replace(/[\s\x00-\x1f\x7f]+/g, " ").trim().replace(/[{}|]/g, `${SPACE}$&${SPACE}`);
  return line in Object.prototype ? SPACE + line : line;
}

const short = (text: string) => drawnText(text.length > NAME_MAX ? text.slice(0, NAME_MAX) + "…" : text);
/** A number as a place on an axis: years have no separators, nor has what is between them. */
const placeText = (value: number) => (Math.abs(value) < 10_000 ? formatNumber(value).replaceAll(",", "") : formatNumber(value));
const isLog = (axis: Axis) => axis.scale === "log";

const FINE = 1000; // parts of an axis that can be told apart

/** A place on an axis without the digits that are finer than a part of `span` of it. */
function rounded(value: number, span: number): number {
  const power = Math.floor(Math.log10(span / FINE));
  if (!Number.isFinite(power)) return value;
  return power < 0 ? Number(value.toFixed(Math.min(100, -power))) : Math.round(value / 10 ** power) * 10 ** power;
}

/** Where an axis begins and ends: as the code chose, else with what is drawn; null without any number. */
function endsOf({ x, y, series }: ChartModel, isX: boolean): [number, number] | null {
  const { limits } = isX ? x : y;
  if (limits) return limits;
  let [low, high] = [Infinity, -Infinity];
  for (const { points } of series) {
    for (const point of points) {
      const value = point[isX ? 0 : 1];
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : null;
}

/** A number that is only a place: an end of an axis, or where the pointer is. Ticks and values have all digits. */
function roughly(value: number, axis: Axis, ends: [number, number] | null): number {
  if (!ends) return value;
  return isLog(axis) && ends[1] >= 10 * ends[0] ? Number(value.toPrecision(4)) : rounded(value, ends[1] - ends[0]);
}

/** The number for a label on an axis: a tick, or an end where the ends are fixed. */
const labelled = (value: number, axis: Axis, ends: [number, number] | null) =>
  ends?.includes(value) ? roughly(value, axis, ends) : value;

const namesAlong = (chart: ChartModel, isX: boolean): readonly string[] => (isX ? chart.categories : (chart.yCategories ?? []));

/** Whether categories are places on a line. Those of x are where there are places between them, and where they are more than
 * pixels: ECharts finds what is nearest to the pointer among those that it draws, and has no list of names to go through
 * with each frame. */
const isCounted = (chart: ChartModel, isX: boolean): boolean =>
  isX ? chart.x.scale === "category" && (chart.x.isFine === true || chart.categories.length > LARGE_MIN) : chart.y.scale === "category";

/** An axis of numbers with names at whole ones, as long as what stands at them. */
function countedScale(chart: ChartModel, isX: boolean): Part {
  const count = namesAlong(chart, isX).length;
  const ends = [endsOf(chart, isX) ?? [], isX ? chart.series.flatMap(({ spans = [] }) => spans.flatMap(([from, to]) => [from, to])) : []].flat();
  return {
    type: "value", minInterval: 1,
    min: ends.reduce((low, end) => Math.min(low, end), -0.5), max: ends.reduce((high, end) => Math.max(high, end), count - 0.5),
  };
}

/** Whether all stand at whole numbers, such as years: then no tick belongs between two of them. */
const isWhole = (chart: ChartModel): boolean =>
  chart.x.scale === "value" && !isSpanned(chart) && chart.series.every(({ points }) => points.every(([x]) => x === null || Number.isInteger(x)));

function scaleOf(chart: ChartModel, isX: boolean): Part {
  const axis = isX ? chart.x : chart.y;
  if (isCounted(chart, isX)) return countedScale(chart, isX);
  if (!isX) return { type: axis.scale, ...(axis.isFree ? { scale: true } : {}) };
  if (axis.scale !== "category") return { type: axis.scale, scale: true, ...(isWhole(chart) ? { minInterval: 1 } : {}) };
  return { type: "category", data: chart.categories.map(drawnText) };
}

/** A logarithmic axis has no 0 for bars to stand on: they begin at its end, below the least of them. */
function groundOf(chart: ChartModel): Part {
  if (!isLog(chart.y) || !chart.kind.includes("bar")) return {};
  if (chart.y.limits && chart.y.limits[0] > 0) return { startValue: chart.y.limits[0] };
  let least = Infinity;
  for (const { points } of chart.series) for (const [, y] of points) if (y !== null && y > 0 && y < least) least = y;
  if (least === Infinity) return {};
  const ground = 10 ** (Math.ceil(Math.log10(least)) - 1);
  return { startValue: ground, min: ground };
}

/** Times as short as they can be read alone. */
const TIMES = {
  year: "{yyyy}", month: "{MMM}", day: "{MMM} {d}", hour: "{HH}:{mm}", minute: "{HH}:{mm}", second: "{HH}:{mm}:{ss}", millisecond: "{mm}:{ss}.{SSS}",
};

/** An end of an axis that the code chose has a label only where a tick may be: others would stand close beside one. */
function endLabels({ limits, scale }: Axis): Part {
  if (!limits) return {};
  if (scale === "log") {
    const powers = Math.floor(Math.log10(limits[1])) - Math.ceil(Math.log10(limits[0])) + 1;
    const isPower = (end: number) => powers < 2 || Number.isInteger(Math.log10(end)); // one label alone is no scale
    return { showMinLabel: isPower(limits[0]) ? null : false, showMaxLabel: isPower(limits[1]) ? null : false };
  }
  if (scale !== "value") return {};
  const rough = (limits[1] - limits[0]) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 3, 5, 10].find((part) => part * unit >= rough * 0.8)! * unit;
  const isTick = (end: number) => Math.abs(end / step - Math.round(end / step)) < 1e-6;
  return { showMinLabel: isTick(limits[0]) ? null : false, showMaxLabel: isTick(limits[1]) ? null : false };
}

function axisOf(chart: ChartModel, theme: Theme, isX: boolean): Part {
  const axis = isX ? chart.x : chart.y;
  const categories = namesAlong(chart, isX);
  const ends = endsOf(chart, isX);
  const isNames = isCounted(chart, isX);
  const ticks = isNames && categories.length <= LARGE_MIN ? { customValues: categories.map((_, i) => i) } : {};
  const isPlain = isX || axis.hasGrid !== undefined; // a picture has no separators along y, either
  const format = (value: unknown) => {
    if (typeof value !== "number") return short(String(value));
    if (isNames) return short(categories[Math.round(value)] ?? "");
    return (isPlain && !isLog(axis) ? placeText : formatNumber)(labelled(value, axis, ends));
  };
  return {
    ...scaleOf(chart, isX),
    ...(axis.limits ? { min: axis.limits[0], max: axis.limits[1] } : {}),
    ...(isX ? {} : groundOf(chart)),
    ...(axis.isInverted ? { inverse: true } : {}),
    name: short(axis.label),
    nameLocation: "middle",
    nameTextStyle: { color: theme.soft, fontSize: 12, textMargin: [10, 2] }, // away from the labels
    axisLine: { show: isX || axis.hasGrid === false, onZero: !isCounted(chart, !isX) && (axis.hasGrid === undefined || axis.scale === "category"), lineStyle: { color: theme.line } },
    axisTick: { lineStyle: { color: theme.line }, ...ticks },
    splitLine: { ...ticks, show: axis.hasGrid ?? !isX, lineStyle: { color: theme.line, opacity: 0.6 } },
    ...(axis.hasFineGrid ? { minorTick: { show: true, lineStyle: { color: theme.line } }, minorSplitLine: { show: true, lineStyle: { color: theme.line, opacity: 0.35 } } } : {}),
    axisLabel: { color: theme.soft, hideOverlap: true, formatter: axis.scale === "time" ? TIMES : format, ...ticks, ...endLabels(axis) },
    axisPointer: {
      label: {
        backgroundColor: theme.soft, color: theme.surface,
        // Also the head of a tooltip: where there is a point, it is the point's own.
        formatter: ({ value, seriesData }: { value: unknown; seriesData: readonly unknown[] }) => {
          if (typeof value !== "number" || isNames) return format(value);
          if (axis.scale === "time") return momentText(Math.round(value));
          return (isX ? placeText : formatNumber)(seriesData.length > 0 ? value : roughly(value, axis, ends));
        },
      },
    },
  };
}

/** The points to draw; a point that has no place on its axes is a gap. */
function drawn({ points }: Series, chart: ChartModel): Series["points"] {
  const has = (value: number | null, axis: ChartModel["x"]) => value !== null && (value > 0 || !isLog(axis));
  if (points.every(([x, y]) => has(x, chart.x) && has(y, chart.y))) return points;
  return points.map(([x, y]) => [has(x, chart.x) ? x : null, has(x, chart.x) && has(y, chart.y) ? y : null]);
}

/** Lines as they were drawn: dashes, steps, markers; points without a line where there was none. */
function lineLook({ look, points }: Series): Part {
  if (!look) return {};
  const marks = look.symbol ? { showSymbol: true, showAllSymbol: true, symbol: look.symbol, symbolRotate: look.rotate ?? 0, symbolSize: look.size ?? 6 } : {};
  if (look.dash === false) return { ...marks, lineStyle: { width: 0, opacity: 0 }, sampling: undefined };
  return {
    ...(look.symbol ? marks : { showSymbol: false }),
    ...(look.step ? { step: look.step } : {}),
    lineStyle: { width: points.length > 5000 ? 1 : (look.width ?? 2), ...(look.dash ? { type: look.dash, cap: "butt" } : {}) },
  };
}

function seriesOf(chart: ChartModel, series: Series, theme: Theme): Part {
  const points = drawn(series, chart);
  const { digits } = series;
  const base = {
    name: drawnText(series.name), data: points, emphasis: { focus: chart.series.length > 4 && chart.kind === "line" ? "series" : "none" },
    ...(digits ? { tooltip: { valueFormatter: (value: unknown, at: number) => toldValue(chart, value, digits[at]?.[1]) } } : {}),
  };
  switch (series.isLine ? "line" : chart.kind) {
    case "line":
    case "area":
      return {
        ...base, type: "line", showSymbol: points.length <= SYMBOLS_MAX, symbolSize: 6, sampling: "lttb",
        lineStyle: { width: points.length > 5000 ? 1 : 2 }, ...(chart.kind === "area" ? { areaStyle: { opacity: 0.25 } } : {}),
        ...lineLook(series),
      };
    case "scatter":
      return { ...base, ...scatterOf(series, points, theme) };
    default:
      if (series.spans) return spansOf(chart, series, theme);
      if (points.length > LARGE_MIN && !chart.isFlat) return { ...base, ...manyBars(chart.kind === "stacked-bar") };
      return {
        ...base, data: barsOf(chart, series, theme), type: "bar", barMaxWidth: 64, ...(chart.isOverlaid ? { barGap: "-100%" } : {}),
        itemStyle: { ...edgeOf(series, theme), ...(chart.kind === "stacked-bar" ? {} : { borderRadius: chart.isFlat ? [0, 2, 2, 0] : [2, 2, 0, 0] }) },
        ...(chart.kind === "stacked-bar" ? { stack: "all" } : {}),
      };
  }
}

function edgeOf({ look }: Series, theme: Theme): Part {
  if (look?.isOpen && look.colour) return { color: "transparent", borderColor: onPage(look.colour, theme), borderWidth: 1.5 };
  return look?.edge ? { borderColor: onPage(look.edge, theme), borderWidth: 1 } : {};
}

/** Points; each may have a colour and a size of its own. */
function scatterOf(series: Series, points: Series["points"], theme: Theme): Part {
  const { look, colours, sizes } = series;
  const isSingle = colours !== undefined || sizes !== undefined;
  const data = !isSingle ? points : points.map((value, i) => {
    const colour = colours?.[i];
    return { value, ...(sizes ? { symbolSize: sizes[i] } : {}), ...(colour ? { itemStyle: { color: onPage(colour, theme) } } : {}) };
  });
  return {
    type: "scatter", data, symbolSize: look?.size ?? (points.length > LARGE_MIN ? 3 : 7), large: !isSingle && points.length > LARGE_MIN,
    ...(look?.symbol ? { symbol: look.symbol, symbolRotate: look.rotate ?? 0 } : {}),
    largeThreshold: LARGE_MIN, progressive: 20_000, itemStyle: { opacity: points.length > 1000 ? 0.6 : 0.85, ...edgeOf(series, theme) },
  };
}

/** Single bars may have colours of their own; bars that lie have their value first. */
function barsOf(chart: ChartModel, series: Series, theme: Theme): unknown[] {
  return drawn(series, chart).map(([x, y], i) => {
    const value = chart.isFlat ? [y, x] : [x, y];
    const colour = series.colours?.[i];
    return colour ? { value, itemStyle: { color: onPage(colour, theme) } } : value;
  });
}

interface Drawer {
  coord: (point: number[]) => number[];
  size: (lengths: number[]) => number[];
  value: (dimension: number) => number;
  visual: (name: string) => unknown;
}

/** Bars at places of their own, drawn from edge to edge: those of a histogram touch. */
function spansOf(chart: ChartModel, series: Series, theme: Theme): Part {
  const data = series.spans!.map(([from, to, base], i) => {
    const y = series.points[i]![1];
    const top = y === null ? base : base + y;
    const colour = series.colours?.[i];
    const value = [from, to, isLog(chart.y) && base <= 0 ? top : base, top];
    return colour ? { value, itemStyle: { color: onPage(colour, theme) } } : value;
  });
  const edge = edgeOf(series, theme);
  const renderItem = (params: { coordSys: { x: number; y: number; height: number }; dataIndex: number }, api: Drawer) => {
    const at = (place: number, value: number) => api.coord(chart.isFlat ? [value, place] : [place, value]) as [number, number];
    const isGrounded = isLog(chart.y) && series.spans![params.dataIndex]![2] <= 0; // a logarithmic axis has no 0 to stand on
    const [low, high] = [at(api.value(0), api.value(2)), at(api.value(1), api.value(3))];
    if (isGrounded && chart.isFlat) low[0] = params.coordSys.x;
    else if (isGrounded) low[1] = params.coordSys.y + params.coordSys.height;
    const [x, y] = [Math.round(Math.min(low[0], high[0])), Math.round(Math.min(low[1], high[1]))];
    const shape = { x, y, width: Math.round(Math.max(low[0], high[0])) - x, height: Math.round(Math.max(low[1], high[1])) - y };
    return { type: "rect", shape, style: { fill: edge["color"] ?? api.visual("color"), stroke: edge["borderColor"], lineWidth: edge["borderWidth"] ?? 0 } };
  };
  return {
    type: "custom", name: drawnText(series.name), data, renderItem, clip: true,
    encode: chart.isFlat ? { x: [2, 3], y: [0, 1] } : { x: [0, 1], y: [2, 3] },
  };
}

interface Item {
  seriesIndex: number;
  dataIndex: number;
}

/** The text for a place on the y axis. */
function valueText({ y, yCategories = [] }: ChartModel, value: number): string {
  if (y.scale === "category") return short(yCategories[Math.round(value)] ?? "");
  return y.scale === "time" ? momentText(Math.round(value)) : formatNumber(value);
}

/** A value in a tooltip; `digits` are all of those that a double would lose. */
function toldValue(chart: ChartModel, value: unknown, digits: string | null = null): string {
  if (digits !== null) return grouped(digits);
  return typeof value === "number" ? valueText(chart, value) : value === null || value === undefined ? "–" : String(value);
}

/** The tooltip of a bar that is placed by numbers: where it stands, and its value. */
function spanText(chart: ChartModel, { seriesIndex, dataIndex }: Item): string {
  const series = chart.series[seriesIndex];
  const [span, point] = [series?.spans?.[dataIndex], series?.points[dataIndex]];
  if (!series || !point || point[0] === null) return "";
  const place = (value: number) => (chart.x.scale === "time" ? momentText(Math.round(value)) : placeText(span ? rounded(value, span[1] - span[0]) : value));
  const named = chart.x.scale === "category" ? chart.categories[Math.round(point[0])] : undefined;
  const name = series.name || chart.y.label;
  return `${named !== undefined ? short(named) : span ? `${place(span[0])} – ${place(span[1])}` : place(point[0])}\n${name ? `${short(name)}: ` : ""}${point[1] === null ? "–" : formatNumber(point[1])}`;
}

/** The tooltip of points whose y axis is time: ECharts would take time for the axis along which they go. */
function momentsText(chart: ChartModel, items: readonly Item[]): string {
  return items.map(({ seriesIndex, dataIndex }) => {
    const [x, y] = chart.series[seriesIndex]?.points[dataIndex] ?? [null, null];
    if (x === null || y === null) return "";
    const place = chart.x.scale === "category" ? short(chart.categories[Math.round(x)] ?? "") : chart.x.scale === "time" ? momentText(x) : placeText(x);
    return `${place}\n${short(chart.series[seriesIndex]!.name)}: ${valueText(chart, y)}`;
  }).filter(Boolean).join("\n");
}

/** Bars without a pixel each: the shape that they make side by side, of those in one pixel the lowest and the highest. */
function manyBars(isStacked: boolean): Part {
  const shape = { type: "line", step: "middle", showSymbol: false };
  if (isStacked) return { ...shape, stack: "all", sampling: "lttb", lineStyle: { width: 0 }, areaStyle: { opacity: 1 } };
  return { ...shape, sampling: "minmax", lineStyle: { width: 1 }, areaStyle: { opacity: 0.85 } };
}

/** Slices of a pie, largest parts kept: beyond sixty nobody can tell them apart. */
export function slicesOf(chart: ChartModel, series: Series): { name: string; value: number }[] {
  const all = series.points.flatMap(([x, y]) =>
    x !== null && y !== null && y > 0 ? [{ name: drawnText(chart.categories[x] || `part ${x + 1}`), value: y }] : []);
  if (all.length <= SLICES_MAX) return all;
  const sorted = [...all].sort((a, b) => b.value - a.value);
  const rest = sorted.slice(SLICES_MAX - 1);
  return [...sorted.slice(0, SLICES_MAX - 1), { name: `${rest.length} others`, value: rest.reduce((sum, { value }) => sum + value, 0) }];
}

/** The page draws it (legend.tsx); what is taken away there is a matter of this part. */
const hiddenLegend = (off: ReadonlySet<string>): Part => ({ show: false, selected: selectedOf(off) });
export const selectedOf = (off: ReadonlySet<string>): Record<string, boolean> => Object.fromEntries([...off].map((name) => [name, false]));

function pieOption(chart: ChartModel, theme: Theme): Part {
  const rings = chart.series.slice(0, 3);
  const width = 54 / rings.length;
  const gap = chart.series[0]!.points.length <= TWO_LINES_MAX ? "\n" : " "; // short lines fit beside it on a narrow screen
  return {
    series: rings.map((series, i) => ({
      type: "pie", name: drawnText(series.name), data: slicesOf(chart, series), center: ["50%", "50%"],
      ...(chart.turn ? { startAngle: chart.turn.start, clockwise: chart.turn.isClockwise } : {}),
      radius: rings.length === 1 ? [`${62 * (chart.turn?.hole ?? 0)}%`, "62%"] : [`${14 + i * width}%`, `${12 + (i + 1) * width}%`],
      label: {
        show: i === rings.length - 1, color: theme.text, lineHeight: 15, bleedMargin: 0,
        formatter: ({ name, percent }: { name: string; percent: number }) => `${short(name)}${gap}${Math.round(percent * 10) / 10}%`,
      },
      labelLine: { length: 7, length2: 5, lineStyle: { color: theme.soft } },
      itemStyle: { borderColor: theme.surface, borderWidth: 1 },
    })),
  };
}

/** A box in its colour, open enough for the line of its median. */
function boxLook(colour: string, isOpen: boolean, theme: Theme): Part {
  const shown = onPage(colour, theme);
  return { color: isOpen ? "transparent" : shown.replace(/[\d.]+\)$/, "0.25)"), borderColor: shown };
}

const BOX_WIDTH = [7, 50] as const; // pixels, at least and at most

/** The medians of boxes in their own colour: ECharts draws them in that of the box. */
function mediansOf(chart: ChartModel, theme: Theme): Part[] {
  if (!chart.boxes.some(({ medianColour }) => medianColour)) return [];
  const renderItem = ({ dataIndex }: { dataIndex: number }, api: Drawer) => {
    const colour = chart.boxes[dataIndex]?.medianColour;
    if (!colour) return null;
    const [x = 0, y = 0] = api.coord([api.value(0), api.value(1)]);
    const band = chart.isFlat ? api.size([0, 1])[1]! : api.size([1, 0])[0]!;
    const half = Math.max(BOX_WIDTH[0], Math.min(BOX_WIDTH[1], band * 0.8 - 2)) / 2; // as wide as a box
    const shape = chart.isFlat ? { x1: x, x2: x, y1: y - half, y2: y + half } : { x1: x - half, x2: x + half, y1: y, y2: y };
    return { type: "line", shape, style: { stroke: onPage(colour, theme), lineWidth: 2 } };
  };
  const data = chart.boxes.map(({ five }, i) => (chart.isFlat ? [five[2], i] : [i, five[2]]));
  return [{ type: "custom", name: "median", data, renderItem, clip: true, silent: true, z: 3, tooltip: { show: false } }];
}

function boxOption(chart: ChartModel, theme: Theme): Part {
  const outliers = chart.boxes.flatMap((box, i) => box.outliers.map((value) => (chart.isFlat ? [value, i] : [i, value])));
  return {
    ...axesOf(chart, axisOf(chart, theme, true), axisOf(chart, theme, false)),
    series: [
      { type: "boxplot", name: "box", boxWidth: BOX_WIDTH, data: chart.boxes.map(({ five, colour, isOpen }) => (colour ? { value: five, itemStyle: boxLook(colour, isOpen === true, theme) } : five)), itemStyle: { color: theme.sunken, borderColor: theme.palette[0] } },
      ...mediansOf(chart, theme),
      { type: "scatter", name: "outliers", data: outliers, symbolSize: 5, large: outliers.length > LARGE_MIN, itemStyle: { color: chart.boxes[0]?.colour ? onPage(chart.boxes[0].colour, theme) : theme.palette[1] } },
    ],
  };
}

/** Where things stand goes up the page when they lie. */
const axesOf = (chart: ChartModel, places: Part, values: Part): Part => (chart.isFlat ? { xAxis: values, yAxis: places } : { xAxis: places, yAxis: values });

/** A strip below that shows the whole, where a series goes along it. */
const hasSlider = (chart: ChartModel, longest: number) =>
  chart.kind !== "pie" && chart.kind !== "box" && chart.kind !== "scatter" && !chart.isFlat && !isSpanned(chart) && longest >= SLIDER_MIN;

function zoomOf(chart: ChartModel, longest: number, theme: Theme): Part[] {
  const ends = endsOf(chart, true);
  // What is in sight of a long line is sampled anew. Of another one, the parts that cross the edge must not be left out.
  const isShort = (chart.kind === "line" || chart.kind === "area") && longest <= WHOLE_MAX;
  const isWhole = chart.kind === "scatter" || isSpanned(chart) || isShort;
  if (chart.isFlat) return [{ type: "inside", id: "y", yAxisIndex: 0, zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, ...(isWhole ? { filterMode: "none" } : {}) }];
  const filterMode = isWhole ? "none" : "filter";
  const inside = { type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, moveOnMouseMove: true, filterMode };
  const zooms: Part[] = [{ ...inside, id: "x", xAxisIndex: 0 }];
  if (chart.kind === "scatter") zooms.push({ ...inside, id: "y", yAxisIndex: 0 });
  if (hasSlider(chart, longest)) {
    zooms.push({
      type: "slider", id: "slider", xAxisIndex: 0, height: 22, bottom: 6, filterMode,
      borderColor: theme.line, backgroundColor: "transparent", fillerColor: theme.palette[0] + "22",
      handleStyle: { color: theme.surface, borderColor: theme.soft }, moveHandleStyle: { color: theme.line },
      dataBackground: { lineStyle: { color: theme.line }, areaStyle: { color: theme.line, opacity: 0.3 } },
      selectedDataBackground: { lineStyle: { color: theme.palette[0] }, areaStyle: { color: theme.palette[0], opacity: 0.2 } },
      textStyle: { color: theme.soft },
      labelFormatter: (value: number, text: string) =>
        chart.x.scale === "category" ? short(chart.categories[Math.round(value)] ?? text) : chart.x.scale === "time" ? momentText(value) : formatNumber(labelled(value, chart.x, ends)),
    });
  }
  return zooms;
}

function gridOption(chart: ChartModel, longest: number, theme: Theme): Part {
  const isLine = (chart.kind === "line" || chart.kind === "area") && !chart.series.some(({ look }) => look?.symbol); // marks at the ends would be cut
  const places = { ...axisOf(chart, theme, true), ...(isLine && chart.x.scale !== "category" && !chart.x.limits ? { min: "dataMin", max: "dataMax" } : {}) };
  return {
    ...axesOf(chart, places, axisOf(chart, theme, false)),
    dataZoom: zoomOf(chart, longest, theme),
    series: chart.series.map((series) => seriesOf(chart, series, theme)),
  };
}

function bodyOf(chart: ChartModel, longest: number, theme: Theme): Part {
  if (chart.kind === "pie") return pieOption(chart, theme);
  return chart.kind === "box" ? boxOption(chart, theme) : gridOption(chart, longest, theme);
}

/** One for each series or slice, in their order. */
function coloursIn(chart: ChartModel, theme: Theme): string[] {
  const of = coloursOf(chart, theme);
  const count = Math.max(theme.palette.length, chart.kind === "pie" ? (chart.series[0]?.points.length ?? 0) : chart.series.length);
  return Array.from({ length: Math.min(count, 2000) }, (_, i) => of(i));
}

export function optionOf(chart: ChartModel, theme: Theme, isStill: boolean, off: ReadonlySet<string> = new Set()): Part {
  const longest = chart.series.reduce((most, { points }) => Math.max(most, points.length), 0);
  const isPlain = chart.kind !== "pie" && chart.kind !== "box" && !isSpanned(chart) && (chart.kind !== "scatter" || longest <= LARGE_MIN);
  const isShared = isPlain && chart.series.length <= SHARED_MAX; // tells what is nearest, wherever the pointer is
  return {
    ...bodyOf(chart, longest, theme),
    legend: hiddenLegend(off),
    color: coloursIn(chart, theme),
    textStyle: { fontFamily: theme.font },
    useUTC: true,
    animation: !isStill && longest <= LIVELY_MAX,
    animationDuration: 300,
    grid: {
      left: 12, right: 20, top: 14, bottom: hasSlider(chart, longest) ? 40 : 10,
      outerBoundsMode: "same", outerBoundsContain: "all",
    },
    tooltip: {
      renderMode: "richText", confine: true, trigger: isShared ? "axis" : "item",
      backgroundColor: theme.surface, borderColor: theme.line, borderWidth: 1, padding: [8, 10],
      textStyle: { color: theme.text, fontSize: 13 },
      axisPointer: { type: chart.kind.includes("bar") ? "shadow" : chart.kind === "scatter" ? "cross" : "line", crossStyle: { color: theme.soft }, lineStyle: { color: theme.soft }, shadowStyle: { color: theme.line, opacity: 0.3 } },
      ...(isSpanned(chart) ? { formatter: (item: Item) => spanText(chart, item) } : {}),
      ...(chart.y.scale === "time" ? { formatter: (items: Item | Item[]) => momentsText(chart, [items].flat()) } : {}),
      valueFormatter: (value: unknown) => toldValue(chart, value),
    },
  };
}
