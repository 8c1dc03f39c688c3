// SPDX-License-Identifier: Apache-2.0
// The starter cell is given to a real Python: what it says about names must hold there, not only look right.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { pythonText, visible } from "../../src/panels/format";
import { decodeText } from "../../src/panels/csv";
import { SAMPLE_BYTES, starterCell as cellOf, type Sample } from "../../src/panels/starter";

const made: [code: string, text: string][] = []; // every cell of these tests, and the file it is for

function starterCell(path: string, sample: Sample): string | null {
  const code = cellOf(path, sample);
  if (code !== null) made.push([code, sample.text]);
  return code;
}

// Tests that wait for a program block the worker: let it answer Vitest between them, which gives up on it after a minute.
afterEach(() => new Promise((done) => void setTimeout(done)));

const whole = (text: string): Sample => ({ text, encoding: "utf-8", size: text.length, isWhole: true });
const PYTHON = ["/usr/bin/python3", "python3"].find((path) => !path.startsWith("/") || existsSync(path))!;
const python = (code: string, input = "") => execFileSync(PYTHON, ["-c", code], { input, encoding: "utf-8", maxBuffer: 64 << 20 });

// Runs cells as the session does, with the file in place of every path: the last line is what is shown. A warning is an error.
const RUN = `
import ast, base64, contextlib, io, json, sys, warnings
import pandas as pd
warnings.simplefilter("error")
real = {name: getattr(pd, name) for name in ("read_csv", "read_json")}
for code, data in json.load(sys.stdin):
    data = base64.b64decode(data)
    for name, read in real.items():
        setattr(pd, name, lambda path, read=read, **more: read(io.BytesIO(data), **more))
    names = {"open": lambda path, encoding: io.StringIO(data.decode(encoding))}
    *lines, last = ast.parse(code).body
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(ast.Module(lines, []), "cell", "exec"), names)
        shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    df = names.get("df")
    kept = None if df is None or df.empty else df.astype(str).iloc[-1].to_dict()
    print(json.dumps([names.get("_chart"), said.getvalue(), type(shown).__name__, kept], default=str))
`;

interface Drawn { type: string; title: string; valueKeys: string[]; data: Record<string, unknown>[]; code: string; said: string; shown: string; last: Record<string, string> }

/** What cells make of files, by pandas itself. */
function run(cells: readonly (readonly [code: string, bytes: Uint8Array])[]): Drawn[] {
  const input = JSON.stringify(cells.map(([code, bytes]) => [code, Buffer.from(bytes).toString("base64")]));
  return python(RUN, input).trim().split("\n").map((line, i) => {
    const [chart, said, shown, last] = JSON.parse(line.replace(/\bNaN\b/g, "null")) as [object | null, string, string, Record<string, string>];
    return { ...(chart as Drawn), code: cells[i]![0], said, shown, last };
  });
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Files of which the page looks at the first bytes. */
function dropped(most: number, files: readonly (string | Uint8Array)[]): Drawn[] {
  return run(files.map((file) => {
    const bytes = typeof file === "string" ? bytesOf(file) : file;
    const isWhole = bytes.length <= most;
    return [starterCell("t.csv", { ...decodeText(bytes.subarray(0, most), isWhole)!, size: bytes.length, isWhole })!, bytes] as const;
  }));
}
const drop = (...files: string[]) => dropped(SAMPLE_BYTES, files);

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

  it("tells columns of one name apart as pandas does", () => {
    const csv = "a,a,b\n" + Array.from({ length: 30 }, (_, i) => `${i * 1.5},${(i * 7) % 11},${i % 5}`).join("\n") + "\n";
    expect(chartOf(csv).title).toBe("a.1 against a");
  });

  const chartsOf = (...files: string[]): Drawn[] => run(files.map((csv) => [starterCell("t.csv", whole(csv))!, bytesOf(csv)] as const));
  const chartOf = (csv: string) => chartsOf(csv)[0]!;

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

  it("leaves a gap where no row has a value, and draws no 0 there", () => {
    const days = (rest: string) => `date,shop,revenue\n2024-01-01,A,5\n2024-01-01,${rest},7\n2024-01-02,A,\n2024-01-02,${rest},\n2024-01-03,A,9\n`;
    const sum = chartOf(days("A").replaceAll(",A,", ",").replace("shop,", ""));
    expect(sum.data).toEqual([{ date: "2024-01-01", revenue: 12 }, { date: "2024-01-02", revenue: null }, { date: "2024-01-03", revenue: 9 }]);
    expect(sum.title).toBe("Sum of revenue by date");
    const split = chartOf(days("B") + "2024-01-03,A,1\n");
    expect(split.data).toEqual([{ date: "2024-01-01", A: 5, B: 7 }, { date: "2024-01-02", A: null, B: null }, { date: "2024-01-03", A: 10, B: null }]);
    expect(split.title).toBe("Sum of revenue by date and shop");
    expect(chartOf("date,revenue\n2024-01-01,5\n2024-01-02,\n2024-01-03,9\n").data[1]).toEqual({ date: "2024-01-02", revenue: null });
  });

  it("says a sum only where rows were added, also of rows that it did not look at", () => {
    const hours = (count: number) => Array.from({ length: count }, (_, i) => `${new Date(Date.UTC(2000, 0, 1, i)).toISOString().slice(0, 16)},${i}`).join("\n");
    expect(chartOf(`time,revenue\n${hours(900)}\n`).title).toBe("revenue by time");
    const repeated = chartOf(`time,revenue\n${hours(900)}\n2000-01-01T00:00,5\n`);
    expect([repeated.title, repeated.data[0]]).toEqual(["Sum of revenue by time", { time: "2000-01-01T00:00", revenue: 5 }]);
  });

  it("takes the same moment with two offsets for one place", () => {
    const chart = chartOf("ts,load\n2024-03-31T00:00:00+01:00,10\n2024-03-31T01:00:00+01:00,20\n2024-03-31T02:00:00+02:00,40\n2024-03-31T03:00:00+02:00,50\n");
    expect(chart.title).toBe("Mean load by ts (UTC)");
    expect(chart.data.map(({ load }) => load)).toEqual([10, 30, 50]);
  });

  it("orders moments of several offsets by time, and says that they are UTC", () => {
    const chart = chartOf("time,temperature\n2024-03-01 10:00+02:00,1\n2024-03-01 09:00+00:00,2\n2024-03-01 05:30-05:00,3\n2024-03-01 07:00Z,4\n");
    expect(chart.data.map(({ time, temperature }) => [String(time).slice(11), temperature])).toEqual([["07:00:00+00:00", 4], ["08:00:00+00:00", 1], ["09:00:00+00:00", 2], ["10:30:00+00:00", 3]]);
    expect(chart.title).toBe("temperature by time (UTC)");
  });

  it("reads dates as people write them, where all of them say how", () => {
    const cases = [
      [["Mar 2023", "Jan 2023", "Feb 2023"], ["2023-01-01", "2023-02-01", "2023-03-01"]],
      [["March 2023", "May 2022"], ["2022-05-01", "2023-03-01"]],
      [["03.03.2024", "01.02.2024", "02.01.2024"], ["2024-01-02", "2024-02-01", "2024-03-03"]],
      [["13/01/2024", "02/03/2024", "01/02/2024"], ["2024-01-13", "2024-02-01", "2024-03-02"]],
      [["02/01/2024", "01/13/2024"], ["2024-01-13", "2024-02-01"]],
      [["2024/10/5", "2024/9/30"], ["2024-09-30", "2024-10-05"]],
      [["01.02.2024 13:30", "01.02.2024 9:05"], ["2024-02-01 09:05:00", "2024-02-01 13:30:00"]],
    ] as const;
    const charts = chartsOf(...cases.map(([texts]) => `when,sales\n${texts.map((text, i) => `${text},${(i * 7) % 5}`).join("\n")}\n`));
    expect(charts.map(({ data }) => data.map(({ when }) => String(when).replace(" 00:00:00", "")))).toEqual(cases.map(([, days]) => days));
    expect(charts.every(({ code }) => code.includes('"type": "line"'))).toBe(true);
  });

  it("keeps the order of the file for dates of which it cannot be told what they are", () => {
    const cases = [["03/01/2024", "02/05/2024", "01/07/2024"], ["Mar", "Apr", "May"], ["31.02.2024", "01.01.2024", "05.01.2024"], ["Jan-23", "Feb-23", "Mar-23"], ["13/01/2024", "01/13/2024", "02/02/2024"]];
    const charts = chartsOf(...cases.map((texts) => `when,sales\n${texts.map((text, i) => `${text},${(i * 7) % 5}`).join("\n")}\n${texts[0]},1\n`));
    expect(charts.map(({ data }) => data.map(({ when }) => when))).toEqual(cases);
    expect(charts.map(({ data }) => data[0]!["sales"])).toEqual(cases.map(() => 1));
    expect(starterCell("t.csv", whole("city,sales\nMarl,1\nJuneau,2\nMarl,3\n"))).toContain("nlargest");
  });

  it("reads points between thousands where the decimals are behind a comma, and dates beside them as dates", () => {
    const chart = chartOf("\ufeffDatum;Umsatz\n03.02.2024;1.234,50\n01.02.2024;12.345.678,00\n02.02.2024;999,25\n");
    expect(chart.data).toEqual([{ Datum: "2024-02-01 00:00:00", Umsatz: 12345678 }, { Datum: "2024-02-02 00:00:00", Umsatz: 999.25 }, { Datum: "2024-02-03 00:00:00", Umsatz: 1234.5 }]);
    expect(chart.code).toContain('decimal=",", thousands=".", dtype={"Datum": str}');
    expect(starterCell("a.csv", whole("k;x;y\na;1,5;1.5\nb;1.234,5;2.5\n"))).not.toContain("thousands");
  });

  it("keeps the zeros that postcodes and article numbers begin with", () => {
    const code = starterCell("zips.csv", whole("zip,city,amount\n01067,Dresden,5\n04109,Leipzig,7\n,Ulm,0\n"))!;
    expect(code).toContain(`pd.read_csv("zips.csv", dtype={"zip": str})`);
    expect(starterCell("n.csv", whole("a,b\n0,1\n0.5,2\n007,3\n"))).not.toContain("dtype");
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
    expect([year.data.length, year.title]).toEqual([900, "temperature by day"]);
    const long = chartOf(`day,temperature\n${days(6000)}\n`);
    expect([long.data.length, long.title, long.data.at(-1)!["temperature"]]).toEqual([5000, "temperature by day (last 5,000 of 6,000)", 5999]);
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
    expect(code).toContain('"title": ("Mean " if drawn.dropna().duplicated(["day"]).any() else "") + "temperature by day"');
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
    const days = starterCell("a.jsonl", whole('{"date":"03.02.2024","n":1}\n{"date":"01.02.2024","n":2}\n'))!;
    expect(days).toContain("lines=True, convert_dates=False)"); // else pandas takes the day for the month
    expect(days).toContain('pd.to_datetime(df["date"], format="%d.%m.%Y")');
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

describe("a column that is not of one kind to its end", () => {
  const rows = (count: number, line: (i: number) => string) => Array.from({ length: count }, (_, i) => `${line(i)}\n`).join("");
  const day = (i: number, month = 1) => `2024-${String(month).padStart(2, "0")}-${String(1 + (i % 28)).padStart(2, "0")}`;
  const total = (chart: Drawn) => chart.data.reduce((sum, row) => sum + chart.valueKeys.reduce((part, key) => part + Number(row[key] ?? 0), 0), 0);
  const sum = (count: number, value: (i: number) => number) => Array.from({ length: count }, (_, i) => value(i)).reduce((a, b) => a + b, 0);

  it("draws numbers, and says what it leaves out, beside one word", () => {
    const [days, regions, temperature, dash] = drop(
      `day,revenue\n${rows(450, (i) => `${day(i)},${i % 900}`)}2024-02-01,unknown\n`,
      `region,revenue\n${rows(450, (i) => `${"NSEW"[i % 4]},${i % 900}`)}N,unknown\n`,
      `day,temperature\n${rows(450, (i) => `${day(i)},${i % 30}`)}2024-02-01,n/v\n2024-02-02,broken\n`,
      "city,sales\nRome,1\nOslo,-\nRome,3\nBonn,4\nOslo, \nUlm,7\n",
    ) as [Drawn, Drawn, Drawn, Drawn];
    for (const chart of [days, regions]) {
      expect(total(chart)).toBe(sum(450, (i) => i));
      expect(chart.title).toMatch(/^Sum of revenue by (day|region) \(without 1 of 451 rows\)$/);
      expect(chart.said).toBe("The chart leaves out 1 of 451 values of revenue, such as 'unknown'\n");
      expect([chart.shown, chart.last["revenue"]]).toEqual(["DataFrame", "unknown"]);
    }
    expect(temperature.title).toBe("Mean temperature by day (without 2 of 452 rows)");
    expect(temperature.said).toContain("'n/v', 'broken'");
    expect(dash.data.slice(0, 3)).toEqual([{ city: "Ulm", sales: 7 }, { city: "Bonn", sales: 4 }, { city: "Rome", sales: 4 }]);
    expect([dash.title, dash.said]).toEqual(["Sum of sales by city (without 2 of 6 rows)", "The chart leaves out 2 of 6 values of sales, such as '-', ' '\n"]);
  });

  it("reads decimal commas that come late, also beside a word", () => {
    const text = `day;revenue\n${rows(450, (i) => `${day(i)};${i % 900}`)}${rows(60, (i) => `${day(i, 2)};${i % 9},5`)}`;
    const [plain, word, grouped] = drop(text, `${text}2024-03-01;unknown\n`, `when;sales\n03.01.2024;1.234,50\n04.01.2024;2\n${rows(40, (i) => `05.01.2024;${i},25`)}05.01.2024;02.01.2024\n`) as [Drawn, Drawn, Drawn];
    expect(total(plain)).toBe(sum(450, (i) => i) + sum(60, (i) => (i % 9) + 0.5));
    expect([plain.title, plain.said]).toEqual(["Sum of revenue by day", ""]);
    expect([total(word), word.title]).toEqual([total(plain), "Sum of revenue by day (without 1 of 511 rows)"]);
    expect([total(grouped), grouped.title]).toEqual([1234.5 + 2 + sum(40, (i) => i + 0.25), "Sum of sales by when (without 1 of 43 rows)"]);
  });

  it("sums nothing of a column that is half texts, and sorts no dates of two forms", () => {
    const [lost, dates] = drop(
      `region,revenue\n${rows(60_000, (i) => `${"NSEW"[i % 4]},${i % 900}`)}${rows(60_000, (i) => `${"NSEW"[i % 4]},"1,${String(i % 900).padStart(3, "0")}"`)}`,
      `day,revenue\n${rows(450, (i) => `${day(i).split("-").reverse().join(".")},${i}`)}${rows(450, (i) => `${day(i, 2)},${i}`)}`,
    ) as [Drawn, Drawn];
    expect([lost.title, total(lost)]).toEqual(["Rows by region", 120_000]);
    expect([lost.said, lost.last["revenue"]]).toEqual(["", "1,599"]);
    expect(dates.type).toBe("bar");
    expect(dates.title).toBe("Sum of revenue by day (largest 30 of 56)");
    expect(dates.last["day"]).toBe(day(449, 2));
  });

  it("keeps values under their names where rows are longer than the header", () => {
    const [ends, named] = dropped(SAMPLE_BYTES, ["store,sales,units\nA,100,5,\nB,200,6,\nC,300,7,\n", "sales,units\nA,100,5\nB,200,6\nC,300,7\n"]) as [Drawn, Drawn];
    expect(ends.code).toContain("# Rows have more fields than the header.");
    expect([ends.last, ends.title]).toEqual([{ store: "C", sales: "300", units: "7" }, "sales by store"]);
    expect([named.last, named.title, named.code.includes("index_col=False)")]).toEqual([{ sales: "300", units: "7" }, "units against sales", false]);
    expect(cellOf("t.csv", whole("x,y\n1,2,9\n3,4\n5,6\n"))).toContain('"t.csv", index_col=False');
  });

  it("draws integers beyond 64 bits rounded, and says so", () => {
    const [chart] = drop("customer,balance\nAda,123456789012345678901234567890\nBo,9007199254740993\n") as [Drawn];
    expect([chart.title, chart.data[0]]).toEqual(["balance by customer (rounded)", { customer: "Ada", balance: 123456789012345678901234567890 }]);
    expect(chart.last["balance"]).toBe("9007199254740993");
    expect(drop("town,share\nBonn,0.0012345678901234567\nRom,0.2\n")[0]!.title).toBe("share by town");
  });

  it("says how many rows have no place", () => {
    const [chart] = drop("region,revenue\nN,1\n,2\nS,3\nN,4\n") as [Drawn];
    expect([chart.title, total(chart)]).toEqual(["Sum of revenue by region (without 1 of 4 rows)", 8]);
  });

  it("is checked in the session where the file is larger than what the page looks at", () => {
    const latin = bytesOf(`town,revenue\n${rows(900, (i) => `${i % 2 ? "Bonn" : "Rom"},5`)}K_ln,7\n`);
    latin[latin.lastIndexOf(0x5f)] = 0xf6;
    const [numbers, dates, town] = dropped(2000, [
      `region,revenue\n${rows(900, (i) => `${"NSEW"[i % 4]},${i % 9}`)}N,"1,234"\nN,unknown\n`,
      `day,revenue\n${rows(900, (i) => `${day(i).split("-").reverse().join(".")},1`)}2024-02-01,5\n,5\n`,
      latin,
    ]) as [Drawn, Drawn, Drawn];
    expect([numbers.title, total(numbers)]).toEqual(["Sum of revenue by region (without 2 of 902 rows)", sum(900, (i) => i % 9)]);
    expect(numbers.said).toBe("The chart leaves out 2 of 902 values of revenue, such as '1,234', 'unknown'\n");
    expect([dates.title, total(dates), dates.last["day"]]).toEqual(["Sum of revenue by day (without 2 of 902 rows)", 900, "nan"]);
    expect(dates.said).toContain("The chart leaves out 2 of 902 values of day, such as '2024-02-01', nan");
    expect([town.title, town.data.at(-1), town.last["town"]]).toEqual(["Sum of revenue by town", { town: "Köln", revenue: 7 }, "Köln"]);
  });

  it("has one type where it names places, whatever part of the file pandas reads at once", () => {
    const empty = ",".repeat(62);
    const names = Array.from({ length: 62 }, (_, i) => `,c${i}`).join("");
    const [chart] = drop(`code,sales${names}\n${rows(10_000, (i) => `${i % 9},1${empty}`)}${rows(10_000, (i) => `${i % 2 ? i % 9 : "A"},1${empty}`)}`) as [Drawn];
    expect(chart.data.length).toBe(10);
  });

  it("is a column of JSON that has texts among its numbers, or numbers as texts", () => {
    const file = (list: unknown[]) => JSON.stringify(list.map((n, i) => ({ k: "ab"[i % 2], sales: n })));
    const texts = [file(["1", "2", "3"]), file([...Array<number>(40).fill(2), "unknown"]), file([1, 2, 1e30])];
    const charts = run(texts.map((text) => [starterCell("a.json", whole(text))!, bytesOf(text)] as const));
    expect(charts.map(total)).toEqual([6, 80, 1e30 + 3]);
    expect(charts[1]!.said).toBe("The chart leaves out 1 of 41 values of sales, such as 'unknown'\n");
  });
});

describe("every cell of these tests", () => {
  it("ends with its table in pandas", () => {
    const shown = run(made.filter(([code, text]) => code.includes("df = ") && text.length < 100_000 && !/[\0\ud800-\udfff]/u.test(text)).map(([code, text]) => [code, bytesOf(text)] as const));
    expect(shown.length).toBeGreaterThan(0);
    for (const { code, shown: type } of shown) expect(type, code).toBe("DataFrame");
  });
});
