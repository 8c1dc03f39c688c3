// SPDX-License-Identifier: Apache-2.0
// The daemon's metrics, read from the text that Prometheus reads, and kept for some minutes so that they can be drawn.

export interface Sample {
  labels: Record<string, string>;
  value: number;
}
export type Metrics = ReadonlyMap<string, readonly Sample[]>;

const LINES_MAX = 20_000;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? +(\S+)$/;

/** Lines that are no samples, and the buckets of histograms, are left out. */
export function parseMetrics(text: string): Metrics {
  const metrics = new Map<string, Sample[]>();
  for (const line of text.split("\n", LINES_MAX)) {
    const parts = LINE.exec(line);
    if (!parts || parts[1]!.endsWith("_bucket")) continue;
    const value = parts[3] === "+Inf" ? Infinity : Number(parts[3]);
    if (Number.isNaN(value)) continue;
    const labels = Object.fromEntries([...(parts[2] ?? "").matchAll(LABEL)].map(([, name, text]) => [name!, text!]));
    const list = metrics.get(parts[1]!);
    if (list) list.push({ labels, value });
    else metrics.set(parts[1]!, [{ labels, value }]);
  }
  return metrics;
}

export function sum(metrics: Metrics, name: string, where: (labels: Record<string, string>) => boolean = () => true): number {
  return (metrics.get(name) ?? []).reduce((total, sample) => (where(sample.labels) ? total + sample.value : total), 0);
}

interface Reading {
  atMs: number;
  metrics: Metrics;
}

export interface Gauge {
  name: string;
  unit: (value: number) => string;
  read: (now: Reading, before: Reading | null) => number | null; // null: not known yet
}

/** How fast a counter grows, per second; null when it is not known or the daemon was started anew. */
function rate(now: Reading, before: Reading | null, name: string): number | null {
  if (!before) return null;
  const grown = sum(now.metrics, name) - sum(before.metrics, name);
  const seconds = (now.atMs - before.atMs) / 1000;
  return grown < 0 || seconds <= 0 ? null : grown / seconds;
}

function meanOf(now: Reading, before: Reading | null, name: string): number | null {
  if (!before) return null;
  const count = sum(now.metrics, `${name}_count`) - sum(before.metrics, `${name}_count`);
  const total = sum(now.metrics, `${name}_sum`) - sum(before.metrics, `${name}_sum`);
  return count > 0 ? total / count : null;
}

const whole = (value: number) => Math.round(value).toLocaleString();
const perSecond = (value: number) => (value >= 10 ? `${Math.round(value)}/s` : `${value.toFixed(1)}/s`);
const seconds = (value: number) => (value < 1 ? `${(value * 1000).toFixed(value < 0.01 ? 1 : 0)} ms` : `${value.toFixed(1)} s`);
const percent = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} %`;
const mib = (value: number) => `${(value / 1048576).toFixed(value < 104857600 ? 1 : 0)} MiB`;

export const gauges: readonly Gauge[] = [
  { name: "Runs", unit: perSecond, read: (now, before) => rate(now, before, "vivarium_runs_total") },
  { name: "Running now", unit: whole, read: (now) => sum(now.metrics, "vivarium_runs_running") },
  { name: "Waiting", unit: whole, read: (now) => sum(now.metrics, "vivarium_runs_waiting") },
  { name: "Time of a run", unit: seconds, read: (now, before) => meanOf(now, before, "vivarium_run_seconds") },
  { name: "Sessions", unit: whole, read: (now) => sum(now.metrics, "vivarium_sessions") },
  { name: "Sandboxes", unit: whole, read: (now) => sum(now.metrics, "vivarium_sandboxes") },
  { name: "Memory of sessions", unit: mib, read: (now) => sum(now.metrics, "vivarium_memory_bytes") },
  { name: "Daemon's processor", unit: percent, read: (now, before) => { const part = rate(now, before, "process_cpu_seconds_total"); return part === null ? null : part * 100; } },
];

export const POINTS_MAX = 90; // at one every two seconds: three minutes

/** Readings, turned into points to draw. */
export class Trail {
  private before: Reading | null = null;
  readonly points: (number | null)[][] = gauges.map(() => []);

  add(text: string, atMs: number): void {
    const now = { atMs, metrics: parseMetrics(text) };
    gauges.forEach((gauge, i) => {
      const list = this.points[i]!;
      list.push(gauge.read(now, this.before));
      if (list.length > POINTS_MAX) list.shift();
    });
    this.before = now;
  }
}
