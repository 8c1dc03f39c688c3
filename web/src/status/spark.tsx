// SPDX-License-Identifier: Apache-2.0
// A tiny chart: one line over the last minutes.
import { POINTS_MAX } from "./metrics";

const WIDTH = 180;
const HEIGHT = 36;

/** The path of the points that are known, from the right: the newest is at the edge. Gaps stay gaps. */
export function pathOf(points: readonly (number | null)[], width = WIDTH, height = HEIGHT): string {
  const known = points.filter((value) => value !== null);
  const most = Math.max(...known, 0) || 1;
  const step = width / (POINTS_MAX - 1);
  let path = "";
  let isDown = false;
  points.forEach((value, i) => {
    if (value === null) {
      isDown = false;
      return;
    }
    const x = width - (points.length - 1 - i) * step;
    const y = height - 2 - (value / most) * (height - 4);
    path += `${isDown ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    isDown = true;
  });
  return path;
}

interface SparkProps {
  name: string;
  points: readonly (number | null)[];
  unit: (value: number) => string;
}

export function Spark({ name, points, unit }: SparkProps) {
  const latest = points.findLast((value) => value !== null) ?? null;
  const known = points.filter((value) => value !== null);
  return (
    <figure class="spark">
      <figcaption>
        <span class="spark-name">{name}</span>
        <span class="spark-value">{latest === null ? "–" : unit(latest)}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <path d={pathOf(points)} />
      </svg>
      <p class="spark-most">{known.length > 0 && `at most ${unit(Math.max(...known))}`}</p>
    </figure>
  );
}
