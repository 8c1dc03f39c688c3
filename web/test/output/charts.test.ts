// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { csvCell, csvOf, sheetOf } from "../../src/output/charts/csv";
import { readFigure } from "../../src/output/charts/figure";
import { legendOf } from "../../src/output/charts/legend";
import { type ChartModel, describeChart, isEmpty, POINTS_MAX } from "../../src/output/charts/model";
import { momentOf, momentText } from "../../src/output/charts/moments";
import { optionOf } from "../../src/output/charts/option";
import { readSpec } from "../../src/output/charts/spec";
import { theme } from "../../src/output/charts/theme";

const rows = [{ m: "Jan", a: 1, b: "2.5" }, { m: "Feb", a: null, b: 3 }];
const spec = (part: object = {}) => ({ type: "line", data: rows, categoryKey: "m", valueKeys: ["a", "b"], ...part });

describe("a chart object", () => {
  it("becomes categories and series", () => {
    const chart = readSpec(spec());
    expect(chart.categories).toEqual(["Jan", "Feb"]);
    expect(chart.series).toEqual([{ name: "a", points: [[0, 1], [1, null]] }, { name: "b", points: [[0, 2.5], [1, 3]] }]);
  });

  it("may be any of the six kinds, however they are spelled", () => {
    for (const [given, kind] of [["line", "line"], ["Bar", "bar"], ["pie", "pie"], ["area", "area"], ["scatter", "scatter"], ["stacked-bar", "stacked-bar"], ["stacked_bar", "stacked-bar"], ["stackedBar", "stacked-bar"]]) {
      expect(readSpec(spec({ type: given })).kind).toBe(kind);
    }
  });

  it("that is malformed is refused with a reason", () => {
    const refused: [unknown, RegExp][] = [
      [5, /not an object/], [null, /not an object/], [spec({ type: "nope" }), /nope/], [spec({ type: undefined }), /no type/],
      [spec({ type: { toString: 1 } }), /type/], [spec({ categoryKey: 5 }), /categoryKey/], [spec({ valueKeys: "b" }), /valueKeys/],
      [spec({ valueKeys: [] }), /valueKeys/], [spec({ valueKeys: [1] }), /texts/], [spec({ data: {} }), /list of objects/],
      [spec({ data: [1] }), /row 1/], [spec({ valueKeys: ["zzz"] }), /zzz/], [spec({ type: "constructor" }), /type/],
    ];
    for (const [value, why] of refused) expect(() => readSpec(value)).toThrow(why);
  });

  it("reads only members of its own, whatever they are called", () => {
    const data = JSON.parse('[{"__proto__": "x", "constructor": 4, "toString": 1}, {"y": 2}]') as unknown[];
    const chart = readSpec({ type: "bar", data, categoryKey: "__proto__", valueKeys: ["constructor", "valueOf"] });
    expect(chart.categories).toEqual(["x", ""]);
    expect(chart.series[0]!.points).toEqual([[0, 4], [1, null]]);
    expect(chart.series[1]!.points).toEqual([[0, null], [1, null]]);
  });

  it("drops what no axis can show", () => {
    const data = [{ m: 1, a: 1e308 }, { m: 2, a: -1e308 }, { m: 3, a: "NaN" }, { m: 4, a: 5e-324 }, { m: 5, a: [1] }];
    expect(readSpec(spec({ data, valueKeys: ["a"] })).series[0]!.points.map(([, y]) => y)).toEqual([null, null, null, 0, null]);
  });

  it("with more rows than can be drawn is cut, and says so", () => {
    const data = Array.from({ length: 400_000 }, (_, i) => ({ m: i, a: i }));
    const chart = readSpec(spec({ data, valueKeys: ["a"] }));
    expect(chart.series[0]!.points.length).toBe(POINTS_MAX);
    expect(chart.notices[0]).toContain("400,000");
    expect(chart.x.scale).toBe("value");
  });

  it("with many dates gets an axis of time, with few it keeps names", () => {
    const days = (count: number) => Array.from({ length: count }, (_, i) => ({ m: new Date(Date.UTC(2024, 0, 1 + i)).toISOString().slice(0, 10), a: i }));
    expect(readSpec(spec({ data: days(60), valueKeys: ["a"] })).x.scale).toBe("time");
    expect(readSpec(spec({ data: days(7), valueKeys: ["a"] })).x.scale).toBe("category");
    const at = (...labels: string[]) => readSpec(spec({ data: labels.map((m, i) => ({ m, a: i })), valueKeys: ["a"] }));
    expect(at("2024-01-01", "2024-01-02", "2024-03-01").x.scale).toBe("time"); // names would stand at places that are not theirs
    expect(at("2024-01", "2024-02", "2024-03").x.scale).toBe("category");
    expect(at("2024-01-01T00:00:00", "2024-01-02T00:00:00").categories).toEqual(["2024-01-01", "2024-01-02"]);
  });

  describe("of times with UTC offsets", () => {
    const at = (type: string, ...labels: string[]) => readSpec(spec({ type, data: labels.map((m, i) => ({ m, a: i })), valueKeys: ["a"] }));
    const told = (chart: ChartModel) => sheetOf(chart).rows.map(([x]) => x);

    it("shows them as they are written, not in UTC", () => {
      const labels = ["2024-06-01T08:00:00+02:00", "2024-06-01T09:00:00+02:00", "2024-06-01T12:00:00+02:00", "2024-06-01T13:30:00+02:00"];
      for (const type of ["line", "scatter", "area"]) {
        const chart = at(type, ...labels);
        expect(chart.x.scale).toBe("time");
        expect(told(chart)).toEqual(["2024-06-01 08:00", "2024-06-01 09:00", "2024-06-01 12:00", "2024-06-01 13:30"]);
        expect(chart.notices).toEqual([]);
      }
      expect(told(at("scatter", "2024-06-01T08:00:00-0530", "2024-06-01T09:00:00-0530"))).toEqual(["2024-06-01 08:00", "2024-06-01 09:00"]);
    });

    it("says that they have several, where their order stays", () => {
      const chart = at("scatter", "2024-03-31T01:30:00+01:00", "2024-03-31T03:30:00+02:00", "2024-03-31T04:00:00+02:00");
      expect(told(chart)).toEqual(["2024-03-31 01:30", "2024-03-31 03:30", "2024-03-31 04:00"]);
      expect(chart.notices).toEqual([expect.stringMatching(/several UTC offsets; each is drawn as it is written/)]);
    });

    it("shows UTC and says so, where an hour comes twice", () => {
      const chart = at("scatter", "2024-10-27T02:30:00+02:00", "2024-10-27T02:00:00+01:00", "2024-10-27T02:30:00+01:00");
      expect(told(chart)).toEqual(["2024-10-27 00:30", "2024-10-27 01:00", "2024-10-27 01:30"]);
      expect(chart.notices).toEqual([expect.stringMatching(/drawn in UTC/)]);
    });
  });

  describe("of integers that no double holds", () => {
    const [large, next] = ["1152921504606846976", "1152921504606846977"];

    it("shows every digit in labels, in the table and in tooltips", () => {
      const chart = readSpec(spec({ type: "bar", data: [{ m: large, a: large }, { m: next, a: next }, { m: "x", a: 3 }], valueKeys: ["a"] }));
      expect(chart.categories).toEqual([large, next, "x"]);
      expect(sheetOf(chart).rows).toEqual([[large, large], [next, next], ["x", 3]]);
      const [series] = optionOf(chart, theme.value, true)["series"] as { tooltip: { valueFormatter: (value: unknown, at: number) => string } }[];
      expect([0, 1, 2].map((at) => series!.tooltip.valueFormatter(3, at))).toEqual(["1,152,921,504,606,846,976", "1,152,921,504,606,846,977", "3"]);
    });

    it("draws them as numbers on an axis of numbers", () => {
      const chart = readSpec(spec({ type: "scatter", data: [{ m: 5, a: 1 }, { m: next, a: 2 }], valueKeys: ["a"] }));
      expect(chart.x.scale).toBe("value");
      expect(sheetOf(chart).rows).toEqual([[5, 1], [next, 2]]);
    });
  });

  it("says that no row has its categoryKey", () => {
    expect(readSpec(spec({ type: "bar", categoryKey: "zzz" })).notices).toEqual([expect.stringContaining('"zzz"')]);
    expect(readSpec(spec({ type: "bar" })).notices).toEqual([]);
  });

  it("without rows is empty, not broken", () => {
    expect(isEmpty(readSpec(spec({ data: [] })))).toBe(true);
  });
});

describe("ticks", () => {
  const axis = (data: object, name: "xAxis" | "yAxis") => optionOf(readFigure(data).charts[0]!, theme.value, true)[name] as { minInterval?: number; axisLabel: { formatter: (value: number) => string } };
  const years = (...points: unknown[][]) => ({ type: "line", x_scale: "linear", y_scale: "linear", x_grid: false, y_grid: false, elements: [{ label: "s", points }] });

  it("of years are years, and none is between them", () => {
    const { minInterval, axisLabel } = axis(years([2019, 2019], [2021, 2021]), "xAxis");
    expect(minInterval).toBe(1);
    expect([2019, 2019.5, 12345].map(axisLabel.formatter)).toEqual(["2019", "2019.5", "12,345"]);
    expect(axis(years([2019.5, 1]), "xAxis").minInterval).toBeUndefined();
  });

  it("of a figure have no separators along y, either", () => {
    expect(axis(years([1, 2019], [2, 2020]), "yAxis").axisLabel.formatter(2019)).toBe("2019");
    const own = optionOf(readSpec(spec()), theme.value, true)["yAxis"] as { axisLabel: { formatter: (value: number) => string } };
    expect(own.axisLabel.formatter(2019)).toBe("2,019");
  });
});

describe("the twin of a figure", () => {
  const line = { type: "line", title: "T", x_label: "t", x_scale: "linear", y_scale: "log", elements: [{ label: "s", points: [[0, 1], [1, 0], ["x"], 5] }] };

  it("of lines keeps labels and scales", () => {
    const { charts } = readFigure(line);
    expect(charts[0]).toMatchObject({ kind: "line", title: "T", x: { label: "t" }, y: { scale: "log" } });
  });

  it("of dates has moments; of what is no date, names", () => {
    const points = (first: string) => ({ type: "line", x_scale: "datetime", elements: [{ label: "", points: [[first, 1], ["2024-01-02", 2]] }] });
    expect(readFigure(points("2024-01-01")).charts[0]!.series[0]!.points[0]![0]).toBe(Date.UTC(2024, 0, 1));
    expect(readFigure(points("2024Q1")).charts[0]!.categories).toEqual(["2024Q1", "2024-01-02"]);
  });

  it("of grouped bars has a series for each group", () => {
    const bar = (label: string, value: number, group: string) => ({ label, value, group });
    const { charts } = readFigure({ type: "bar", elements: [bar("a", 1, "n"), bar("b", 2, "n"), bar("a", 3, "s"), bar("a", 4, "s"), 7] });
    expect(charts[0]!.categories).toEqual(["a", "b", "a (2)", ""]);
    expect(charts[0]!.series.map(({ name }) => name)).toEqual(["n", "s", ""]);
  });

  it("breaks a line where a point has no place, and lists that point", () => {
    const points = [[1, 5], [2, 6], [null, 7], [4, 8], [5, 0]];
    const dataOf = (chart: ChartModel) => (optionOf(chart, theme.value, false)["series"] as { data: unknown[] }[])[0]!.data;
    const chart = readFigure({ type: "line", elements: [{ label: "a", points }] }).charts[0]!;
    expect(chart.series[0]!.points).toEqual(points);
    expect(sheetOf(chart).rows[2]).toEqual([null, 7]);
    expect(dataOf(chart)).toEqual([[1, 5], [2, 6], [null, null], [4, 8], [5, 0]]);
    const log = readFigure({ type: "line", y_scale: "log", x_scale: "log", elements: [{ label: "a", points }] }).charts[0]!;
    expect(dataOf(log)[4]).toEqual([5, null]);
    const days = readFigure({ type: "line", x_scale: "datetime", elements: [{ label: "a", points: [["2024-01-01", 1], [null, 2], ["2024-01-03", 3]] }] }).charts[0]!;
    expect([days.x.scale, days.series[0]!.points[1]]).toEqual(["time", [null, 2]]);
  });

  it("of a pie has shares, of boxes their five numbers", () => {
    expect(readFigure({ type: "pie", elements: [{ label: "x", angle: 90 }, { angle: -1 }, { angle: 270 }] }).charts[0]!.series[0]!.points).toEqual([[0, 25], [1, 75]]);
    expect(readFigure({ type: "pie", elements: [{ label: "x", angle: 36 }, { angle: 72 }], lacks: ["a gap"] })).toMatchObject({ charts: [], lacks: ["a gap"] });
    const box = { label: "b", min: 1, first_quartile: 2, median: 3, third_quartile: 4, max: 5, outliers: [9, null, "x"] };
    expect(readFigure({ type: "box_and_whisker", elements: [box, { label: "half", min: 1 }] }).charts[0]!.boxes).toEqual([{ label: "b", five: [1, 2, 3, 4, 5], outliers: [9] }]);
  });

  it("of several axes has each that can be redrawn", () => {
    const { title, charts } = readFigure({ type: "superchart", title: "All", elements: [line, { type: "unknown", elements: [] }, null, { type: "superchart", elements: [] }] });
    expect(title).toBe("All");
    expect(charts.length).toBe(1);
  });

  it("is none for anything else", () => {
    for (const data of [null, 5, {}, { type: "line" }, { type: "line", elements: "x" }, { type: "__proto__", elements: [] }, { type: "bar", elements: {} }]) {
      expect(readFigure(data).charts).toEqual([]);
    }
  });
});

describe("what is drawn", () => {
  it("has no tooltip that is HTML, for any kind", () => {
    for (const type of ["line", "bar", "pie", "area", "scatter", "stacked-bar"]) {
      const option = optionOf(readSpec(spec({ type })), theme.value, true);
      expect(option["tooltip"]).toMatchObject({ renderMode: "richText" });
    }
  });

  it("samples long lines and makes large scatters cheap", () => {
    const data = Array.from({ length: 100_000 }, (_, i) => ({ m: i, a: Math.sin(i) }));
    const drawn = (type: string) => (optionOf(readSpec(spec({ type, data, valueKeys: ["a"] })), theme.value, false)["series"] as Record<string, unknown>[])[0];
    expect(drawn("line")).toMatchObject({ sampling: "lttb", showSymbol: false });
    expect(drawn("scatter")).toMatchObject({ large: true });
  });

  it("of more bars than pixels is their shape, and its places still have their names", () => {
    const data = Array.from({ length: 5000 }, (_, i) => ({ m: i === 7 ? "__proto__" : `no ${i}`, a: i, b: 1 }));
    const option = (type: string) => optionOf(readSpec(spec({ type, data })), theme.value, false) as { xAxis: Record<string, unknown>; series: Record<string, unknown>[] };
    expect(option("bar").series[0]).toMatchObject({ type: "line", step: "middle", sampling: "minmax" });
    expect(option("stacked-bar").series.map(({ stack }) => stack)).toEqual(["all", "all"]);
    const { xAxis } = option("bar");
    expect(xAxis).toMatchObject({ type: "value", min: -0.5, max: 4999.5 });
    const { formatter } = xAxis["axisLabel"] as { formatter: (value: number) => string };
    expect([formatter(3), formatter(4999.2), formatter(9999)]).toEqual(["no 3", "no 4999", ""]);
    expect(formatter(7) in Object.prototype).toBe(false);
    expect(optionOf(readSpec(spec({ type: "bar" })), theme.value, false)["xAxis"]).toMatchObject({ type: "category" });
  });

  it("has a legend of what can be taken away", () => {
    expect(legendOf(readSpec(spec()))).toEqual(["a", "b"]);
    expect(legendOf(readSpec(spec({ valueKeys: ["a"] })))).toEqual([]);
    expect(legendOf(readSpec(spec({ type: "pie", valueKeys: ["b"] })))).toEqual(["Jan", "Feb"]);
    const option = optionOf(readSpec(spec()), theme.value, true, new Set(["b"]));
    expect(option["legend"]).toEqual({ show: false, selected: { b: false } });
  });

  it("leaves out of a logarithmic axis what it cannot have", () => {
    const { charts } = readFigure({ type: "line", y_scale: "log", elements: [{ label: "s", points: [[0, 1], [1, 0], [2, -3]] }] });
    const [series] = optionOf(charts[0]!, theme.value, true)["series"] as { data: unknown[] }[];
    expect(series!.data).toEqual([[0, 1], [1, null], [2, null]]);
  });

  type Labels = { axisLabel: { formatter: (value: number) => string }; axisPointer: { label: { formatter: (at: object) => string } } };

  it("tells its numbers with all the digits that they have", () => {
    const { tooltip, yAxis } = optionOf(readSpec(spec()), theme.value, true) as { tooltip: { valueFormatter: (value: unknown) => string }; yAxis: Labels };
    const told = [1234567891, 123456789.25, 0.1 + 0.2, 9007199254740991, 1.000000001, -1234.5, 0, 1.5e20, 1.2345678e-7, 1 / 3].map(tooltip.valueFormatter);
    expect(told).toEqual(["1,234,567,891", "123,456,789.25", "0.3", "9,007,199,254,740,991", "1.000000001", "-1,234.5", "0", "1.5e+20", "1.2345678e-7", "0.333333333333333"]);
    expect([1000000001, 1000000001.5].map(yAxis.axisLabel.formatter)).toEqual(["1,000,000,001", "1,000,000,001.5"]);
  });

  it("has ticks and heads of tooltips that differ where its numbers do, and ends without odd digits", () => {
    const points = [[20240105.25, 1e9 + 1], [20240106, 1e9 + 2], [20240107.123456, 1e9 + 3]];
    const { xAxis } = optionOf(readFigure({ type: "line", elements: [{ label: "s", points }] }).charts[0]!, theme.value, true) as { xAxis: Labels };
    expect(points.map(([x]) => xAxis.axisLabel.formatter(x!))).toEqual(["20,240,105.25", "20,240,106", "20,240,107.123"]);
    expect(xAxis.axisPointer.label.formatter({ value: 20240107.123456, seriesData: [{}] })).toBe("20,240,107.123456");
    expect(xAxis.axisPointer.label.formatter({ value: 20240106.987654321, seriesData: [] })).toBe("20,240,106.988");
    const spread = optionOf(readFigure({ type: "line", elements: [{ label: "s", points: [[1, 3e5], [2, 7e5]] }] }).charts[0]!, theme.value, true) as { yAxis: Labels };
    expect(spread.yAxis.axisPointer.label.formatter({ value: 512345.678, seriesData: [] })).toBe("512,300");
    const bins = { type: "bar", elements: [{ label: "1", value: 2, group: "" }], spans: [[1e9 + 1 / 3, 1e9 + 2 / 3, 0]] };
    const { tooltip } = optionOf(readFigure(bins).charts[0]!, theme.value, true) as { tooltip: { formatter: (item: object) => string } };
    expect(tooltip.formatter({ seriesIndex: 0, dataIndex: 0 })).toBe("1,000,000,000.3333 – 1,000,000,000.6667\n2");
  });

  it("is told in words", () => {
    expect(describeChart(readSpec(spec()))).toBe("Line chart, 4 points of a, b");
  });
});

describe("a figure as it was drawn", () => {
  type Drawn = { series: { type: string; data: unknown[]; lineStyle: { type?: unknown; width: number }; symbol?: string; step?: string }[]; color: string[]; xAxis: { type: string; min?: unknown }; yAxis: Record<string, unknown> };
  const option = (data: unknown, dark = false) => optionOf(readFigure(data).charts[0]!, { ...theme.value, isDark: dark }, true) as unknown as Drawn;
  const line = { label: "a", points: [[1, 2], [3, 4]] };

  it("keeps colours, dashes, markers, widths and steps", () => {
    const { series, color } = option({ type: "line", elements: [line, { ...line, label: "b" }], styles: [
      { color: "#ff0000", width: 3, dash: [6, 2], marker: "s", size: 4 }, { color: "#00ff0080", dash: false, marker: "o", step: "post" },
    ] });
    expect(color.slice(0, 2)).toEqual(["rgba(255,0,0,1)", "rgba(0,255,0,0.5)"]);
    expect(series[0]).toMatchObject({ symbol: "rect", lineStyle: { type: [7.98, 2.66], width: 3.99 } });
    expect(series[1]).toMatchObject({ symbol: "circle", lineStyle: { width: 0 } });
  });

  it("keeps limits, directions, log axes and stacks", () => {
    const lines = option({ type: "line", elements: [line], y_limits: [0, 9], y_inverted: true, y_scale: "log", x_limits: [-1, 5] });
    expect(lines.yAxis).toMatchObject({ type: "log", min: 0, max: 9, inverse: true });
    expect(lines.xAxis).toMatchObject({ min: -1, max: 5 });
    const bars = option({ type: "bar", horizontal: true, stacked: true, x_label: "count", y_label: "who", elements: [{ label: "p", value: 5, group: "g" }, { label: "q", value: 7, group: "h" }], styles: [{ color: "#112233" }, {}] });
    expect(bars.xAxis).toMatchObject({ type: "value", name: "count" });
    expect(bars.yAxis).toMatchObject({ type: "category", name: "who" });
    expect(bars.series[0]).toMatchObject({ type: "bar", stack: "all", data: [[5, 0]] });
    expect(bars.color[0]).toBe("rgba(17,34,51,1)");
  });

  it("draws the parts of a line that cross the edges of limits, and has the y axis of all points, as the picture does", async () => {
    const points = [[1, 10], [2, 20], [3, 15]];
    const drawn = option({ type: "line", elements: [{ label: "a", points }], x_limits: [1.5, 3] });
    const echarts = await import("echarts");
    const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: 400, height: 300 });
    chart.setOption(drawn as unknown as Record<string, unknown>);
    const model = (chart as unknown as { getModel: () => { getSeriesByIndex: (i: number) => { getData: () => { count: () => number } }; getComponent: (name: string) => { axis: { scale: { getExtent: () => number[] } } } } }).getModel();
    expect(model.getSeriesByIndex(0).getData().count()).toBe(3);
    expect(model.getComponent("yAxis").axis.scale.getExtent()[0]).toBeLessThanOrEqual(10);
    chart.dispose();
  });

  it("has the bars of a histogram from edge to edge, on an axis of numbers", async () => {
    const data = {
      type: "bar", x_label: "height", x_scale: "linear", y_scale: "linear", x_grid: true, y_grid: false,
      elements: [{ label: "1", value: 2, group: "" }, { label: "2", value: 5, group: "" }], spans: [[0.5, 1.5, 0], [1.5, 2.5, 0]], styles: [{ color: "#ff0000" }, { color: "#ff0000" }],
    };
    const { xAxis, yAxis, series } = option(data);
    expect(xAxis).toMatchObject({ type: "value", name: "height", splitLine: { show: true } });
    expect(yAxis).toMatchObject({ splitLine: { show: false } });
    expect(series[0]).toMatchObject({ type: "custom", data: [[0.5, 1.5, 0, 2], [1.5, 2.5, 0, 5]] });
    const echarts = await import("echarts");
    const drawn = echarts.init(null, null, { renderer: "svg", ssr: true, width: 500, height: 400 });
    drawn.setOption(option(data));
    const bars = [...drawn.renderToSVGString().matchAll(/<path d="M([\d.]+) ([\d.]+)l([\d.]+) 0l0 ([\d.]+)l-[\d.]+ 0Z"[^>]*fill="(?:rgb\(255,0,0\)|#ff0000|red)/g)].map(([, ...numbers]) => numbers.slice(0, 4).map(Number));
    drawn.dispose();
    expect(bars).toHaveLength(2);
    const [[x, y, width, height], [nextX, nextY, nextWidth]] = bars as [number[], number[]];
    expect(x! + width!).toBe(nextX); // they touch
    expect(Math.abs(width! - nextWidth!)).toBeLessThanOrEqual(1);
    expect(y! + height!).toBeGreaterThan(nextY!);
    expect(y).toBeGreaterThan(nextY!);
  });

  it.each([[[0.05, 0.001, 20], undefined], [[1, 100, 10000], undefined], [[0.05, 0.001, 20], [0.00061, 32.8]], [[1, 100, 10000], [0, 20000]]])(
    "has bars with names stand on the end of a logarithmic axis: %j within %j", async (values, limits) => {
    const elements = values.map((value, i) => ({ label: `p${i}`, value, group: "" }));
    const data = { type: "bar", y_scale: "log", ...(limits ? { y_limits: limits } : {}), elements, styles: values.map(() => ({ color: "#ff0000" })) };
    const echarts = await import("echarts");
    const drawn = echarts.init(null, null, { renderer: "svg", ssr: true, width: 500, height: 400 });
    drawn.setOption(option(data));
    type Inside = { getModel(): { getSeriesByIndex(n: number): { getData(): { getItemLayout(i: number): { y: number; height: number } } } } };
    const placed = (drawn as unknown as Inside).getModel().getSeriesByIndex(0).getData();
    const layouts = values.map((_, i) => placed.getItemLayout(i));
    drawn.dispose();
    const ground = layouts[0]!.y;
    expect(ground).toBeGreaterThan(300);
    for (const { y, height } of layouts) {
      expect(y).toBe(ground);
      expect(height).toBeLessThan(-2); // upwards
    }
    const inOrder = [...values].sort((a, b) => a - b).map((value) => -layouts[values.indexOf(value)]!.height);
    expect(inOrder).toEqual([...inOrder].sort((a, b) => a - b));
  });

  it("labels the ends of a logarithmic axis only where a power of ten is", () => {
    const labels = (limits: number[]) => (option({ type: "line", y_scale: "log", y_limits: limits, elements: [line] }).yAxis["axisLabel"]) as { showMinLabel?: unknown; showMaxLabel?: unknown; formatter: (value: number) => string };
    expect(labels([0.00060946462, 100])).toMatchObject({ showMinLabel: false, showMaxLabel: null });
    const narrow = labels([2.123456789, 8.5]); // no power of ten between them: without its ends it would have no label
    expect(narrow).toMatchObject({ showMinLabel: null, showMaxLabel: null });
    expect(narrow.formatter(2.123456789)).toBe("2.123");
  });

  it("tells where a bar of a histogram stands, in its tooltip and its CSV, and takes no odd places", () => {
    const data = { type: "bar", y_label: "count", elements: [{ label: "1", value: 2, group: "" }, { label: "2", value: 5, group: "" }], spans: [[2018.5, 2019.5, 0], ["x", {}, null]] };
    const [chart] = readFigure(data).charts;
    expect(sheetOf(chart!)).toEqual({ columns: ["from", "to", "count"], rows: [[2018.5, 2019.5, 2]] });
    const { tooltip } = optionOf(chart!, theme.value, true) as { tooltip: { formatter: (item: object) => string } };
    expect(tooltip.formatter({ seriesIndex: 0, dataIndex: 0 })).toBe("2018.5 – 2019.5\ncount: 2");
    expect(tooltip.formatter({ seriesIndex: 9, dataIndex: 9 })).toBe("");
    const dated = readFigure({ ...data, x_scale: "datetime", spans: [["2024-01-01", "2024-01-02", 0]] }).charts[0]!;
    expect(sheetOf(dated).rows).toEqual([["2024-01-01", "2024-01-02", 2]]);
  });

  it("keeps boxes that lie, pies that turn, and points with colours and sizes of their own", () => {
    const box = { label: "a", min: 1, first_quartile: 2, median: 3, third_quartile: 4, max: 5, outliers: [9] };
    expect(option({ type: "box_and_whisker", horizontal: true, elements: [box] })).toMatchObject({ xAxis: { type: "value" }, yAxis: { type: "category" }, series: [{}, { data: [[9, 0]] }] });
    expect(option({ type: "pie", start: 90, clockwise: false, hole: 0.5, elements: [{ label: "p", angle: 360 }] }).series[0]).toMatchObject({ startAngle: 90, clockwise: false, radius: ["31%", "62%"] });
    const { series } = option({ type: "scatter", elements: [line], styles: [{ colors: ["#ff0000", "odd"], sizes: [3, 1e9], marker: "^", edge: "#000000" }] });
    expect(series[0]).toMatchObject({ symbol: "triangle", itemStyle: { borderColor: "rgba(0,0,0,1)" }, data: [{ value: [1, 2], itemStyle: { color: "rgba(255,0,0,1)" } }, { value: [3, 4], symbolSize: 120 }] });
  });

  it("draws the median of a box in its own colour, as wide as the box", () => {
    const box = { label: "a", min: 1, first_quartile: 2, median: 3, third_quartile: 4, max: 5, outliers: [] };
    const api = { coord: ([x, y]: number[]) => [x! * 100 + 50, y! * 10], size: () => [40, 40], value: (i: number) => [0, 3][i]! };
    const { series } = option({ type: "box_and_whisker", elements: [box, box], styles: [{ color: "#000000", fill: false, median: "#ff0000" }, { median: "url(x)" }] });
    expect(series.map(({ type }) => type)).toEqual(["boxplot", "custom", "scatter"]);
    const { renderItem, data } = series[1] as unknown as { renderItem: (item: object, drawer: object) => object | null; data: number[][] };
    expect(data).toEqual([[0, 3], [1, 3]]);
    expect(renderItem({ dataIndex: 0 }, api)).toEqual({ type: "line", shape: { x1: 35, x2: 65, y1: 30, y2: 30 }, style: { stroke: "rgba(255,0,0,1)", lineWidth: 2 } });
    expect(renderItem({ dataIndex: 1 }, api)).toBeNull();
  });

  it("has the lines that were drawn over bars and points", () => {
    const over = { lines: [{ label: "fit", points: [[1, 5], [2, 6]] }], line_styles: [{ color: "#ff0000" }] };
    const points = readFigure({ type: "scatter", elements: [line], ...over }).charts[0]!;
    expect(option({ type: "scatter", elements: [line], ...over }).series.map(({ type }) => type)).toEqual(["scatter", "line"]);
    expect(legendOf(points)).toEqual([]);
    const bars = { type: "bar", elements: [{ label: "1", value: 2, group: "" }], spans: [[0, 2, 0]], ...over };
    expect(option(bars).series.map(({ type }) => type)).toEqual(["custom", "line"]);
    expect(sheetOf(readFigure(bars).charts[0]!).rows).toEqual([["", 0, 2, 2], ["fit", 1, 1, 5], ["fit", 2, 2, 6]]);
    expect(option({ type: "bar", elements: bars.elements, ...over }).series.map(({ type }) => type)).toEqual(["bar"]);
  });

  it("has names, moments and numbers along either axis, in the order of the axis", () => {
    const points = (pairs: unknown[], more: object) => readFigure({ type: "scatter", elements: [{ label: "p", points: pairs }], ...more }).charts[0]!;
    const names = points([["c", 1], ["b", 2]], { x_scale: "categorical", x_categories: ["b", "a", "c"], lines: [{ label: "mean", points: [["b", 1], ["a", 2]] }] });
    expect([names.categories, names.series.map((series) => series.points)]).toEqual([["b", "a", "c"], [[[2, 1], [0, 2]], [[0, 1], [1, 2]]]]);
    expect(names.series[1]!.isLine).toBe(true);
    const up = points([[1, "10"], [2, "9"]], { y_scale: "categorical", y_categories: ["10", "9"] });
    expect([up.yCategories, up.series[0]!.points, sheetOf(up).rows]).toEqual([["10", "9"], [[1, 0], [2, 1]], [[1, "10"], [2, "9"]]]);
    const days = points([[1, "2024-01-01"], [2, "2024-01-02"]], { y_scale: "datetime" });
    expect([days.y.scale, days.series[0]!.points[0], sheetOf(days).rows[0]]).toEqual(["time", [1, Date.UTC(2024, 0, 1)], [1, "2024-01-01"]]);
    const { tooltip } = optionOf(days, theme.value, true) as { tooltip: { formatter: (items: object[]) => string } };
    expect(tooltip.formatter([{ seriesIndex: 0, dataIndex: 1 }, { seriesIndex: 3, dataIndex: 0 }])).toBe("2\np: 2024-01-02");
    expect(points([["lo", 1], ["hi", 2]], { x_scale: "categorical" }).categories).toEqual(["lo", "hi"]); // as it was told before
  });

  it("draws places between names where they are, with the names at theirs", () => {
    type Counted = { type: string; min: number; max: number; axisLine: { onZero: boolean }; axisLabel: { customValues: number[]; formatter: (value: number) => string } };
    const strip = option({ type: "scatter", x_scale: "categorical", x_categories: ["a", "b"], elements: [{ label: "p", points: [[-0.07, 5], [1.03, 6]] }] });
    const xAxis = strip.xAxis as unknown as Counted;
    expect(xAxis).toMatchObject({ type: "value", min: -0.5, max: 1.5, axisLabel: { customValues: [0, 1] } });
    expect([0, 1].map(xAxis.axisLabel.formatter)).toEqual(["a", "b"]);
    expect(strip.series[0]!.data).toEqual([[-0.07, 5], [1.03, 6]]);
    const up = option({ type: "line", y_scale: "categorical", y_categories: ["lo", "hi"], elements: [{ label: "p", points: [[0, "lo"], [1, "hi"]] }] });
    expect(up.yAxis).toMatchObject({ type: "value", min: -0.5, max: 1.5 });
    expect((up.yAxis as unknown as Counted).axisLabel.formatter(1)).toBe("hi");
    expect((up.xAxis as unknown as Counted).axisLine.onZero).toBe(false); // it would cross the first name
    const { tooltip } = up as unknown as { tooltip: { valueFormatter: (value: unknown) => string } };
    expect(tooltip.valueFormatter(1)).toBe("hi");
  });

  it("has bars at names as they stand: beside each other, or from where to where", () => {
    const bar = (label: string, value: number, group: string) => ({ label, value, group });
    const edges = { type: "bar", x_scale: "categorical", x_categories: ["Q1", "Q2"], elements: [bar("Q1", 5, "2023"), bar("Q2", 7, "2024")], spans: [[0, 0.4, 0], [0.6, 1, 0]], lines: [{ label: "mean", points: [["Q1", 5], ["Q2", 7]] }] };
    const { series, xAxis } = option(edges);
    expect(xAxis).toMatchObject({ type: "value", min: -0.5, max: 1.5 });
    expect(series.map(({ type, data }) => [type, data])).toEqual([["custom", [[0, 0.4, 0, 5]]], ["custom", [[0.6, 1, 0, 7]]], ["line", [[0, 5], [1, 7]]]]);
    expect(sheetOf(readFigure(edges).charts[0]!).rows).toEqual([["2023", "Q1", 5], ["2024", "Q2", 7], ["mean", "Q1", 5], ["mean", "Q2", 7]]);
    const { tooltip } = option(edges) as unknown as { tooltip: { formatter: (item: object) => string } };
    expect(tooltip.formatter({ seriesIndex: 0, dataIndex: 0 })).toBe("Q1\n2023: 5");
    const placed = readFigure({ type: "bar", x_categories: ["p", "p", "q"], elements: [bar("q", 1, "g"), bar("p", 2, "g"), bar("p", 3, "g"), bar("p", 4, "g")], places: [2, 0, 1, 1] }).charts[0]!;
    expect([placed.categories, placed.series.map(({ name, points }) => [name, points])]).toEqual([["p", "p", "q"], [["g", [[2, 1], [0, 2], [1, 3]]], ["g", [[1, 4]]]]]);
    expect(readFigure({ type: "bar", x_categories: ["p"], elements: [bar("p", 1, "")], places: [7] }).charts[0]!.series[0]!.points).toEqual([[0, 1]]);
  });

  it("says what it cannot show, and shows nothing rather than an empty chart", () => {
    const lines = Array.from({ length: 130 }, (_, i) => ({ label: `l${i}`, points: [[0, i], [1, i]] }));
    expect(readFigure({ type: "line", elements: lines }).charts[0]!.notices).toEqual(["The first 100 of 130 series are shown; the image shows all."]);
    const bars = lines.map(({ label }) => ({ label: "a", value: 1, group: label }));
    expect(readFigure({ type: "bar", elements: bars }).charts[0]!.notices[0]).toContain("30 bars");
    expect(readFigure({ type: "line", elements: [{ label: "s", points: [[1, null], [2, "NaN"]] }] }).charts).toEqual([]);
    const odd = { label: "s", points: [[1, 2], [{}, 3], [2, "inf"]] };
    expect(readFigure({ type: "line", elements: [odd] }).charts[0]!.notices).toEqual(["One point has no place on the axes here; the image shows all."]);
    expect(readFigure({ type: "superchart", elements: [{ type: "line", elements: [line] }, { type: "line", elements: [{ label: "", points: [[1, null]] }], lacks: [] }] }).missing).toBe(1);
  });

  it("has a legend with one name where one was drawn", () => {
    expect(legendOf(readFigure({ type: "line", elements: [line], legend: true }).charts[0]!)).toEqual(["a"]);
    expect(legendOf(readFigure({ type: "line", elements: [line] }).charts[0]!)).toEqual([]);
    const bars = { type: "bar", elements: [{ label: "1", value: 2, group: "x" }], spans: [[0, 2, 0]], lines: [{ label: "line 1", points: [[1, 1], [1, 3]] }] };
    expect(legendOf(readFigure({ ...bars, legend: true, legend_names: ["x"] }).charts[0]!)).toEqual(["x"]);
    expect(legendOf(readFigure({ ...bars, legend: true, legend_names: ["else"] }).charts[0]!)).toEqual(["x", "line 1"]);
  });

  it("keeps the colours of single bars, slices and boxes", () => {
    const bars = option({ type: "bar", elements: [{ label: "p", value: 1, group: "" }, { label: "q", value: 2, group: "" }], styles: [{ color: "#111111" }, { color: "#ff0000" }] });
    expect(bars.series[0]!.data[1]).toEqual({ value: [1, 2], itemStyle: { color: "rgba(255,0,0,1)" } });
    expect(option({ type: "pie", elements: [{ label: "p", angle: 90 }, { label: "q", angle: 270 }], styles: [{ color: "#111111" }, { color: "#ff0000" }] }).color[1]).toBe("rgba(255,0,0,1)");
  });

  it("stays readable in the dark: the house's colours have a twin, black becomes grey", () => {
    const styles = [{ color: "#1f7a58" }, { color: "#000000" }, { color: "#ffcc00" }];
    const { color } = option({ type: "line", elements: [line, { ...line, label: "b" }, { ...line, label: "c" }], styles }, true);
    expect(color.slice(0, 3)).toEqual(["rgba(95,199,155,1)", "rgba(153,153,153,1)", "rgba(255,204,0,1)"]);
  });

  it("says what it lacks, and takes no odd style", () => {
    expect(readFigure({ type: "line", elements: [line], complete: false, lacks: ["a picture (imshow)", 7] }).lacks).toEqual(["a picture (imshow)", "7"]);
    expect(readFigure({ type: "line", elements: [line], complete: false }).lacks).toHaveLength(1);
    expect(readFigure({ type: "line", elements: [line], complete: true, lacks: [] }).lacks).toEqual([]);
    const panels = [{ type: "line", elements: [line] }, { type: "unknown", elements: [], lacks: ["a shape"] }, { type: "unknown", elements: [], lacks: [] }];
    expect(readFigure({ type: "superchart", elements: panels, lacks: ["the whole of panel 2: a shape"] }).missing).toBe(1); // the third is empty
    const { series } = option({ type: "line", elements: [line], styles: [{ color: "url(x)", width: "NaN", dash: [1e9, {}], marker: "__proto__", size: -5, step: "constructor" }] });
    expect(series[0]!.lineStyle).toEqual({ width: 2 });
  });
});

describe("CSV", () => {
  it("quotes, and defuses formulas", () => {
    expect(csvOf(["a,b", "c"], [["x\"y", 1], ["=1+1", null], ["-5", -5]])).toBe('"a,b",c\r\n"x""y",1\r\n\'=1+1,\r\n-5,-5\r\n');
    expect(csvCell("@SUM(A1)")).toBe("'@SUM(A1)");
  });

  it("of a chart has a row for each place", () => {
    expect(sheetOf(readSpec(spec()))).toEqual({ columns: ["m", "a", "b"], rows: [["Jan", 1, 2.5], ["Feb", null, 3]] });
  });

  it("of series that differ has a row for each point", () => {
    const { charts } = readFigure({ type: "scatter", elements: [{ label: "p", points: [[1, 2]] }, { label: "q", points: [[3, 4], [5, 6]] }] });
    expect(sheetOf(charts[0]!).rows).toEqual([["p", 1, 2], ["q", 3, 4], ["q", 5, 6]]);
  });
});

describe("moments", () => {
  it("are read as they are written, and written back short", () => {
    expect(momentText(momentOf("2024-01-01")!)).toBe("2024-01-01");
    expect(momentText(momentOf("2024-01-01T12:30:00")!)).toBe("2024-01-01 12:30");
    for (const value of ["2024", "yesterday", 5, null, "2024-13-45", "x".repeat(100)]) expect(momentOf(value)).toBeNull();
  });
});

describe("labels that are names of what every object has", () => {
  const names = ["__proto__", "constructor", "toString", "a\n__proto__", "{a|__proto__}", "x}__proto__{b|y", "__proto__ ", "__proto__\u0000"];
  const grown = () => [...Object.getOwnPropertyNames(Object.prototype), ...Object.getOwnPropertyNames(Object)].sort();

  it("change no object, wherever a chart draws them", async () => {
    const echarts = await import("echarts");
    const before = grown();
    for (const name of names) {
      for (const type of ["line", "bar", "pie", "area", "stacked-bar", "scatter"]) {
        const data = [{ [`k${name}`]: name, [name + " "]: 1, v: 2 }, { [`k${name}`]: "b", v: 3 }];
        const chart = readSpec({ type, data, categoryKey: `k${name}`, valueKeys: ["v"], title: name });
        const hostile = { ...chart, x: { ...chart.x, label: name }, y: { ...chart.y, label: name }, series: [...chart.series, ...chart.series].map((series) => ({ ...series, name })) };
        const drawn = echarts.init(null, null, { renderer: "svg", ssr: true, width: 500, height: 400 });
        drawn.setOption(optionOf(hostile, theme.value, true));
        drawn.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: 0 });
        expect(drawn.renderToSVGString()).toContain("<svg");
        drawn.dispose();
      }
    }
    expect(grown()).toEqual(before);
  }, 60_000);
});
