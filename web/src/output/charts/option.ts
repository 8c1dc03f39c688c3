// SPDX-License-Identifier: Apache-2.0
// A chart as ECharts wants it. Tooltips are drawn on the canvas ("richText"): no label ever becomes HTML.
import { formatNumber } from "../format";
import { coloursOf, onPage } from "./looks";
import { isSpanned, type Axis, type ChartModel, type Series } from "./model";
import { momentText } from "./moments";
import type { Theme } from "./theme";

type Part = Record<string, unknown>;

const SYMBOLS_MAX = 60; // points of a line that get a mark each
const LIVELY_MAX = 2000; // points that may be animated
const LARGE_MIN = 2000;
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
/** A number as a place on an axis: years have no separators. */
const placeText = (value: number) => (Number.isInteger(value) && Math.abs(value) < 10_000 ? String(value) : formatNumber(value));
const isLog = (axis: Axis) => axis.scale === "log";

/** More categories than there are pixels are places on a line: ECharts finds what is nearest to the pointer among those that
 * it draws, and has no list of names to go through with each frame. */
const isCounted = (categories: readonly string[]) => categories.length > LARGE_MIN;

function scaleOf(axis: Axis, categories: readonly string[], isX: boolean): Part {
  if (!isX) return { type: isLog(axis) ? "log" : "value", ...(axis.isFree ? { scale: true } : {}) };
  if (axis.scale !== "category") return { type: axis.scale, scale: true };
  if (isCounted(categories)) return { type: "value", min: -0.5, max: categories.length - 0.5, minInterval: 1 };
  return { type: "category", data: categories.map(drawnText) };
}

/** Times as short as they can be read alone. */
const TIMES = {
  year: "{yyyy}", month: "{MMM}", day: "{MMM} {d}", hour: "{HH}:{mm}", minute: "{HH}:{mm}", second: "{HH}:{mm}:{ss}", millisecond: "{mm}:{ss}.{SSS}",
};

/** An end of an axis that the code chose has a label only where a tick may be: others would stand close beside one. */
function endLabels({ limits, scale }: Axis): Part {
  if (!limits || scale !== "value") return {};
  const rough = (limits[1] - limits[0]) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 3, 5, 10].find((part) => part * unit >= rough * 0.8)! * unit;
  const isTick = (end: number) => Math.abs(end / step - Math.round(end / step)) < 1e-6;
  return { showMinLabel: isTick(limits[0]) ? null : false, showMaxLabel: isTick(limits[1]) ? null : false };
}

function axisOf(axis: Axis, categories: readonly string[], theme: Theme, isX: boolean): Part {
  const isNames = isX && axis.scale === "category" && isCounted(categories);
  const format = (value: unknown) => {
    if (typeof value !== "number") return short(String(value));
    return isNames ? short(categories[Math.round(value)] ?? "") : isX && !isLog(axis) ? placeText(value) : formatNumber(value);
  };
  return {
    ...scaleOf(axis, categories, isX),
    ...(axis.limits ? { min: axis.limits[0], max: axis.limits[1] } : {}),
    ...(axis.isInverted ? { inverse: true } : {}),
    name: short(axis.label),
    nameLocation: "middle",
    nameTextStyle: { color: theme.soft, fontSize: 12, textMargin: [10, 2] }, // away from the labels
    axisLine: { show: isX || axis.hasGrid === false, onZero: axis.hasGrid === undefined || axis.scale === "category", lineStyle: { color: theme.line } },
    axisTick: { lineStyle: { color: theme.line } },
    splitLine: { show: axis.hasGrid ?? !isX, lineStyle: { color: theme.line, opacity: 0.6 } },
    ...(axis.hasFineGrid ? { minorTick: { show: true, lineStyle: { color: theme.line } }, minorSplitLine: { show: true, lineStyle: { color: theme.line, opacity: 0.35 } } } : {}),
    axisLabel: { color: theme.soft, hideOverlap: true, formatter: axis.scale === "time" ? TIMES : format, ...endLabels(axis) },
    axisPointer: {
      label: {
        backgroundColor: theme.soft, color: theme.surface,
        formatter: ({ value }: { value: unknown }) => {
          if (typeof value !== "number" || isNames) return format(value);
          return axis.scale === "time" ? momentText(Math.round(value)) : (isX ? placeText : formatNumber)(Number(value.toPrecision(4)));
        },
      },
    },
  };
}

function drawn(series: Series, chart: ChartModel): Series["points"] {
  if (!isLog(chart.x) && !isLog(chart.y)) return series.points;
  return series.points.map(([x, y]) => [x, isLog(chart.y) && y !== null && y <= 0 ? null : y]);
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
  const base = { name: drawnText(series.name), data: points, emphasis: { focus: chart.series.length > 4 && chart.kind === "line" ? "series" : "none" } };
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

/** What a bar at a place of its own tells: where it stands, and its value. */
function spanText(chart: ChartModel, { seriesIndex, dataIndex }: { seriesIndex: number; dataIndex: number }): string {
  const series = chart.series[seriesIndex];
  const [span, point] = [series?.spans?.[dataIndex], series?.points[dataIndex]];
  if (!series || !point) return "";
  const place = (value: number) => (chart.x.scale === "time" ? momentText(Math.round(value)) : placeText(Number(value.toPrecision(6))));
  const name = series.name || chart.y.label;
  return `${span ? `${place(span[0])} – ${place(span[1])}` : place(point[0])}\n${name ? `${short(name)}: ` : ""}${point[1] === null ? "–" : formatNumber(point[1])}`;
}

/** Bars without a pixel each: the shape that they make side by side, of those in one pixel the lowest and the highest. */
function manyBars(isStacked: boolean): Part {
  const shape = { type: "line", step: "middle", showSymbol: false };
  if (isStacked) return { ...shape, stack: "all", sampling: "lttb", lineStyle: { width: 0 }, areaStyle: { opacity: 1 } };
  return { ...shape, sampling: "minmax", lineStyle: { width: 1 }, areaStyle: { opacity: 0.85 } };
}

/** Slices of a pie, largest parts kept: beyond sixty nobody can tell them apart. */
export function slicesOf(chart: ChartModel, series: Series): { name: string; value: number }[] {
  const all = series.points
    .filter(([, y]) => y !== null && y > 0)
    .map(([x, y]) => ({ name: drawnText(chart.categories[x] || `part ${x + 1}`), value: y! }));
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
    ...axesOf(chart, axisOf(chart.x, chart.categories, theme, true), axisOf(chart.y, [], theme, false)),
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
  const isWhole = chart.kind === "scatter" || isSpanned(chart);
  if (chart.isFlat) return [{ type: "inside", id: "y", yAxisIndex: 0, zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, ...(isWhole ? { filterMode: "none" } : {}) }];
  const filterMode = isWhole ? "none" : "filter"; // lines are sampled anew from what is in sight
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
        chart.x.scale === "category" ? short(chart.categories[Math.round(value)] ?? text) : chart.x.scale === "time" ? momentText(value) : formatNumber(value),
    });
  }
  return zooms;
}

function gridOption(chart: ChartModel, longest: number, theme: Theme): Part {
  const isLine = (chart.kind === "line" || chart.kind === "area") && !chart.series.some(({ look }) => look?.symbol); // marks at the ends would be cut
  const places = { ...axisOf(chart.x, chart.categories, theme, true), ...(isLine && chart.x.scale !== "category" && !chart.x.limits ? { min: "dataMin", max: "dataMax" } : {}) };
  return {
    ...axesOf(chart, places, axisOf(chart.y, [], theme, false)),
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
      ...(isSpanned(chart) ? { formatter: (item: { seriesIndex: number; dataIndex: number }) => spanText(chart, item) } : {}),
      valueFormatter: (value: unknown) => (typeof value === "number" ? formatNumber(value) : value === null || value === undefined ? "–" : String(value)),
    },
  };
}
