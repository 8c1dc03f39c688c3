// SPDX-License-Identifier: Apache-2.0
// Charts and tables as CSV. A text that a spreadsheet would take for a formula gets an apostrophe in front: opening a file
// that untrusted code filled must run nothing.
import { textOf } from "../checks";
import { isSpanned, type Axis, type ChartModel } from "./model";
import { momentText } from "./moments";

type Value = string | number | null;

export function csvCell(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return Object.is(value, -0) ? "-0.0" : String(value);
  let text = textOf(value, 100_000);
  if (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text))) text = "'" + text;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const lines = [columns, ...rows].map((row) => Array.from(row, csvCell).join(","));
  return lines.join("\r\n") + "\r\n";
}

export interface Sheet {
  columns: string[];
  rows: Value[][];
}

/** The numbers of a chart as a table: one row for each place when all series have the same ones, else one for each point. */
export function sheetOf(chart: ChartModel): Sheet {
  if (chart.kind === "box") {
    const rows = chart.boxes.map((box) => [box.label, ...box.five, box.outliers.join(" ")]);
    return { columns: ["label", "min", "first quartile", "median", "third quartile", "max", "outliers"], rows };
  }
  const read = (value: number | null, scale: Axis["scale"], names: readonly string[]): Value => {
    if (value === null) return null;
    if (scale === "category") return names[Math.round(value)] ?? value;
    return scale === "time" ? momentText(value) : value;
  };
  const place = (x: number | null) => read(x, chart.x.scale, chart.categories);
  const worth = (y: number | null) => read(y, chart.y.scale, chart.yCategories ?? []);
  if (isSpanned(chart) && chart.x.scale !== "category") {
    const rows = chart.series.flatMap(({ name, points, spans }) => points.map(([x, y], i) => {
      const [from, to] = spans?.[i] ?? [x, x];
      return [name, place(from), place(to), y];
    }));
    const isOne = chart.series.length === 1;
    return { columns: [...(isOne ? [] : ["series"]), "from", "to", chart.y.label || "value"], rows: isOne ? rows.map((row) => row.slice(1)) : rows };
  }
  const [first] = chart.series;
  const label = chart.x.label || (chart.x.scale === "category" ? "label" : "x");
  if (!first) return { columns: [label], rows: [] };
  const isShared = chart.series.every(({ points }) =>
    points.length === first.points.length && points.every(([x], i) => x === first.points[i]![0]));
  if (isShared) {
    const columns = [label, ...chart.series.map(({ name }, i) => name || chart.y.label || (i ? `value ${i + 1}` : "value"))];
    return {
      columns,
      rows: first.points.map(([x], i) => [first.digits?.[i]![0] ?? place(x), ...chart.series.map(({ points, digits }) => digits?.[i]![1] ?? worth(points[i]![1]))]),
    };
  }
  const rows = chart.series.flatMap(({ name, points }) => points.map(([x, y]) => [name, place(x), worth(y)]));
  return { columns: ["series", label, chart.y.label || "y"], rows };
}
