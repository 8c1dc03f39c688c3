// SPDX-License-Identifier: Apache-2.0
// The names of a chart's colours; each name is a switch. Beside the canvas rather than on it, so that it can be read
// out, reached by the keyboard, and wrapped where it is long.
import { useLayoutEffect, useRef } from "preact/hooks";
import { coloursOf } from "./looks";
import type { ChartModel } from "./model";
import { drawnText, slicesOf } from "./option";
import type { Theme } from "./theme";

const NAMES_MAX = 60;

/** As the chart knows them, in the order of their colours; one name may stand for several series. */
export function legendOf(chart: ChartModel): string[] {
  const [first] = chart.series;
  if (chart.kind === "box" || !first) return [];
  const names = chart.kind === "pie" ? slicesOf(chart, first).map(({ name }) => name) : chart.series.map(({ name }) => drawnText(name));
  if (chart.series.some(({ isLine }) => isLine) && !chart.hasLegend) return []; // nobody gave them names
  const given = new Set(chart.legendNames?.map(drawnText));
  if (names.some((name) => given.has(name))) return [...new Set(names)].filter((name) => given.has(name)).slice(0, NAMES_MAX);
  return names.length > 1 || (chart.hasLegend && names[0]) ? [...new Set(names)].slice(0, NAMES_MAX) : [];
}

/** The colour of each name of the legend. */
export function legendColours(chart: ChartModel, names: readonly string[], colours: Theme): string[] {
  const all = chart.kind === "pie" ? slicesOf(chart, chart.series[0]!).map(({ name }) => name) : chart.series.map(({ name }) => drawnText(name));
  const of = coloursOf(chart, colours);
  return names.map((name) => of(all.indexOf(name)));
}

function Colour({ colour }: { colour: string }) {
  const mark = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => mark.current?.style.setProperty("--colour", colour), [colour]);
  return <span ref={mark} class="chart-colour" />;
}

interface LegendProps {
  colours: readonly string[];
  names: readonly string[];
  off: ReadonlySet<string>;
  change: (off: ReadonlySet<string>) => void;
}

export function Legend({ names, colours, off, change }: LegendProps) {
  const turn = (name: string) => {
    const next = new Set(off);
    if (!next.delete(name)) next.add(name);
    change(next);
  };
  return (
    <ul class="chart-legend" aria-label="Legend">
      {names.map((name, i) => (
        <li key={name}>
          <button type="button" class="chart-name" aria-pressed={!off.has(name)} title={off.has(name) ? "Show it" : "Take it away"} onClick={() => turn(name)}>
            <Colour colour={colours[i]!} /> <span>{name || "(no name)"}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
