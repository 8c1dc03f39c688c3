// SPDX-License-Identifier: Apache-2.0
// The runner's description of a matplotlib figure ("chart.data") as charts: one for each axes that can be redrawn. It was
// made in the sandbox, so it is checked like anything else from there.
import { own, ownList, ownText, textOf } from "../checks";
import { formatCount } from "../format";
import { drawable, isEmpty, LABEL_MAX, POINTS_MAX, SERIES_MAX, TITLE_MAX, type Axis, type Box, type ChartModel, type Series, type Span } from "./model";
import { readColour, readLook, readSize } from "./looks";
import { momentOf } from "./moments";

const CHARTS_MAX = 16;
const BARS_MAX = 20_000;
const BOXES_MAX = 500;
const NAMES_MAX = 50_000; // of categories
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
  const legendNames = ownList(data, "legend_names").slice(0, SERIES_MAX).map((name) => textOf(name, LABEL_MAX));
  return {
    kind, title: ownText(data, "title", TITLE_MAX), x: axisOf(data, "x"), y: axisOf(data, "y"),
    categories: [], series: [], boxes: [], notices: [], ...(own(data, "legend") === true ? { hasLegend: true } : {}), ...(legendNames.length ? { legendNames } : {}),
  };
}

const NOT_NUMBERS = /^[-+]?(nan|inf)/i; // which a picture has no place for, either

/** Places along an axis: names in their order, moments, or numbers. */
class Along {
  readonly names: string[] = [];
  lost = 0; // points that it has no place for
  private readonly known = new Map<string, number>();
  private readonly isGiven: boolean; // names that the axis has, whatever stands at them

  constructor(private readonly axis: Axis, data: unknown, name: "x" | "y") {
    for (const given of ownList(data, `${name}_categories`).slice(0, NAMES_MAX)) {
      const text = textOf(given, LABEL_MAX);
      if (!this.known.has(text)) this.known.set(text, this.names.length);
      this.names.push(text);
    }
    this.isGiven = this.names.length > 0;
    if (this.isGiven) this.setNames();
  }

  /** Names have places of their own, so limits say nothing. */
  setNames(): void {
    this.axis.scale = "category";
    delete this.axis.limits;
  }

  /** Takes what is neither a number nor a moment for names. */
  look(values: readonly unknown[]): void {
    const { scale } = this.axis;
    const isOdd = (value: unknown) => (scale === "time" ? momentOf(value) === null : typeof value === "string" && drawable(value) === null && momentOf(value) === null && !NOT_NUMBERS.test(value));
    if (scale !== "category" && values.some((value) => value !== null && isOdd(value))) this.setNames();
  }

  private named(name: string): number {
    let place = this.known.get(name);
    if (place === undefined) {
      place = this.names.push(name) - 1;
      this.known.set(name, place);
    }
    return place;
  }

  /** The place of one of the names that the axis has. */
  counted(value: unknown): number | null {
    return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < this.names.length ? value : null;
  }

  place(value: unknown): number | null {
    if (value === null) return null;
    if (this.axis.scale === "category" && !(this.isGiven && typeof value === "number")) return this.named(textOf(value, LABEL_MAX));
    const place = this.axis.scale === "time" ? momentOf(value) : drawable(value);
    if (place === null && !(typeof value === "string" && NOT_NUMBERS.test(value))) this.lost++;
    if (this.axis.scale === "category" && this.counted(place) === null) this.axis.isFine = true;
    return place;
  }
}

const firstOf = <T>(list: readonly T[], most: number, what: string, chart: ChartModel): readonly T[] => {
  if (list.length > most) chart.notices.push(`The first ${formatCount(most)} of ${formatCount(list.length)} ${what} are shown; the image shows all.`);
  return list.slice(0, most);
};

/** Lines or points, one series for each element. */
function readSeries(chart: ChartModel, elements: readonly unknown[], styles: readonly unknown[], x: Along, y: Along): Series[] {
  const read: Series[] = [];
  let room = POINTS_MAX;
  for (const [i, element] of firstOf(elements, SERIES_MAX, "series", chart).entries()) {
    const given = ownList(element, "points");
    const [colours, sizes] = [ownList(styles[i], "colors"), ownList(styles[i], "sizes")];
    const series: Series = {
      name: ownText(element, "label", LABEL_MAX), points: [], look: readLook(styles[i]),
      ...(colours.length ? { colours: [] } : {}), ...(sizes.length ? { sizes: [] } : {}),
    };
    for (const [j, point] of given.slice(0, Math.max(0, room)).entries()) {
      if (!Array.isArray(point)) continue;
      series.points.push([x.place(point[0]), y.place(point[1])]);
      series.colours?.push(readColour(colours[j]));
      series.sizes?.push(readSize(sizes[j]));
    }
    room -= series.points.length;
    if (own(element, "truncated") === true) chart.notices.push(`"${series.name}" has more points than were sent; the image shows all.`);
    if (series.points.length) read.push(series);
  }
  return read;
}

/** Lines that were drawn over bars or points. */
const linesOver = (chart: ChartModel, data: unknown, x: Along, y: Along): Series[] =>
  readSeries(chart, ownList(data, "lines"), ownList(data, "line_styles"), x, y).map((line) => ({ ...line, isLine: true }));

function withPlaces(chart: ChartModel, x: Along, y: Along): ChartModel {
  const lost = x.lost + y.lost;
  if (lost) chart.notices.push(`${lost === 1 ? "One point has" : `${formatCount(lost)} points have`} no place on the axes here; the image shows all.`);
  return { ...chart, categories: x.names, ...(y.names.length ? { yCategories: y.names } : {}) };
}

function readPoints(data: unknown, kind: "line" | "scatter"): ChartModel {
  const chart = blank(data, kind);
  chart.y.isFree = true;
  const [elements, lines] = [ownList(data, "elements"), ownList(data, "lines")];
  const first = [...elements, ...lines].slice(0, SERIES_MAX).flatMap((element) => ownList(element, "points").slice(0, 50)).filter((point) => Array.isArray(point));
  const [x, y] = [new Along(chart.x, data, "x"), new Along(chart.y, data, "y")];
  x.look(first.map((point) => point[0] ?? null));
  y.look(first.map((point) => point[1] ?? null));
  chart.series = [...readSeries(chart, elements, ownList(data, "styles"), x, y), ...linesOver(chart, data, x, y)];
  return withPlaces(chart, x, y);
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
  const [x, y] = [new Along(chart.x, data, isFlat ? "y" : "x"), new Along(chart.y, {}, "y")];
  const [spans, places] = [ownList(data, "spans"), ownList(data, "places")];
  const isNamed = spans.length === 0;
  if (isNamed) x.setNames();
  else if (chart.x.scale === "category") chart.x.isFine = true;
  if (chart.y.scale === "category" || chart.y.scale === "time") chart.y.scale = "value";
  const styles = ownList(data, "styles");
  const groups = new Map<string, { series: Series; seen: Map<string, number>; taken: Set<number> }>();
  let others = 0;
  for (const [i, element] of firstOf(ownList(data, "elements"), BARS_MAX, "bars", chart).entries()) {
    const name = textOf(own(element, "group"), LABEL_MAX);
    const { colour, ...look } = readLook(styles[i]);
    const span = isNamed ? null : readSpan(spans[i], chart.x.scale);
    const place = isNamed ? x.counted(places[i]) : span && (span[0] + span[1]) / 2;
    let key = name;
    while (isNamed && place !== null && groups.get(key)?.taken.has(place)) key += "\0"; // another series of the same name
    let group = groups.get(key);
    if (!group) {
      if (groups.size >= SERIES_MAX) {
        others++;
        continue;
      }
      group = { series: { name, points: [], colours: [], look, ...(isNamed ? {} : { spans: [] }) }, seen: new Map(), taken: new Set() };
      groups.set(key, group);
    }
    if (!isNamed && !span) continue;
    if (span) group.series.spans!.push(span);
    if (place !== null) group.taken.add(place);
    group.series.points.push([place ?? nextPlace(x, group.seen, textOf(own(element, "label"), LABEL_MAX)), drawable(own(element, "value"))]);
    group.series.colours!.push(colour ?? null);
  }
  if (others) chart.notices.push(`${formatCount(others)} bars of more than ${SERIES_MAX} series are left out; the image shows all.`);
  chart.series = [...groups.values()].map(({ series }) => oneColour(series));
  if (!isNamed && !isFlat) chart.series.push(...linesOver(chart, data, x, y));
  return withPlaces(chart, x, y);
}

/** Where a bar stands of which only the name is told; two bars of one group may have the same. */
function nextPlace(x: Along, seen: Map<string, number>, label: string): number | null {
  const before = seen.get(label) ?? 0;
  seen.set(label, before + 1);
  return x.place(before ? `${label} (${before + 1})` : label);
}

function readPie(data: unknown): ChartModel {
  const chart = blank(data, "pie");
  const [start, hole] = [drawable(own(data, "start")), drawable(own(data, "hole"))];
  if (start !== null) chart.turn = { start, isClockwise: own(data, "clockwise") === true, hole: Math.max(0, Math.min(0.95, hole ?? 0)) };
  const colours: (string | null)[] = [];
  const series: Series = { name: "share (%)", points: [], colours };
  const styles = ownList(data, "styles");
  let circle = 0;
  for (const [i, element] of ownList(data, "elements").slice(0, 2000).entries()) {
    const angle = drawable(own(element, "angle"));
    if (angle === null || angle <= 0) continue;
    circle += angle;
    series.points.push([chart.categories.length, Number((angle / 3.6).toFixed(3))]);
    colours.push(readLook(styles[i]).colour ?? null);
    chart.categories.push(textOf(own(element, "label"), LABEL_MAX) || `part ${chart.categories.length + 1}`);
  }
  chart.x.scale = "category";
  chart.series = circle > 359 ? [series] : []; // one with a gap would be drawn as if it had none
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
  for (const [i, element] of firstOf(ownList(data, "elements"), BOXES_MAX, "boxes", chart).entries()) {
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

function readAxes(data: unknown): ChartModel | null {
  switch (own(data, "type")) {
    case "line":
    case "scatter":
      return readPoints(data, own(data, "type") as "line" | "scatter");
    case "bar":
      return readBars(data);
    case "pie":
      return readPie(data);
    case "box_and_whisker":
      return readBoxes(data);
    default:
      return null;
  }
}

const hasContent = (chart: ChartModel | null): chart is ChartModel => chart !== null && !isEmpty(chart);

export interface Twin {
  title: string;
  charts: ChartModel[];
  lacks: string[]; // what the figure shows and the charts do not
  missing: number; // panels that have no chart, though something was drawn in them
}

/** The interactive twin of a figure: its title, and a chart for each axes that has one. Empty when there is nothing to redraw. */
export function readFigure(data: unknown): Twin {
  const lacks = ownList(data, "lacks").slice(0, LACKS_MAX).map((words) => textOf(words, LABEL_MAX)).filter(Boolean);
  if (own(data, "complete") === false && !lacks.length) lacks.push("some of what was drawn");
  if (own(data, "type") !== "superchart") {
    const chart = readAxes(data);
    return { title: "", charts: hasContent(chart) ? [chart] : [], lacks, missing: 0 };
  }
  const parts = ownList(data, "elements");
  if (parts.length > CHARTS_MAX) lacks.push(`${parts.length - CHARTS_MAX} more panels`);
  const panels = parts.slice(0, CHARTS_MAX).map(readAxes);
  const missing = parts.filter((part, i) => !hasContent(panels[i] ?? null) && ownList(part, "lacks").length + ownList(part, "elements").length > 0).length;
  return { title: ownText(data, "title", TITLE_MAX), charts: panels.filter(hasContent), lacks, missing };
}
