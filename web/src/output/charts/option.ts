// SPDX-License-Identifier: Apache-2.0
// A chart as ECharts wants it. Tooltips are drawn on the canvas ("richText"): no label ever becomes HTML.
import { formatNumber } from "../format";
import { coloursOf, onPage } from "./looks";
import type { Axis, ChartModel, Series } from "./model";
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
const isLog = (axis: Axis) => axis.scale === "log";

/** More categories than there are pixels are places on a line: ECharts finds what is nearest to the pointer among those that
 * it draws, and has no list of names to go through with each frame. */
const isCounted = (categories: readonly string[]) => categories.length > LARGE_MIN;

function scaleOf(axis: Axis, categories: readonly string[], isX: boolean): Part {
  if (!isX) return { type: isLog(axis) ? "log" : "value" };
  if (axis.scale !== "category") return { type: axis.scale, scale: true };
  if (isCounted(categories)) return { type: "value", min: -0.5, max: categories.length - 0.5, minInterval: 1 };
  return { type: "category", data: categories.map(drawnText) };
}

function axisOf(axis: Axis, categories: readonly string[], theme: Theme, isX: boolean): Part {
  const isNames = isX && axis.scale === "category" && isCounted(categories);
  const format = (value: unknown) => {
    if (typeof value !== "number") return short(String(value));
    return isNames ? short(categories[Math.round(value)] ?? "") : formatNumber(value);
  };
  return {
    ...scaleOf(axis, categories, isX),
    ...(axis.limits ? { min: axis.limits[0], max: axis.limits[1] } : {}),
    ...(axis.isInverted ? { inverse: true } : {}),
    name: short(axis.label),
    nameLocation: "middle",
    nameTextStyle: { color: theme.soft, fontSize: 12 },
    axisLine: { show: isX, lineStyle: { color: theme.line } },
    axisTick: { lineStyle: { color: theme.line } },
    splitLine: { show: !isX, lineStyle: { color: theme.line, opacity: 0.6 } },
    axisLabel: { color: theme.soft, hideOverlap: true, ...(axis.scale === "time" ? {} : { formatter: format }) },
    axisPointer: {
      label: {
        backgroundColor: theme.soft, color: theme.surface,
        formatter: ({ value }: { value: unknown }) => {
          if (typeof value !== "number" || isNames) return format(value);
          return axis.scale === "time" ? momentText(Math.round(value)) : formatNumber(Number(value.toPrecision(4)));
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
  switch (chart.kind) {
    case "line":
    case "area":
      return {
        ...base, type: "line", showSymbol: points.length <= SYMBOLS_MAX, symbolSize: 6, sampling: "lttb",
        lineStyle: { width: points.length > 5000 ? 1 : 2 }, ...(chart.kind === "area" ? { areaStyle: { opacity: 0.25 } } : {}),
        ...lineLook(series),
      };
    case "scatter":
      return {
        ...base, type: "scatter", symbolSize: series.look?.size ?? (points.length > LARGE_MIN ? 3 : 7), large: points.length > LARGE_MIN,
        largeThreshold: LARGE_MIN, progressive: 20_000, itemStyle: { opacity: points.length > 1000 ? 0.6 : 0.85 },
      };
    default:
      if (points.length > LARGE_MIN && !chart.isFlat) return { ...base, ...manyBars(chart.kind === "stacked-bar") };
      return {
        ...base, data: barsOf(chart, series, theme), type: "bar", barMaxWidth: 64,
        ...(chart.kind === "stacked-bar" ? { stack: "all" } : { itemStyle: { borderRadius: chart.isFlat ? [0, 2, 2, 0] : [2, 2, 0, 0] } }),
      };
  }
}

/** Single bars may have colours of their own; bars that lie have their value first. */
function barsOf(chart: ChartModel, series: Series, theme: Theme): unknown[] {
  return drawn(series, chart).map(([x, y], i) => {
    const value = chart.isFlat ? [y, x] : [x, y];
    const colour = series.colours?.[i];
    return colour ? { value, itemStyle: { color: onPage(colour, theme) } } : value;
  });
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
      radius: rings.length === 1 ? ["0%", "62%"] : [`${14 + i * width}%`, `${12 + (i + 1) * width}%`],
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
function boxLook(colour: string, theme: Theme): Part {
  const shown = onPage(colour, theme);
  return { color: shown.replace(/[\d.]+\)$/, "0.25)"), borderColor: shown };
}

function boxOption(chart: ChartModel, theme: Theme): Part {
  const outliers = chart.boxes.flatMap((box, i) => box.outliers.map((value) => [i, value]));
  return {
    xAxis: axisOf(chart.x, chart.categories, theme, true),
    yAxis: axisOf(chart.y, [], theme, false),
    series: [
      { type: "boxplot", name: "box", data: chart.boxes.map(({ five, colour }) => (colour ? { value: five, itemStyle: boxLook(colour, theme) } : five)), itemStyle: { color: theme.sunken, borderColor: theme.palette[0] } },
      { type: "scatter", name: "outliers", data: outliers, symbolSize: 5, large: outliers.length > LARGE_MIN, itemStyle: { color: theme.palette[1] } },
    ],
  };
}

function zoomOf(chart: ChartModel, longest: number, theme: Theme): Part[] {
  if (chart.isFlat) return [{ type: "inside", id: "y", yAxisIndex: 0, zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false }];
  const filterMode = chart.kind === "scatter" ? "none" : "filter"; // lines are sampled anew from what is in sight
  const inside = { type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, moveOnMouseMove: true, filterMode };
  const zooms: Part[] = [{ ...inside, id: "x", xAxisIndex: 0 }];
  if (chart.kind === "scatter") zooms.push({ ...inside, id: "y", yAxisIndex: 0 });
  if (longest >= SLIDER_MIN) {
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
  const isLine = chart.kind === "line" || chart.kind === "area";
  const places = { ...axisOf(chart.x, chart.categories, theme, true), ...(isLine && chart.x.scale !== "category" && !chart.x.limits ? { min: "dataMin", max: "dataMax" } : {}) };
  const values = axisOf(chart.y, [], theme, false);
  return {
    ...(chart.isFlat ? { xAxis: values, yAxis: places } : { xAxis: places, yAxis: values }),
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
  const isPlain = chart.kind !== "pie" && chart.kind !== "box" && (chart.kind !== "scatter" || longest <= LARGE_MIN);
  const isShared = isPlain && chart.series.length <= SHARED_MAX; // tells what is nearest, wherever the pointer is
  const hasSlider = chart.kind !== "pie" && chart.kind !== "box" && !chart.isFlat && longest >= SLIDER_MIN;
  return {
    ...bodyOf(chart, longest, theme),
    legend: hiddenLegend(off),
    color: coloursIn(chart, theme),
    textStyle: { fontFamily: theme.font },
    useUTC: true,
    animation: !isStill && longest <= LIVELY_MAX,
    animationDuration: 300,
    grid: {
      left: 12, right: 20, top: 14, bottom: hasSlider ? 40 : 10,
      outerBoundsMode: "same", outerBoundsContain: "all",
    },
    tooltip: {
      renderMode: "richText", confine: true, trigger: isShared ? "axis" : "item",
      backgroundColor: theme.surface, borderColor: theme.line, borderWidth: 1, padding: [8, 10],
      textStyle: { color: theme.text, fontSize: 13 },
      axisPointer: { type: chart.kind.includes("bar") ? "shadow" : chart.kind === "scatter" ? "cross" : "line", crossStyle: { color: theme.soft }, lineStyle: { color: theme.soft }, shadowStyle: { color: theme.line, opacity: 0.3 } },
      valueFormatter: (value: unknown) => (typeof value === "number" ? formatNumber(value) : value === null || value === undefined ? "–" : String(value)),
    },
  };
}
