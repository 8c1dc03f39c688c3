// SPDX-License-Identifier: Apache-2.0
// How a series was drawn by the code that made a figure: colour, dashes, markers. Read from the runner's word, and fitted to
// the page's theme.
import { own, ownText } from "../checks";
import { drawable } from "./model";
import type { ChartModel } from "./model";
import { DARK, LIGHT, type Theme } from "./theme";

export interface Look {
  colour?: string; // #rrggbb or #rrggbbaa
  width?: number;
  dash?: number[] | false; // false: points without a line
  symbol?: string; // as ECharts names it
  rotate?: number;
  size?: number;
  step?: "start" | "middle" | "end";
  edge?: string; // the colour around a bar or a point
  isOpen?: boolean; // only its edge was drawn
}

const COLOUR = /^#[0-9a-f]{6}([0-9a-f]{2})?$/;
const SYMBOLS: ReadonlyMap<string, [symbol: string, rotate: number]> = new Map([
  ["o", ["circle", 0]], [".", ["circle", 0]], [",", ["circle", 0]], ["s", ["rect", 0]], ["D", ["diamond", 0]], ["d", ["diamond", 0]],
  ["^", ["triangle", 0]], ["v", ["triangle", 180]], ["<", ["triangle", 90]], [">", ["triangle", -90]], ["P", ["path://M3,0h4v3h3v4h-3v3h-4v-3h-3v-4h3z", 0]],
  ["+", ["path://M4.2,0h1.6v4.2h4.2v1.6h-4.2v4.2h-1.6v-4.2h-4.2v-1.6h4.2z", 0]], ["x", ["path://M4.2,0h1.6v4.2h4.2v1.6h-4.2v4.2h-1.6v-4.2h-4.2v-1.6h4.2z", 45]],
  ["X", ["path://M3,0h4v3h3v4h-3v3h-4v-3h-3v-4h3z", 45]], ["*", ["path://M5,0L6.2,3.6H10L6.9,5.8L8.1,9.5L5,7.2L1.9,9.5L3.1,5.8L0,3.6H3.8z", 0]],
]);
const STEPS: ReadonlyMap<string, Look["step"]> = new Map([["pre", "start"], ["mid", "middle"], ["post", "end"]]);
const POINT = 1.33; // pixels

export function readColour(value: unknown): string | null {
  const colour = typeof value === "string" ? value.slice(0, 9).toLowerCase() : "";
  return COLOUR.test(colour) ? colour : null;
}

/** The size of a point that differs from others. */
export function readSize(value: unknown): number {
  return Math.max(1, Math.min(120, (drawable(value) ?? 6) * POINT));
}

/** A look as the runner tells it; what is odd in it is left out. */
export function readLook(value: unknown): Look {
  const look: Look = {};
  const [colour, edge] = [readColour(own(value, "color")), readColour(own(value, "edge"))];
  if (colour) look.colour = colour;
  if (edge) look.edge = edge;
  if (own(value, "fill") === false) look.isOpen = true;
  const within = (name: string, most: number) => {
    const number = drawable(own(value, name));
    return number !== null && number > 0 ? Math.min(most, number * POINT) : undefined;
  };
  const [width, size, dash] = [within("width", 20), within("size", 40), own(value, "dash")];
  if (width) look.width = width;
  if (size) look.size = size;
  if (dash === false) look.dash = false;
  else if (Array.isArray(dash) && dash.length > 0 && dash.length <= 8) {
    const parts = dash.map(drawable);
    if (parts.every((part) => part !== null && part >= 0 && part <= 200)) look.dash = parts.map((part) => part! * POINT);
  }
  const marker = SYMBOLS.get(ownText(value, "marker", 8));
  if (marker) [look.symbol, look.rotate] = marker;
  else if (ownText(value, "marker", 8)) look.symbol = "circle";
  if (ownText(value, "marker", 8) === "." && look.size) look.size /= 2;
  const step = STEPS.get(ownText(value, "step", 8));
  if (step) look.step = step;
  return look;
}

const channels = (colour: string) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

/** How bright it is, 0 to 1, as eyes have it (WCAG). */
function brightness(colour: string): number {
  const [red, green, blue] = channels(colour).map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** A colour that was chosen for white paper, on this page: the house's colours have a twin for the dark, what would vanish there is
 * made brighter, all else stays. */
export function onPage(colour: string, theme: Theme): string {
  const plain = colour.slice(0, 7);
  const house = LIGHT.indexOf(plain);
  let parts = channels(plain);
  if (theme.isDark && house >= 0) parts = channels(DARK[house]!);
  else if (theme.isDark && brightness(plain) < 0.08) parts = parts.map((part) => Math.round(part + (255 - part) * 0.6));
  const alpha = colour.length > 7 ? Math.round((parseInt(colour.slice(7), 16) / 255) * 100) / 100 : 1;
  return `rgba(${parts.join(",")},${alpha})`;
}

/** The colours of a chart's series, or of its slices, in their order. */
export function coloursOf(chart: ChartModel, theme: Theme): (index: number) => string {
  const own = chart.kind === "pie" ? (chart.series[0]?.colours ?? []) : chart.series.map(({ look, colours }) => look?.colour ?? colours?.[0] ?? null);
  return (index) => {
    const chosen = own[index];
    return chosen ? onPage(chosen, theme) : theme.palette[index % theme.palette.length]!;
  };
}
