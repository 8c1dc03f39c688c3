// SPDX-License-Identifier: Apache-2.0
// A chart object that code left in `_chart`: {type, data, categoryKey, valueKeys}. Anything may be in it; what cannot be
// drawn is said in one sentence.
import { isRecord, own, ownText, textOf } from "../checks";
import { formatCount } from "../format";
import { drawable, LABEL_MAX, POINTS_MAX, SERIES_MAX, TITLE_MAX, type Axis, type ChartKind, type ChartModel, type Series } from "./model";
import { momentOf } from "./moments";

const KINDS: ReadonlyMap<string, ChartKind> = new Map([
  ["line", "line"], ["bar", "bar"], ["pie", "pie"], ["area", "area"], ["scatter", "scatter"],
  ["stackedbar", "stacked-bar"], ["barstacked", "stacked-bar"], ["column", "bar"], ["donut", "pie"], ["doughnut", "pie"],
]);
const SCALE_MIN = 40; // fewer categories than this stay names, though they be numbers or dates: years, days of a week

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

/** The axis that the labels make, and each row's place on it. */
function placesOf(rows: readonly unknown[], key: string, kind: ChartKind): { x: Axis; categories: string[]; places: (number | null)[] } {
  const labels = rows.map((row) => own(row, key));
  const isScaled = kind === "scatter" || ((kind === "line" || kind === "area") && rows.length >= SCALE_MIN);
  const x: Axis = { label: key.slice(0, LABEL_MAX), scale: "category" };
  if (isScaled) {
    const numbers = labels.map((label) => (typeof label === "number" ? drawable(label) : null));
    if (numbers.every((number) => number !== null)) return { x: { ...x, scale: "value" }, categories: [], places: numbers };
    const moments = labels.map(momentOf);
    if (moments.every((moment) => moment !== null)) return { x: { ...x, scale: "time" }, categories: [], places: moments };
  }
  return { x, categories: labels.map((label) => textOf(label, LABEL_MAX)), places: labels.map((_, i) => i) };
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

  const { x, categories, places } = placesOf(rows, category, kind);
  const series = names.map<Series>((name) => ({
    name: name.slice(0, LABEL_MAX),
    points: rows.map((row, i) => [places[i]!, drawable(own(row, name))]),
  }));
  if (rows.length && series.every(({ points }) => points.every(([, y]) => y === null))) {
    throw new Malformed(`no row of its data has a number in ${names.map((name) => JSON.stringify(name.slice(0, 40))).slice(0, 3).join(", ")}`);
  }
  return {
    kind, categories, series, notices, boxes: [], x,
    title: ownText(spec, "title", TITLE_MAX),
    y: { label: names.length === 1 ? series[0]!.name : "", scale: "value" },
  };
}
