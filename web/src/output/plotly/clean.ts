// SPDX-License-Identifier: Apache-2.0
// A plotly figure, reduced to what may be drawn: known members only, text without links or styles, no pictures, no maps,
// no buttons that call methods, bounded in size. The template is left out: the page's theme takes its place.
import { isRecord, own, ownList, ownText, type Loose } from "../checks";
import { toBars } from "./histogram";

const VALUES_MAX = 400_000; // in all arrays together
const TRACES_MAX = 200;
const TEXT_MAX = 2000;
const DEPTH_MAX = 7;
const DRAWN = new Set(["scatter", "bar", "pie"]);

const TRACE = new Set([
  "type", "name", "x", "y", "x0", "dx", "y0", "dy", "mode", "orientation", "text", "texttemplate", "textposition", "textinfo",
  "textfont", "insidetextorientation", "hovertemplate", "hoverinfo", "hovertext", "customdata", "marker", "line", "fill",
  "fillcolor", "opacity", "visible", "showlegend", "legendgroup", "legendgrouptitle", "legendrank", "stackgroup", "groupnorm",
  "error_x", "error_y", "base", "width", "offset", "offsetgroup", "alignmentgroup", "xaxis", "yaxis", "connectgaps", "cliponaxis",
  "labels", "values", "hole", "pull", "sort", "direction", "rotation", "domain", "title", "scalegroup", "xperiod", "yperiod",
  "xhoverformat", "yhoverformat", "hoverlabel", "insidetextfont", "outsidetextfont", "constraintext", "selectedpoints",
]);
const LAYOUT = new Set([
  "title", "legend", "showlegend", "barmode", "bargap", "bargroupgap", "barnorm", "annotations", "shapes", "colorway", "coloraxis",
  "hovermode", "hoverdistance", "grid", "margin", "piecolorway", "font", "uniformtext", "scattermode", "separators", "extendpiecolors",
]);
const AXIS = /^[xy]axis\d{0,2}$/;
const COLOR_AXIS = /^coloraxis\d{0,2}$/;
const DROPPED = new Set(["src", "source", "href", "url", "images", "updatemenus", "sliders", "transforms", "meta", "template", "uirevision", "ids", "path", "__proto__", "constructor", "prototype"]);
const SIMPLE_TAG = /^<\/?(?:b|i|u|s|em|strong|sub|sup|br)\s*\/?>$/i;

/** Plotly's own small markup without what could lead anywhere: only tags that carry nothing. */
export function cleanText(text: string): string {
  return text.slice(0, TEXT_MAX).replace(/<[^<>]*>?/g, (tag) => (SIMPLE_TAG.test(tag) ? tag : ""));
}

class Budget {
  left = VALUES_MAX;

  copy(value: unknown, depth: number): unknown {
    if (--this.left < 0 || depth > DEPTH_MAX) return undefined;
    if (typeof value === "string") return cleanText(value);
    if (typeof value === "number") return Math.abs(value) > 1e100 ? null : value;
    if (value === null || typeof value === "boolean") return value;
    if (Array.isArray(value)) return value.slice(0, Math.max(0, this.left)).map((part) => this.copy(part, depth + 1) ?? null);
    if (isRecord(value)) return isPacked(value) ? this.packed(value) : this.members(value, depth, (name) => !DROPPED.has(name));
    return undefined;
  }

  members(value: Loose, depth: number, isKnown: (name: string) => boolean): Loose {
    const copy: Loose = {};
    for (const name of Object.keys(value).slice(0, 500)) {
      if (!isKnown(name)) continue;
      const part = this.copy(value[name], depth + 1);
      if (part !== undefined) copy[name] = part;
    }
    return copy;
  }

  /** An array of numbers as base64, which is how newer plotly writes it. */
  private packed(value: Loose): unknown {
    const { bdata, dtype, shape } = value as { bdata: string; dtype: string; shape?: unknown };
    this.left -= bdata.length / 4;
    if (this.left < 0) return undefined;
    return typeof shape === "string" ? { bdata, dtype, shape: shape.slice(0, 40) } : { bdata, dtype };
  }
}

const isPacked = (value: Loose): boolean =>
  typeof own(value, "bdata") === "string" && /^[A-Za-z0-9+/=]*$/.test(value["bdata"] as string) && /^[uif][1248]$/.test(ownText(value, "dtype", 10));

export interface CleanFigure {
  data: Loose[];
  layout: Loose;
  title: string;
  missing: string[]; // kinds of traces that cannot be drawn
  isCut: boolean;
}

function traceOf(budget: Budget, trace: unknown, missing: Set<string>): Loose | null {
  if (!isRecord(trace)) return null;
  const type = ownText(trace, "type", 40) || "scatter";
  const drawn = type === "histogram" ? toBars(trace) : trace;
  const kind = type === "scattergl" ? "scatter" : type === "histogram" ? "bar" : type;
  if (!DRAWN.has(kind) || !drawn) {
    missing.add(type.replace(/[^a-z0-9]/gi, "") || "unknown");
    return null;
  }
  return { ...budget.members(drawn, 0, (name) => TRACE.has(name)), type: kind };
}

/** The part of a figure that is safe and possible to draw. */
export function cleanFigure(figure: unknown): CleanFigure | null {
  const traces = own(figure, "data");
  if (!Array.isArray(traces)) return null;
  const budget = new Budget();
  const missing = new Set<string>();
  const data = traces.slice(0, TRACES_MAX).map((trace) => traceOf(budget, trace, missing)).filter((trace) => trace !== null);
  const given = own(figure, "layout");
  const layout = isRecord(given) ? budget.members(given, 0, (name) => LAYOUT.has(name) || AXIS.test(name) || COLOR_AXIS.test(name)) : {};
  for (const list of ["annotations", "shapes"]) if (list in layout) layout[list] = ownList(layout, list).filter(isRecord).slice(0, 500);
  const title = own(layout, "title");
  const text = typeof title === "string" ? title : ownText(title, "text");
  return {
    data, layout, missing: [...missing], isCut: budget.left < 0 || traces.length > TRACES_MAX,
    title: text.replace(/<[^>]*>/g, " ").trim(),
  };
}
