// SPDX-License-Identifier: Apache-2.0
// The starter cell is given to a real Python: what it says about names must hold there, not only look right.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { pythonText, visible } from "../../src/panels/format";
import { starterCell, type Sample } from "../../src/panels/starter";

const whole = (text: string): Sample => ({ text, encoding: "utf-8", size: text.length, isWhole: true });
const PYTHON = ["/usr/bin/python3", "python3"].find((path) => !path.startsWith("/") || existsSync(path))!;
const python = (code: string, input = "") => execFileSync(PYTHON, ["-c", code], { input, encoding: "utf-8" });

const NASTY = [
  'quote"s', "apostrophe's", "back\\slash", "new\nline", "carriage\rreturn", "tab\t", "nul\u0000", "</script><img src=x onerror=alert(1)>",
  '"); import os; os.system("id") #', "\\", '\\"', "{braces} %s", "\u2028\u2029", "\u202egnp.exe", "\u200b", "€ 😀", "\ud800", "\u0085", "'''", '"""',
];

describe("names in code", () => {
  it("are what Python reads, whatever they hold", () => {
    const list = `[${NASTY.map(pythonText).join(", ")}]`;
    const told = JSON.parse(python(`import json,sys; print(json.dumps(eval(sys.stdin.read())))`, list)) as string[];
    expect(told).toEqual(NASTY);
  });

  it("cannot be parsed as more than a text", () => {
    const code = NASTY.map((name) => `x = ${pythonText(name)}`).join("\n");
    const kinds = python("import ast,sys; print([type(s.value).__name__ for s in ast.parse(sys.stdin.read()).body])", code);
    expect(new Set(kinds.match(/\w+/g))).toEqual(new Set(["Constant"]));
  });

  it("are shown with what cannot be seen", () => {
    expect(visible("a\nb\u202ec")).toBe("a⏎b‹202e›c");
  });
});

describe("the starter cell", () => {
  const compiles = (code: string) => python("import ast,sys; ast.parse(sys.stdin.read())", code);

  it("draws revenue by month for the example", () => {
    const code = starterCell("sales.csv", whole("month,region,product,units,price,revenue\n2024-01,North,S,83,39.00,3237.00\n2024-02,South,L,39,129.00,5031.00\n"))!;
    expect(code).toContain('pd.read_csv("sales.csv")');
    expect(code).toContain('"type": "line"');
    expect(code).toContain('"categoryKey": "month"');
    expect(code).toContain('"valueKeys": ["revenue"]');
    expect(code).toContain('"title": "revenue by month"');
    expect(code.split("\n").at(-1)).toBe("df.head(5)");
    compiles(code);
  });

  /** The chart that the cell makes of the file, by pandas itself. */
  const chartOf = (csv: string): { title: string; valueKeys: string[]; data: Record<string, unknown>[]; code: string } => {
    const code = starterCell("t.csv", whole(csv))!;
    const run = "import io,json,sys\nimport pandas as pd\ncode, csv = json.load(sys.stdin)\nread = pd.read_csv\n" +
      "pd.read_csv = lambda path, **more: read(io.StringIO(csv), **more)\nnames = {}\nexec(code, names)\nprint(json.dumps(names['_chart'], default=str))";
    return { ...JSON.parse(python(run, JSON.stringify([code, csv])).replaceAll("NaN", "null")), code };
  };

  it("averages what cannot be added, and says so", () => {
    const chart = chartOf("day,temperature\n2024-01-01,5\n2024-01-01,7\n2024-01-02,9\n");
    expect(chart.data).toEqual([{ day: "2024-01-01", temperature: 6 }, { day: "2024-01-02", temperature: 9 }]);
    expect(chart.title).toBe("Mean temperature by day");
    expect(chart.code).toContain("# Rows of one day are averaged");
  });

  it("adds up what can be added, and says so", () => {
    const chart = chartOf("city,sales\nRome,1\nOslo,2\nRome,3\n");
    expect(chart.data).toEqual([{ city: "Rome", sales: 4 }, { city: "Oslo", sales: 2 }]);
    expect(chart.title).toBe("Sum of sales by city");
    expect(chart.code).toContain("are added up");
  });

  it("draws a line for each category, and each row where none repeats", () => {
    const chart = chartOf("day,city,temperature\n2024-01-01,Rome,12\n2024-01-01,Oslo,-3\n2024-01-02,Rome,13\n");
    expect(chart.valueKeys).toEqual(["Oslo", "Rome"]);
    expect(chart.data).toEqual([{ day: "2024-01-01", Oslo: -3, Rome: 12 }, { day: "2024-01-02", Oslo: null, Rome: 13 }]);
    expect(chart.title).toBe("temperature by day and city");
    expect(chart.code).not.toMatch(/sum|mean/);
    expect(chartOf("day,temperature\n2024-01-02,7\n2024-01-01,5\n").data).toEqual([{ day: "2024-01-01", temperature: 5 }, { day: "2024-01-02", temperature: 7 }]);
  });

  it("draws all places of a file, and says in the title how many where they are too many", () => {
    const days = (count: number) => Array.from({ length: count }, (_, i) => `${new Date(Date.UTC(2000, 0, 1 + i)).toISOString().slice(0, 10)},${i}`).join("\n");
    const year = chartOf(`day,temperature\n${days(900)}\n`);
    expect([year.data.length, year.title]).toEqual([900, "Mean temperature by day"]);
    const long = chartOf(`day,temperature\n${days(6000)}\n`);
    expect([long.data.length, long.title, long.data.at(-1)!["temperature"]]).toEqual([5000, "Mean temperature by day (last 5,000 of 6,000)", 5999]);
  });

  it("says how many bars of how many are drawn, and that points are the first ones", () => {
    const cities = (count: number) => Array.from({ length: count }, (_, i) => `c${i % (count / 2)},${i}`).join("\n");
    const bars = chartOf(`city,sales\n${cities(80)}\n`);
    expect([bars.data.length, bars.title]).toEqual([30, "Sum of sales by city (largest 30 of 40)"]);
    const counts = chartOf(`city\n${cities(80).replace(/,\d+/g, "")}\n`);
    expect([counts.data.length, counts.title]).toEqual([30, "Rows by city (most frequent 30 of 40)"]);
    expect(starterCell("t.csv", whole(`x,y\n${"1,2\n".repeat(6000)}`))).toContain('"y against x" + (f" (first {len(shown):,} of {len(points):,})"');
    expect(starterCell("t.csv", whole("x,y\n1,2\n"))).toContain('"title": "y against x",');
  });

  it("says an aggregation where rows that were not looked at may repeat", () => {
    const code = starterCell("a.csv", { ...whole("day,temperature\n2024-01-01,5\n2024-01-02,7\n"), isWhole: false })!;
    expect(code).toContain('"title": "Mean temperature by day"');
  });

  it("chooses bars for labels, points for two numbers, counts for none", () => {
    expect(starterCell("a.csv", whole("city,n\nRome,1\nOslo,2\nRome,3\n"))).toContain('"type": "bar"');
    expect(starterCell("a.csv", whole("x,y\n1,2\n3,4\n"))).toContain('"type": "scatter"');
    expect(starterCell("a.csv", whole("city\nRome\nOslo\nRome\n"))).toContain("value_counts");
    expect(starterCell("a.csv", whole("y\n1\n2\n"))).toContain('"row"');
  });

  it("reads other delimiters, encodings and what is too large", () => {
    expect(starterCell("a.tsv", whole("x\ty\n1\t2\n"))).toContain('sep="\\t"');
    expect(starterCell("a.csv", { ...whole("x;y\n1;2\n"), encoding: "latin-1" })).toContain('encoding="latin-1"');
    expect(starterCell("a.csv", whole("x;y\na;1,5\nb;2,5\n"))).toContain('sep=";", decimal=","');
    expect(starterCell("a.csv", { text: "x,y\n1,2\n", encoding: "utf-8", size: 200 << 20, isWhole: false })).toContain("nrows=200_000");
  });

  it("takes columns without a usable name by their place", () => {
    const code = starterCell("a.csv", whole("k,,k\na,1,2\nb,3,4\n"))!;
    expect(code).toContain("df.columns[");
    compiles(code);
  });

  it("compiles for every name of a file and of a column", () => {
    const cells = NASTY.map((name) => starterCell(`${name}.csv`, whole(`"${name.replaceAll('"', '""')}",n\nx,1\ny,2\nx,3\n`)));
    expect(cells.every((cell) => cell?.includes("_chart"))).toBe(true);
    python("import ast,json,sys\nfor code in json.load(sys.stdin): ast.parse(code)", JSON.stringify(cells));
  });

  it("does with 10,000 columns, nothing, and a header alone", () => {
    const names = Array.from({ length: 10_000 }, (_, i) => `c${i}`).join(",");
    const wide = starterCell("a.csv", whole(`${names}\n${names.replace(/c/g, "")}\n`))!;
    expect(wide).toContain("df.iloc[:5, :50]");
    expect(wide.length).toBeLessThan(1000);
    expect(starterCell("a.csv", whole(" \n"))).toBeNull();
    compiles(starterCell("a.csv", whole("a,b"))!);
  });

  it("reads JSON lists, lists in an object, lines, and shows what it does not know", () => {
    expect(starterCell("a.json", whole('[{"k":"a","n":1},{"k":"b","n":2}]'))).toContain("pd.DataFrame(data)");
    expect(starterCell("a.json", whole('{"rows":[{"k":"a","n":1},{"k":"b","n":2}]}'))).toContain('data["rows"]');
    expect(starterCell("a.jsonl", whole('{"k":"a","n":1}\n{"k":"b","n":2}\n'))).toContain("lines=True");
    for (const text of ["{", "[1,2]", "null", '{"a":{"b":1}}', "[[1],[2]]"]) {
      const code = starterCell("a.json", whole(text))!;
      expect(code).toContain("json.load");
      expect(code).not.toContain("DataFrame");
      compiles(code);
    }
  });

  it("is for tables only", () => {
    expect(starterCell("a.png", whole(""))).toBeNull();
    expect(starterCell("csv", whole("a,b\n"))).toBeNull();
  });
});
