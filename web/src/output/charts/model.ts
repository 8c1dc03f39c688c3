// SPDX-License-Identifier: Apache-2.0
// A chart, whoever described it: numbers and short texts only, bounded, ready to be drawn or written as CSV.

import { numberOf } from "../checks";
import type { Look } from "./looks";

export type ChartKind = "line" | "area" | "bar" | "stacked-bar" | "scatter" | "pie" | "box";

export interface Axis {
  label: string;
  scale: "category" | "value" | "time" | "log";
  limits?: [number, number]; // chosen by the code
  isInverted?: boolean;
  isFree?: boolean; // need not begin at 0
  isFine?: boolean; // has places between its categories
  hasGrid?: boolean; // lines at its ticks; where nobody says, the page decides
  hasFineGrid?: boolean; // and between them
}

/** Both are numbers: the place among the categories of the axis, a moment in ms, or a value, as the axis says; null: it has no
 * place, and a line breaks there. */
export type Point = [x: number | null, y: number | null];

/** A bar along an axis of numbers or of time, as histograms have them. */
export type Span = [from: number, to: number, base: number];

export interface Series {
  name: string;
  points: Point[];
  spans?: Span[]; // one for each point, where bars have places instead of names
  isLine?: boolean; // a line beside bars or points
  look?: Look; // as the code drew it
  colours?: (string | null)[]; // of single bars, slices, boxes or points, where they differ
  sizes?: number[]; // of single points
  digits?: [x: string | null, y: string | null][]; // of numbers that no double holds, one pair for each point
}

export interface Box {
  label: string;
  five: [min: number, q1: number, median: number, q3: number, max: number];
  outliers: number[];
  colour?: string;
  isOpen?: boolean; // only its edge was drawn
  medianColour?: string;
}

/** A pie that begins elsewhere, goes the other way, or has a hole. */
export interface Turn {
  start: number; // degrees, against the clock from three o'clock
  isClockwise: boolean;
  hole: number; // of its radius
}

export interface ChartModel {
  kind: ChartKind;
  title: string;
  x: Axis;
  y: Axis;
  categories: string[]; // along x
  yCategories?: string[];
  series: Series[];
  boxes: Box[];
  notices: string[]; // what was left out
  isFlat?: boolean; // bars or boxes lie
  hasLegend?: boolean; // though there is one name
  legendNames?: string[]; // what stands in it, where not every series does
  isOverlaid?: boolean; // bars of one name stand in front of each other
  turn?: Turn;
}

export const POINTS_MAX = 300_000; // of one chart
export const SERIES_MAX = 100;
export const LABEL_MAX = 200;
export const TITLE_MAX = 500;

export const KIND_NAMES: Readonly<Record<ChartKind, string>> = {
  line: "Line chart", area: "Area chart", bar: "Bar chart", "stacked-bar": "Stacked bar chart", scatter: "Scatter chart",
  pie: "Pie chart", box: "Box plot",
};

/** A number that axes can be made for; beyond these sizes differences overflow. */
export function drawable(value: unknown): number | null {
  const number = numberOf(value);
  if (number === null || Math.abs(number) > 1e100) return null;
  return Math.abs(number) < 1e-100 ? 0 : number;
}

const DIGITS = /^[+-]?\d{1,64}$/;

/** All digits of an integer that a double would round; null for all else. The runner sends these as text. */
export function longDigits(value: unknown): string | null {
  return typeof value === "string" && DIGITS.test(value) && !Number.isSafeInteger(Number(value)) ? value : null;
}

/** One sentence for who cannot see it. */
export function describeChart(chart: ChartModel): string {
  const names = chart.series.map((series) => series.name).filter(Boolean);
  const points = chart.series.reduce((sum, series) => sum + series.points.length, 0);
  const what = chart.kind === "box" ? `${chart.boxes.length} boxes` : `${points} points`;
  const title = chart.title ? `: ${chart.title}` : "";
  const listed = names.length ? ` of ${names.slice(0, 8).join(", ")}${names.length > 8 ? " and more" : ""}` : "";
  return `${KIND_NAMES[chart.kind]}${title}, ${what}${listed}`;
}

export const isSpanned = (chart: ChartModel): boolean => chart.series.some(({ spans }) => spans);

export const isEmpty = (chart: ChartModel): boolean =>
  chart.boxes.length === 0 && chart.series.every((series) => series.points.every(([, y]) => y === null));
