// SPDX-License-Identifier: Apache-2.0
// The small plotly that the page carries draws no box plots; a figure that is nothing else becomes a chart of the page.
import { own, ownList, ownText, textOf } from "../checks";
import { drawable, LABEL_MAX, POINTS_MAX, TITLE_MAX, type Box, type ChartModel } from "../charts/model";

const BOXES_MAX = 200;

/** The value below which a share of the sorted numbers lies, between two of them where need be. */
function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share;
  const low = Math.floor(place);
  return sorted[low]! + (sorted[Math.min(low + 1, sorted.length - 1)]! - sorted[low]!) * (place - low);
}

/** Whiskers reach as far as there are values within one and a half boxes; what is beyond is an outlier. */
export function boxOf(label: string, values: readonly number[]): Box {
  const sorted = [...values].sort((a, b) => a - b);
  const [q1, median, q3] = [quantile(sorted, 0.25), quantile(sorted, 0.5), quantile(sorted, 0.75)];
  const reach = (q3 - q1) * 1.5;
  const within = sorted.filter((value) => value >= q1 - reach && value <= q3 + reach);
  const outliers = sorted.filter((value) => value < q1 - reach || value > q3 + reach);
  return { label, five: [within[0] ?? q1, q1, median, q3, within.at(-1) ?? q3], outliers };
}

function groupsOf(trace: unknown, groups: Map<string, number[]>): void {
  const isFlat = ownText(trace, "orientation", 1) === "h";
  const values = ownList(trace, isFlat ? "x" : "y").slice(0, POINTS_MAX);
  const places = ownList(trace, isFlat ? "y" : "x");
  const name = ownText(trace, "name", LABEL_MAX);
  values.forEach((value, i) => {
    const number = drawable(value);
    const place = places.length === values.length ? textOf(places[i], LABEL_MAX) : "";
    const label = [place.trim(), name].filter(Boolean).join(", ") || "values";
    if (number === null || (!groups.has(label) && groups.size >= BOXES_MAX)) return;
    const group = groups.get(label);
    if (group) group.push(number);
    else groups.set(label, [number]);
  });
}

/** The figure as a box plot; null when it has anything else in it. */
export function boxesOf(figure: unknown): ChartModel | null {
  const traces = ownList(figure, "data");
  if (!traces.length || !traces.every((trace) => own(trace, "type") === "box")) return null;
  const groups = new Map<string, number[]>();
  for (const trace of traces.slice(0, BOXES_MAX)) groupsOf(trace, groups);
  const boxes = [...groups].map(([label, values]) => boxOf(label, values));
  if (!boxes.length) return null;
  const layout = own(figure, "layout");
  const title = own(layout, "title");
  const axis = (name: string) => ownText(own(own(layout, name), "title"), "text", LABEL_MAX);
  return {
    kind: "box", title: typeof title === "string" ? title.slice(0, TITLE_MAX) : ownText(title, "text", TITLE_MAX),
    x: { label: axis("xaxis"), scale: "category" }, y: { label: axis("yaxis"), scale: "value" },
    categories: boxes.map(({ label }) => label), series: [], boxes, notices: [],
  };
}
