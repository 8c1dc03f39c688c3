// SPDX-License-Identifier: Apache-2.0
// The small plotly that the page carries draws no histograms; they are counted here and drawn as bars.
import { isRecord, numberOf, own, ownText, type Loose } from "../checks";

const BINS_MAX = 500;

interface Bins {
  start: number;
  size: number;
  count: number;
}

/** A round width that makes about as many bins as asked. */
function niceSize(span: number, bins: number): number {
  const rough = span / Math.max(1, bins);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10;
  return step * power;
}

function binsOf(trace: Loose, axis: "x" | "y", values: readonly number[]): Bins {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const asked = own(trace, `${axis}bins`);
  const wanted = numberOf(own(trace, `nbins${axis}`)) ?? Math.min(60, Math.max(5, Math.ceil(Math.sqrt(values.length))));
  const span = high - low || 1;
  const given = numberOf(own(asked, "size"));
  const size = given !== null && given > 0 && span / given <= BINS_MAX ? given : niceSize(span, Math.min(wanted || 10, BINS_MAX));
  const start = numberOf(own(asked, "start")) ?? Math.floor(low / size) * size;
  return { start, size, count: Math.min(BINS_MAX, Math.max(1, Math.floor((high - start) / size) + 1)) };
}

function countNumbers(trace: Loose, axis: "x" | "y", values: readonly number[]): { places: unknown[]; counts: number[]; width: number } {
  const { start, size, count } = binsOf(trace, axis, values);
  const counts = new Array<number>(count).fill(0);
  for (const value of values) {
    const bin = Math.floor((value - start) / size);
    if (bin >= 0 && bin < count) counts[bin]!++;
  }
  return { places: counts.map((_, i) => Number((start + (i + 0.5) * size).toPrecision(12))), counts, width: size };
}

function countNames(values: readonly unknown[]): { places: unknown[]; counts: number[] } {
  const counts = new Map<string, number>();
  for (const value of values) {
    const name = String(value).slice(0, 200);
    if (counts.has(name) || counts.size < BINS_MAX) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return { places: [...counts.keys()], counts: [...counts.values()] };
}

/** The bars of a histogram that counts; null for those that sum or average something else. */
export function toBars(trace: Loose): Loose | null {
  const func = ownText(trace, "histfunc", 20);
  const axis = Array.isArray(own(trace, "x")) ? "x" : "y";
  const values = own(trace, axis);
  if (!Array.isArray(values) || values.length === 0 || (func && func !== "count")) return null;
  const numbers = values.map((value) => (typeof value === "number" ? numberOf(value) : null)).filter((value) => value !== null);
  const isNumeric = numbers.length > 0 && values.every((value) => value === null || typeof value === "number");
  const { places, counts, width } = isNumeric ? countNumbers(trace, axis, numbers) : { ...countNames(values), width: undefined };
  const total = counts.reduce((sum, count) => sum + count, 0) || 1;
  const norm = ownText(trace, "histnorm", 40);
  const factor = norm === "percent" ? 100 / total : norm === "probability" ? 1 / total : norm === "probability density" ? 1 / total / (width ?? 1) : 1;
  const heights = counts.map((count) => count * factor);
  const marker = own(trace, "marker");
  return {
    name: own(trace, "name"), legendgroup: own(trace, "legendgroup"), showlegend: own(trace, "showlegend"), opacity: own(trace, "opacity"),
    offsetgroup: own(trace, "offsetgroup"), alignmentgroup: own(trace, "alignmentgroup"), xaxis: own(trace, "xaxis"), yaxis: own(trace, "yaxis"),
    ...(isRecord(marker) ? { marker } : {}),
    ...(width === undefined ? {} : { width }),
    ...(axis === "x" ? { x: places, y: heights, orientation: "v" } : { x: heights, y: places, orientation: "h" }),
  };
}
