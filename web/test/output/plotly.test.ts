// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { boxesOf, boxOf } from "../../src/output/plotly/boxes";
import { cleanFigure, cleanText } from "../../src/output/plotly/clean";
import { toBars } from "../../src/output/plotly/histogram";

describe("a plotly figure", () => {
  it("keeps data and layout that are known, and nothing else", () => {
    const figure = cleanFigure({
      data: [{ type: "scatter", x: [1, 2], y: [3, 4], marker: { color: "red" }, transforms: [1], evil: 1, ids: ["a"] }],
      layout: { title: { text: "T" }, xaxis: { title: { text: "x" } }, images: [{ source: "http://x/y.png" }], updatemenus: [{}], mapbox: {}, template: {}, geo: {}, xaxis2: {} },
      frames: [{}], config: { plotlyServerURL: "http://evil" },
    })!;
    expect(figure.data).toEqual([{ type: "scatter", x: [1, 2], y: [3, 4], marker: { color: "red" } }]);
    expect(Object.keys(figure.layout).sort()).toEqual(["title", "xaxis", "xaxis2"]);
    expect(figure.title).toBe("T");
  });

  it("loses links, pictures and styles in every text", () => {
    expect(cleanText('<a href="javascript:alert(1)">click</a> <b>T</b><br><img src=x onerror=alert(1)>')).toBe("click <b>T</b><br>");
    expect(cleanText("<span style='background:url(http://x)'>s</span>")).toBe("s");
    expect(cleanText("<a href='x'")).toBe("");
    expect(cleanText("<b onclick=x>y</b>")).toBe("y</b>");
    const { layout } = cleanFigure({ data: [{}], layout: { annotations: [{ text: '<a href="//x">a</a>', href: "http://x" }, 5], title: "<a href=x>t</a>" } })!;
    expect(layout["annotations"]).toEqual([{ text: "a" }]);
    expect(layout["title"]).toBe("t");
  });

  it("takes no member that is an attack by its name", () => {
    const figure = cleanFigure(JSON.parse('{"data":[{"marker":{"__proto__":{"x":1},"constructor":{"y":1},"size":3}}],"layout":{"__proto__":{"z":1}}}'))!;
    expect(figure.data[0]!["marker"]).toEqual({ size: 3 });
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  it("says which traces it cannot draw", () => {
    const figure = cleanFigure({ data: [{ type: "surface" }, { type: "bar", x: [1] }, { type: "<img>" }, 5] })!;
    expect(figure.missing).toEqual(["surface", "img"]);
    expect(figure.data.length).toBe(1);
  });

  it("is bounded", () => {
    const big = Array.from({ length: 500_000 }, (_, i) => i);
    const figure = cleanFigure({ data: [{ type: "scatter", x: big, y: big }] })!;
    expect(figure.isCut).toBe(true);
    expect((figure.data[0]!["x"] as number[]).length).toBeLessThanOrEqual(400_000);
    let deep: unknown = 1;
    for (let i = 0; i < 10_000; i++) deep = { deep };
    expect(() => cleanFigure({ data: [{ marker: deep }], layout: { xaxis: deep } })).not.toThrow();
  });

  it("that is none is none", () => {
    for (const value of [null, 5, {}, { data: {} }, []]) expect(cleanFigure(value)).toBeNull();
  });
});

describe("a box plot", () => {
  it("becomes one of the page, by name and place", () => {
    const chart = boxesOf({ data: [{ type: "box", name: "n", x: ["a", "a", "b", "b"], y: [1, 3, 5, "x"] }], layout: { title: "T", yaxis: { title: { text: "v" } } } })!;
    expect(chart).toMatchObject({ kind: "box", title: "T", y: { label: "v" }, categories: ["a, n", "b, n"] });
    expect(chart.boxes[0]!.five).toEqual([1, 1.5, 2, 2.5, 3]);
  });

  it("tells outliers from whiskers", () => {
    expect(boxOf("x", [1, 2, 3, 4, 100])).toEqual({ label: "x", five: [1, 2, 3, 4, 4], outliers: [100] });
  });

  it("with anything else in it is left to plotly", () => {
    for (const figure of [null, {}, { data: [] }, { data: [{ type: "box", y: [1] }, { type: "bar" }] }, { data: [{ type: "box", y: ["x"] }] }]) {
      expect(boxesOf(figure)).toBeNull();
    }
  });
});

describe("a histogram", () => {
  it("is counted into bars", () => {
    const bars = toBars({ type: "histogram", x: [1, 1, 2, 3, null], xbins: { start: 0.5, size: 1 } })!;
    expect(bars["x"]).toEqual([1, 2, 3]);
    expect(bars["y"]).toEqual([2, 1, 1]);
  });

  it("of names counts each name", () => {
    const bars = toBars({ type: "histogram", y: ["a", "b", "a"] })!;
    expect(bars["y"]).toEqual(["a", "b"]);
    expect(bars["x"]).toEqual([2, 1]);
  });

  it("has no more bars than can be seen, whatever is asked", () => {
    const bars = toBars({ type: "histogram", x: [0, 1e9], nbinsx: 1e12, xbins: { size: 1e-9 } })!;
    expect((bars["x"] as unknown[]).length).toBeLessThanOrEqual(501);
    expect(toBars({ type: "histogram", x: [1], histfunc: "avg" })).toBeNull();
    expect(toBars({ type: "histogram" })).toBeNull();
  });
});
