// SPDX-License-Identifier: Apache-2.0
// What the runner told of a matplotlib figure ("chart.data"), as charts: one for each axes that can be redrawn. It was made
// in the sandbox, so it is checked like anything else from there.
import { own, ownList, ownText, textOf } from "../checks";
import { formatCount } from "../format";
import { drawable, LABEL_MAX, POINTS_MAX, SERIES_MAX, TITLE_MAX, type Axis, type Box, type ChartModel, type Series, type Span } from "./model";
import { readColour, readLook, readSize } from "./looks";
import { momentOf } from "./moments";

const CHARTS_MAX = 16;
const BARS_MAX = 20_000;
const LACKS_MAX = 40;

function axisOf(data: unknown, name: "x" | "y"): Axis {
  const scale = own(data, `${name}_scale`);
  const ends = ownList(data, `${name}_limits`).map((end) => (scale === "datetime" ? momentOf(end) : drawable(end)));
  const [low, high] = ends;
  return {
    label: ownText(data, `${name}_label`, LABEL_MAX),
    scale: scale === "log" ? "log" : scale === "datetime" ? "time" : scale === "categorical" ? "category" : "value",
    ...(typeof low === "number" && typeof high === "number" && low < high ? { limits: [low, high] } : {}),
    ...(own(data, `${name}_inverted`) === true ? { isInverted: true } : {}),
    ...(typeof own(data, `${name}_grid`) === "boolean" ? { hasGrid: own(data, `${name}_grid`) === true } : {}),
    ...(own(data, `${name}_minor_grid`) === true ? { hasFineGrid: true } : {}),
  };
}

function blank(data: unknown, kind: ChartModel["kind"]): ChartModel {
  return {
    kind, title: ownText(data, "title", TITLE_MAX), x: axisOf(data, "x"), y: axisOf(data, "y"),
    categories: [], series: [], boxes: [], notices: [], ...(own(data, "legend") === true ? { hasLegend: true } : {}),
  };
}

/** Names of categories, numbered as they come. */
class Names {
  readonly list: string[] = [];
  private readonly known = new Map<string, number>();

  place(name: string): number {
    let place = this.known.get(name);
    if (place === undefined) {
      place = this.list.push(name.slice(0, LABEL_MAX)) - 1;
      this.known.set(name, place);
    }
    return place;
  }
}

function readPoints(data: unknown, kind: "line" | "scatter"): ChartModel {
  const chart = blank(data, kind);
  chart.y.isFree = true;
  const elements = ownList(data, "elements").slice(0, SERIES_MAX);
  const firstX = elements.flatMap((element) => ownList(element, "points").slice(0, 50)).map((point) => (Array.isArray(point) ? point[0] : null));
  if (chart.x.scale === "time" && !firstX.every((x) => momentOf(x) !== null)) chart.x.scale = "category";
  if (chart.x.scale !== "category" && firstX.some((x) => typeof x === "string" && drawable(x) === null && momentOf(x) === null)) chart.x.scale = "category";
  const names = new Names();
  const place = (x: unknown): number | null => {
    if (chart.x.scale === "category") return names.place(textOf(x, LABEL_MAX));
    return chart.x.scale === "time" ? momentOf(x) : drawable(x);
  };
  const styles = ownList(data, "styles");
  let room = POINTS_MAX;
  for (const [i, element] of elements.entries()) {
    const given = ownList(element, "points");
    const [colours, sizes] = [ownList(styles[i], "colors"), ownList(styles[i], "sizes")];
    const series: Series = {
      name: ownText(element, "label", LABEL_MAX), points: [], look: readLook(styles[i]),
      ...(colours.length ? { colours: [] } : {}), ...(sizes.length ? { sizes: [] } : {}),
    };
    for (const [j, point] of given.slice(0, Math.max(0, room)).entries()) {
      const x = Array.isArray(point) ? place(point[0]) : null;
      if (x === null) continue;
      series.points.push([x, drawable((point as unknown[])[1])]);
      series.colours?.push(readColour(colours[j]));
      series.sizes?.push(readSize(sizes[j]));
    }
    room -= series.points.length;
    if (own(element, "truncated") === true) chart.notices.push(`"${series.name}" has more points than were sent; the image shows all.`);
    if (series.points.length) chart.series.push(series);
  }
  chart.categories = names.list;
  if (chart.y.scale === "category" || chart.y.scale === "time") chart.y.scale = "value";
  return chart;
}

/** Bars of one colour have it as a series. */
function oneColour({ colours = [], ...series }: Series): Series {
  const [first] = colours;
  if (colours.some((colour) => colour !== first)) return { ...series, colours };
  return first ? { ...series, look: { ...series.look, colour: first } } : series;
}

/** Where a bar stands that has no name; null when it stands nowhere. */
function readSpan(value: unknown, scale: Axis["scale"]): Span | null {
  const [from, to, base] = Array.isArray(value) ? [value[0], value[1]].map((end) => (scale === "time" ? momentOf(end) : drawable(end))).concat(drawable(value[2])) : [];
  return typeof from === "number" && typeof to === "number" && from <= to ? [from, to, base ?? 0] : null;
}

function readBars(data: unknown): ChartModel {
  const isFlat = own(data, "horizontal") === true;
  const chart = { ...blank(data, own(data, "stacked") === true ? "stacked-bar" : "bar"), ...(isFlat ? { isFlat } : {}) };
  if (isFlat) [chart.x, chart.y] = [chart.y, chart.x]; // x is where the bars stand, whichever way they go
  if (own(data, "overlaid") === true) chart.isOverlaid = true;
  const spans = ownList(data, "spans");
  const isNamed = spans.length === 0;
  if (isNamed) {
    chart.x.scale = "category";
    delete chart.x.limits; // they are places of bars, which have names here
  }
  if (chart.y.scale === "category" || chart.y.scale === "time") chart.y.scale = "value";
  const elements = ownList(data, "elements");
  const styles = ownList(data, "styles");
  if (elements.length > BARS_MAX) chart.notices.push(`The first ${formatCount(BARS_MAX)} of ${formatCount(elements.length)} bars are shown.`);
  const names = new Names();
  const groups = new Map<string, { series: Series; seen: Map<string, number> }>();
  for (const [i, element] of elements.slice(0, BARS_MAX).entries()) {
    const name = textOf(own(element, "group"), LABEL_MAX);
    const { colour, ...look } = readLook(styles[i]);
    let group = groups.get(name);
    if (!group) {
      if (groups.size >= SERIES_MAX) continue;
      group = { series: { name, points: [], colours: [], look, ...(isNamed ? {} : { spans: [] }) }, seen: new Map() };
      groups.set(name, group);
    }
    const span = isNamed ? null : readSpan(spans[i], chart.x.scale);
    if (span) {
      group.series.spans!.push(span);
      group.series.points.push([(span[0] + span[1]) / 2, drawable(own(element, "value"))]);
      group.series.colours!.push(colour ?? null);
    }
    if (!isNamed) continue;
    const label = textOf(own(element, "label"), LABEL_MAX);
    const before = group.seen.get(label) ?? 0; // two bars of one group may have the same label
    group.seen.set(label, before + 1);
    group.series.points.push([names.place(before ? `${label} (${before + 1})` : label), drawable(own(element, "value"))]);
    group.series.colours!.push(colour ?? null);
  }
  chart.series = [...groups.values()].map(({ series }) => oneColour(series));
  chart.categories = names.list;
  return chart;
}

function readPie(data: unknown): ChartModel {
  const chart = blank(data, "pie");
  const [start, hole] = [drawable(own(data, "start")), drawable(own(data, "hole"))];
  if (start !== null) chart.turn = { start, isClockwise: own(data, "clockwise") === true, hole: Math.max(0, Math.min(0.95, hole ?? 0)) };
  const colours: (string | null)[] = [];
  const series: Series = { name: "share (%)", points: [], colours };
  const styles = ownList(data, "styles");
  for (const [i, element] of ownList(data, "elements").slice(0, 2000).entries()) {
    const angle = drawable(own(element, "angle"));
    if (angle === null || angle <= 0) continue;
    series.points.push([chart.categories.length, Number((angle / 3.6).toFixed(3))]);
    colours.push(readLook(styles[i]).colour ?? null);
    chart.categories.push(textOf(own(element, "label"), LABEL_MAX) || `part ${chart.categories.length + 1}`);
  }
  chart.x.scale = "category";
  chart.series = series.points.length ? [series] : [];
  return chart;
}

function readBoxes(data: unknown): ChartModel {
  const isFlat = own(data, "horizontal") === true;
  const chart = { ...blank(data, "box"), ...(isFlat ? { isFlat } : {}) };
  if (isFlat) [chart.x, chart.y] = [chart.y, chart.x];
  chart.x.scale = "category";
  delete chart.x.limits;
  chart.y.isFree = true;
  const styles = ownList(data, "styles");
  let room = POINTS_MAX;
  for (const [i, element] of ownList(data, "elements").slice(0, 500).entries()) {
    const five = ["min", "first_quartile", "median", "third_quartile", "max"].map((name) => drawable(own(element, name)));
    if (five.some((number) => number === null)) continue;
    const outliers = ownList(element, "outliers").slice(0, Math.max(0, room)).map(drawable).filter((number) => number !== null);
    room -= outliers.length;
    const { colour, isOpen } = readLook(styles[i]);
    const medianColour = readColour(own(styles[i], "median"));
    chart.boxes.push({
      label: textOf(own(element, "label"), LABEL_MAX), five: five as Box["five"], outliers,
      ...(colour ? { colour } : {}), ...(isOpen ? { isOpen } : {}), ...(medianColour ? { medianColour } : {}),
    });
  }
  chart.categories = chart.boxes.map((box) => box.label);
  return chart;
}

/** Lines that were drawn over bars or points. */
function withLines(chart: ChartModel, data: unknown): ChartModel {
  if (chart.x.scale === "category" || chart.isFlat) return chart;
  const { series, x } = readPoints({ ...(data as object), elements: ownList(data, "lines"), styles: ownList(data, "line_styles") }, "line");
  return x.scale === chart.x.scale ? { ...chart, series: [...chart.series, ...series.map((line) => ({ ...line, isLine: true }))] } : chart;
}

function readAxes(data: unknown): ChartModel | null {
  switch (own(data, "type")) {
    case "line":
    case "scatter":
      return withLines(readPoints(data, own(data, "type") as "line" | "scatter"), data);
    case "bar":
      return withLines(readBars(data), data);
    case "pie":
      return readPie(data);
    case "box_and_whisker":
      return readBoxes(data);
    default:
      return null;
  }
}

const hasContent = (chart: ChartModel | null): chart is ChartModel =>
  chart !== null && (chart.series.length > 0 || chart.boxes.length > 0);

export interface Twin {
  title: string;
  charts: ChartModel[];
  lacks: string[]; // what the figure shows and the charts do not
}

/** The interactive twin of a figure: its title, and a chart for each axes that has one. Empty when there is nothing to redraw. */
export function readFigure(data: unknown): Twin {
  const lacks = ownList(data, "lacks").slice(0, LACKS_MAX).map((words) => textOf(words, LABEL_MAX)).filter(Boolean);
  if (own(data, "complete") === false && !lacks.length) lacks.push("some of what was drawn");
  if (own(data, "type") !== "superchart") {
    const chart = readAxes(data);
    return { title: "", charts: hasContent(chart) ? [chart] : [], lacks };
  }
  const parts = ownList(data, "elements");
  if (parts.length > CHARTS_MAX) lacks.push(`${parts.length - CHARTS_MAX} more panels`);
  const charts = parts.slice(0, CHARTS_MAX).map(readAxes).filter(hasContent);
  return { title: ownText(data, "title", TITLE_MAX), charts, lacks };
}
