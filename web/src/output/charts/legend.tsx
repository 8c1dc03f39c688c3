// SPDX-License-Identifier: Apache-2.0
// What a chart's colours stand for; each name is a switch. Beside the canvas rather than on it, so that it can be read
// out, reached by the keyboard, and wrapped where it is long.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ChartModel } from "./model";
import { drawnText, slicesOf } from "./option";
import { theme } from "./theme";

const NAMES_MAX = 60;

/** As the chart knows them, in the order of their colours; one name may stand for several series. */
export function legendOf(chart: ChartModel): string[] {
  const [first] = chart.series;
  if (chart.kind === "box" || !first) return [];
  const names = chart.kind === "pie" ? slicesOf(chart, first).map(({ name }) => name) : chart.series.map(({ name }) => drawnText(name));
  return names.length > 1 ? [...new Set(names)].slice(0, NAMES_MAX) : [];
}

function Colour({ index }: { index: number }) {
  const mark = useRef<HTMLSpanElement>(null);
  const { palette } = theme.value;
  useLayoutEffect(() => mark.current?.style.setProperty("--colour", palette[index % palette.length]!), [palette, index]);
  return <span ref={mark} class="chart-colour" />;
}

interface LegendProps {
  names: readonly string[];
  off: ReadonlySet<string>;
  change: (off: ReadonlySet<string>) => void;
}

export function Legend({ names, off, change }: LegendProps) {
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
            <Colour index={i} /> <span>{name || "(no name)"}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
