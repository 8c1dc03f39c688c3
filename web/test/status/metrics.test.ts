// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { gauges, parseMetrics, POINTS_MAX, sum, Trail } from "../../src/status/metrics";
import { pathOf } from "../../src/status/spark";

const TEXT = `# HELP vivarium_runs_total Runs that are over.
# TYPE vivarium_runs_total counter
vivarium_runs_total{policy="default",verdict="ok"} 32
vivarium_runs_total{policy="a\\"b,c}",verdict="timeout"} 4
vivarium_run_seconds_bucket{le="+Inf"} 4
vivarium_sandboxes 15
process_cpu_seconds_total 0.5
broken line
vivarium_x{a="b"} NaN
`;
const at = (name: string) => gauges.findIndex((gauge) => gauge.name === name);

describe("metrics", () => {
  it("are read with their labels, without buckets and without what is no number", () => {
    const metrics = parseMetrics(TEXT);
    expect(sum(metrics, "vivarium_runs_total")).toBe(36);
    expect(sum(metrics, "vivarium_runs_total", (labels) => labels["verdict"] === "ok")).toBe(32);
    expect(metrics.has("vivarium_run_seconds_bucket")).toBe(false);
    expect(metrics.has("vivarium_x")).toBe(false);
    expect(sum(metrics, "no_such")).toBe(0);
  });

  it("become rates from the second reading on", () => {
    const trail = new Trail();
    trail.add(TEXT, 0);
    trail.add(TEXT.replace("32", "42"), 2000);
    expect(trail.points[at("Runs")]).toEqual([null, 5]);
    expect(trail.points[at("Sandboxes")]).toEqual([15, 15]);
  });

  it("are not known right after the daemon was started anew", () => {
    const trail = new Trail();
    trail.add(TEXT, 0);
    trail.add(TEXT.replace("32", "0"), 2000);
    expect(trail.points[at("Runs")]).toEqual([null, null]);
  });

  it("are kept for a while only", () => {
    const trail = new Trail();
    for (let i = 0; i < POINTS_MAX + 20; i++) trail.add(TEXT, i * 2000);
    expect(trail.points[0]).toHaveLength(POINTS_MAX);
  });
});

describe("a sparkline", () => {
  it("has a gap where nothing is known, and its newest point at the right", () => {
    const path = pathOf([1, null, 2, 4], 89, 40);
    expect(path.match(/M/g)).toHaveLength(2);
    expect(path.endsWith("L89.0 2.0")).toBe(true);
  });

  it("draws nothing from nothing, and zeros at the bottom", () => {
    expect(pathOf([])).toBe("");
    expect(pathOf([0], 89, 40)).toBe("M89.0 38.0");
  });
});
