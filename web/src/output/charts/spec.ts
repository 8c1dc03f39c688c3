// SPDX-License-Identifier: Apache-2.0
// A chart object that code left in `_chart`: {type, data, categoryKey, valueKeys}. Anything may be in it; what cannot be
// drawn is said in one sentence.
import { isRecord, own, ownText, textOf } from "../checks";
import { formatCount } from "../format";
import { drawable, LABEL_MAX, longDigits, POINTS_MAX, SERIES_MAX, TITLE_MAX, type Axis, type ChartKind, type ChartModel, type Series } from "./model";
import { momentsOf } from "./moments";

const KINDS: ReadonlyMap<string, ChartKind> = new Map([
  ["line", "line"], ["bar", "bar"], ["pie", "pie"], ["area", "area"], ["scatter", "scatter"],
  ["stackedbar", "stacked-bar"], ["barstacked", "stacked-bar"], ["column", "bar"], ["donut", "pie"], ["doughnut", "pie"],
]);
const SCALE_MIN = 40; // fewer categories than this stay names, though they be numbers or dates: years, days of a week
const UNEVEN = 1.5; // times the smallest gap

export class Malformed extends Error {}

function kindOf(spec: unknown): ChartKind {
  const given = own(spec, "type");
  const kind = typeof given === "string" ? KINDS.get(given.slice(0, 40).toLowerCase().replace(/[-_ ]/g, "")) : undefined;
  if (kind) return kind;
  throw new Malformed(
    given === undefined
      ? "it has no type; known are line, bar, pie, area, stacked-bar and scatter"
      : `its type is ${JSON.stringify(textOf(given, 40))}; known are line, bar, pie, area, stacked-bar and scatter`,
  );
}

function keysOf(spec: unknown): { category: string; values: string[] } {
  const category = own(spec, "categoryKey");
  const values = own(spec, "valueKeys");
  if (typeof category !== "string") throw new Malformed("it has no categoryKey: the name of the member that holds the labels");
  if (!Array.isArray(values) || values.length === 0) throw new Malformed("it has no valueKeys: a list of the members that hold the values");
  const names = values.filter((name) => typeof name === "string");
  if (names.length < values.length) throw new Malformed("its valueKeys are not all texts");
  return { category, values: names };
}

/** Whether moments as names in a row would stand at places that are not theirs. Months are as long as each other. */
function isUneven(moments: readonly number[]): boolean {
  const gaps = moments.slice(1).map((moment, i) => moment - moments[i]!);
  return gaps.length > 1 && Math.min(...gaps) > 0 && Math.max(...gaps) > UNEVEN * Math.min(...gaps);
}

/** A day as it is said: pandas has a time at each. */
function dayText(label: unknown): unknown {
  return typeof label === "string" && label.length === 19 && label.endsWith("T00:00:00") ? label.slice(0, 10) : label;
}

interface Places {
  x: Axis;
  categories: string[];
  places: (number | null)[];
  digits?: (string | null)[]; // of labels that no double holds
  notice?: string;
}

/** The axis that the labels make, and each row's place on it. */
function placesOf(rows: readonly unknown[], key: string, kind: ChartKind): Places {
  const labels = rows.map((row) => own(row, key));
  const notice = rows.length > 0 && labels.every((label) => label === undefined) ? `No row has ${JSON.stringify(key.slice(0, 40))}, the categoryKey: the rows have no labels.` : "";
  const isLine = kind === "line" || kind === "area";
  const isScaled = kind === "scatter" || (isLine && rows.length >= SCALE_MIN);
  const x: Axis = { label: key.slice(0, LABEL_MAX), scale: "category" };
  if (isScaled) {
    const digits = labels.map(longDigits);
    const numbers = labels.map((label, i) => (typeof label === "number" || digits[i] ? drawable(label) : null));
    if (numbers.every((number) => number !== null)) return { x: { ...x, scale: "value" }, categories: [], places: numbers, digits };
  }
  const moments = momentsOf(labels, key);
  if (moments && (isScaled || (isLine && isUneven(moments.exact)))) {
    return { x: { ...x, scale: "time" }, categories: [], places: moments.places, notice: moments.notice };
  }
  return { x, categories: labels.map((label) => textOf(dayText(label), LABEL_MAX)), places: labels.map((_, i) => i), notice };
}

/** The values of one member along the axis. */
function seriesOf(rows: readonly unknown[], name: string, { places, digits }: Places): Series {
  const values = rows.map((row) => own(row, name));
  const exact = values.map((value, i): [string | null, string | null] => [digits?.[i] ?? null, longDigits(value)]);
  return {
    name: name.slice(0, LABEL_MAX),
    points: values.map((value, i) => [places[i]!, drawable(value)]),
    ...(exact.some(([x, y]) => x !== null || y !== null) ? { digits: exact } : {}),
  };
}

/** The chart that a spec describes; Malformed when it describes none. */
export function readSpec(spec: unknown): ChartModel {
  if (!isRecord(spec)) throw new Malformed("it is not an object {type, data, categoryKey, valueKeys}");
  const kind = kindOf(spec);
  const { category, values } = keysOf(spec);
  const given = own(spec, "data");
  if (!Array.isArray(given)) throw new Malformed("its data is not a list of objects");
  const notices: string[] = [];
  const names = values.slice(0, SERIES_MAX);
  if (names.length < values.length) notices.push(`The first ${SERIES_MAX} of ${formatCount(values.length)} series are shown.`);
  const rowsMax = Math.floor(POINTS_MAX / names.length);
  const rows = given.length > rowsMax ? given.slice(0, rowsMax) : given;
  if (rows.length < given.length) notices.push(`The first ${formatCount(rows.length)} of ${formatCount(given.length)} rows are shown.`);
  const odd = rows.findIndex((row) => !isRecord(row));
  if (odd >= 0) throw new Malformed(`row ${odd + 1} of its data is not an object`);

  const along = placesOf(rows, category, kind);
  if (along.notice) notices.push(along.notice);
  const series = names.map((name) => seriesOf(rows, name, along));
  if (rows.length && series.every(({ points }) => points.every(([, y]) => y === null))) {
    throw new Malformed(`no row of its data has a number in ${names.map((name) => JSON.stringify(name.slice(0, 40))).slice(0, 3).join(", ")}`);
  }
  const negative = kind === "pie" ? series[0]!.points.filter(([, y]) => y !== null && y < 0).length : 0;
  if (negative) notices.push(`${negative === 1 ? "One value is" : `${formatCount(negative)} values are`} negative: a pie has no slice for ${negative === 1 ? "it" : "them"}.`);
  return {
    kind, categories: along.categories, series, notices, boxes: [], x: along.x,
    title: ownText(spec, "title", TITLE_MAX),
    y: { label: names.length === 1 ? series[0]!.name : "", scale: "value" },
  };
}
