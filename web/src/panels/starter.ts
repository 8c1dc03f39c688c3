// SPDX-License-Identifier: Apache-2.0
// The first cell about a file that was just uploaded: it reads it, shows it as a table, and draws a chart that fits its
// columns. The code is for the reader to change, so it is short, and says what to try. Names in it come from the file:
// they are literals, whatever they hold.
import { parseSheet, type Decoded, type Sheet } from "./csv";
import { pythonText, visible } from "./format";
import { choose, columnsOf, type Choice, type Column } from "./infer";

export const SAMPLE_BYTES = 256 * 1024;
const ROWS_MAX = 200_000; // of a file that would not fit the memory of a sandbox as a table
const LARGE_BYTES = 64 * 1024 * 1024;
const ROWS_FIRST = 5;
const SHEET_ROWS = 400; // looked at to find a chart
const POINTS_MAX = 5000; // of a chart
const BARS_MAX = 30;
const WIDE = 50; // columns: above, the table shows the first ones

export interface Sample {
  text: string;
  encoding: Decoded["encoding"];
  size: number; // of the whole file
  isWhole: boolean;
}

type Form = "csv" | "json" | "jsonl";

function formOf(fileName: string): Form | null {
  const ending = /\.([a-z0-9]+)$/i.exec(fileName)?.[1]?.toLowerCase();
  if (ending === "csv" || ending === "tsv" || ending === "tab") return "csv";
  if (ending === "json") return "json";
  if (ending === "jsonl" || ending === "ndjson") return "jsonl";
  return null;
}

/** Is there a first cell for it? By name alone: whether it can be read is found out by reading. */
export function hasStarter(fileName: string): boolean {
  return formOf(fileName) !== null;
}

function columnText(column: Column, columns: readonly Column[]): string {
  const isPlain = column.name.trim() === column.name && column.name !== "" && column.name.length <= 80;
  const isOnly = columns.filter((other) => other.name === column.name).length === 1;
  return isPlain && isOnly ? pythonText(column.name) : `df.columns[${column.index}]`;
}

/** A title is shown to people: on one line, and not without end. */
function titleText(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return pythonText(line.length > 60 ? `${line.slice(0, 59)}…` : line);
}

/** What is drawn of a table: all of it, or a part of which the title then says how large it is. */
interface Part {
  lines: string[];
  name: string;
  note: string; // Python, behind the title
}

function partOf(name: string, way: string, word: string, mayLack: boolean): Part {
  if (!mayLack) return { lines: [], name, note: "" };
  return { lines: [`shown = ${name}.${way}`], name: "shown", note: ` + (f" (${word} {len(shown):,} of {len(${name}):,})" if len(shown) < len(${name}) else "")` };
}

function chartOf(type: string, title: string, x: string, values: string, data: string, note = ""): string[] {
  return [
    `_chart = {`,
    `    "type": "${type}",`,
    `    "title": ${titleText(title)}${note},`,
    `    "categoryKey": ${x},`,
    `    "valueKeys": ${values},`,
    `    "data": ${data}.to_dict("records"),`,
    `}`,
  ];
}

const HINT = (others: string) => `# Assigning to _chart draws it. Try ${others} as its type, or another column.`;

const HOW_WORDS = { sum: "added up", mean: "averaged" } as const;
const HOW_TITLES = { sum: "Sum of ", mean: "Mean ", each: "" } as const;

/** One value over moments or labels. What is done with several rows of one place stands in the title, and in a comment. */
function groupLines({ type, x, split, value, how }: Choice & { kind: "groups" }, text: (column: Column) => string, most: number): string[] {
  const [at, of] = [text(x), text(value)];
  const names = { x: x.name || "group", value: value.name || "value", split: split?.name || "category" };
  const title = `${HOW_TITLES[how]}${names.value} by ${names.x}${split ? ` and ${names.split}` : ""}`;
  const hint = HINT(type === "line" ? `"bar" or "area"` : `"pie" or "line"`);
  const line = (note: string) => note.replace(/\s+/g, " ").slice(0, 160);
  const several = how === "each" ? [] : [line(`# Rows of one ${visible(names.x)}${split ? ` and ${visible(names.split)}` : ""} are ${HOW_WORDS[how]}; "${how === "sum" ? "mean" : "sum"}" does the other.`)];
  const places = most <= SHEET_ROWS ? x.distinct : most;
  if (split) {
    const part = partOf("groups", `tail(${POINTS_MAX})`, "last", places > POINTS_MAX);
    return [
      ...several,
      `groups = df.pivot_table(index=${at}, columns=${text(split)}, values=${of}, aggfunc="${how === "each" ? "first" : how}")`,
      `groups = groups.rename(columns=str)`,
      ...part.lines,
      "",
      hint,
      ...chartOf(type, title, at, `list(groups.columns)`, `${part.name}.reset_index()`, part.note),
    ];
  }
  const all = how === "each" ? `df[[${at}, ${of}]].dropna()` : `df.groupby(${at})[[${of}]].${how}().reset_index()`;
  const largest = `nlargest(${BARS_MAX}, ${of})`;
  const part = type === "line" ? partOf("groups", `tail(${POINTS_MAX})`, "last", places > POINTS_MAX) : partOf("groups", largest, "largest", places > BARS_MAX);
  const order = type === "line" ? (how === "each" ? `.sort_values(${at})` : "") : part.note ? "" : `.${largest}`;
  return [
    ...several,
    `groups = ${all}${order}`,
    ...part.lines,
    "",
    hint,
    ...chartOf(type, title, at, `[${of}]`, part.name, part.note),
  ];
}

/** `most`: rows that the file may have; Infinity where only its beginning is known. */
function chartLines(choice: Choice, columns: readonly Column[], most: number): string[] {
  const isPartial = most === Infinity;
  const text = (column: Column) => columnText(column, columns);
  // What the first rows say may not hold for the last ones.
  const asNumber = (list: readonly Column[]) =>
    isPartial ? list.map((column) => `df[${text(column)}] = pd.to_numeric(df[${text(column)}], errors="coerce")`) : [];

  switch (choice.kind) {
    case "groups":
      return [...asNumber([choice.value]), ...groupLines(choice, text, most)];
    case "points": {
      const x = text(choice.x);
      const values = choice.values.map(text);
      const part = partOf("points", `head(${POINTS_MAX})`, "first", most > POINTS_MAX);
      return [
        ...asNumber([choice.x, ...choice.values]),
        `points = df[[${[x, ...values].join(", ")}]].dropna()`,
        ...part.lines,
        "",
        HINT(`"line" or "bar"`),
        ...chartOf("scatter", `${choice.values[0]!.name || "value"} against ${choice.x.name || "the first column"}`, x, `[${values.join(", ")}]`, part.name, part.note),
      ];
    }
    case "counts": {
      const part = partOf("counts", `head(${BARS_MAX})`, "most frequent", (most <= SHEET_ROWS ? choice.x.distinct : most) > BARS_MAX);
      return [
        `counts = df[${text(choice.x)}].astype(str).str.slice(0, 60).value_counts()`,
        `counts = counts.rename_axis("value").reset_index(name="rows")`,
        ...part.lines,
        "",
        HINT(`"pie" or "line"`),
        ...chartOf("bar", `Rows by ${choice.x.name || "value"}`, `"value"`, `["rows"]`, part.name, part.note),
      ];
    }
    case "rows": {
      const values = choice.values.map(text);
      const part = partOf("points", `head(${POINTS_MAX})`, "first", most > POINTS_MAX);
      return [
        ...asNumber(choice.values),
        `points = df[[${values.join(", ")}]].rename_axis("row").reset_index()`,
        ...part.lines,
        "",
        HINT(`"bar" or "area"`),
        ...chartOf("line", choice.values[0]!.name || "value", `"row"`, `[${values.join(", ")}]`, part.name, part.note),
      ];
    }
  }
}

/** The first rows only: the chart comes below them, and is what people wait for. The panel has all rows of `df`. */
function showLine(count: number): string {
  return count > WIDE ? `df.iloc[:${ROWS_FIRST}, :${WIDE}]` : `df.head(${ROWS_FIRST})`;
}

const COMMA_NUMBER = /^[+-]?\d+,\d+$/;

/** "1,5" is a number where fields are divided by something else. Such sheets are given back with points. */
function withPoints(sheet: Sheet): Sheet | null {
  if (sheet.delimiter === "," || !sheet.rows.some((row) => row.some((field) => COMMA_NUMBER.test(field)))) return null;
  return { ...sheet, rows: sheet.rows.map((row) => row.map((field) => (COMMA_NUMBER.test(field) ? field.replace(",", ".") : field))) };
}

function csvCell(path: string, sample: Sample): string | null {
  if (sample.text.trim() === "") return null;
  const sheet = parseSheet(sample.text, sample.isWhole, { columns: 20_000, rows: SHEET_ROWS, field: 200 });
  const pointed = withPoints(sheet);
  const columns = columnsOf(pointed ?? sheet);
  const choice = choose(columns, !sample.isWhole || sheet.rows.length >= SHEET_ROWS);
  const options = [pythonText(path)];
  if (sheet.delimiter !== ",") options.push(`sep=${pythonText(sheet.delimiter)}`);
  if (pointed) options.push(`decimal=","`);
  if (sample.encoding !== "utf-8") options.push(`encoding="${sample.encoding}"`);
  if (!sample.isWhole || sheet.isRagged) options.push(`on_bad_lines="warn"`);
  if (sample.size > LARGE_BYTES) options.push(`nrows=${ROWS_MAX.toLocaleString("en-US").replace(/,/g, "_")}`);
  return [
    `import pandas as pd`,
    ``,
    ...(sample.size > LARGE_BYTES ? [`# A large file: its first rows, so that they fit the sandbox's memory.`] : []),
    `df = pd.read_csv(${options.join(", ")})`,
    ...(choice && sheet.rows.length > 0 ? chartLines(choice, columns, sample.isWhole ? sample.text.split(/\r\n?|\n/).length : Infinity) : []),
    showLine(columns.length),
  ].join("\n");
}

/** The rows of a JSON text as a table, where it is a list of objects, or an object that holds one. */
function jsonRows(text: string): { rows: Record<string, unknown>[]; member: string | null } | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const isRow = (row: unknown) => typeof row === "object" && row !== null && !Array.isArray(row);
  const isRows = (list: unknown): list is Record<string, unknown>[] =>
    Array.isArray(list) && list.length > 0 && list.slice(0, 50).every(isRow);
  if (isRows(value)) return { rows: value, member: null };
  if (!isRow(value)) return null;
  const found = Object.entries(value as Record<string, unknown>).find(([, list]) => isRows(list));
  return found ? { rows: found[1] as Record<string, unknown>[], member: found[0] } : null;
}

function sheetOf(rows: readonly Record<string, unknown>[]) {
  const names = [...new Set(rows.slice(0, 50).flatMap((row) => Object.keys(row)))].slice(0, 20_000);
  const isPlain = (value: unknown) => ["string", "number", "boolean"].includes(typeof value);
  const columns = names.filter((name) => rows.slice(0, 50).every((row) => row[name] === undefined || row[name] === null || isPlain(row[name])));
  return {
    columns,
    rows: rows.slice(0, SHEET_ROWS).map((row) => columns.map((name) => (row[name] === undefined || row[name] === null ? "" : String(row[name])))),
    delimiter: ",",
    isRagged: false,
    isCut: false,
  };
}

/** Columns that are known by name only: the table may have others in between. */
function named(columns: readonly Column[]): Column[] {
  return columns.filter((column) => column.name.trim() === column.name && column.name !== "" && column.name.length <= 80);
}

function jsonCell(path: string, sample: Sample, form: Form): string {
  const read = `open(${pythonText(path)}, encoding="utf-8")`;
  const lines = form === "jsonl" ? sample.text.split("\n").filter((line) => line.trim() !== "") : [];
  if (form === "jsonl" && !sample.isWhole) lines.pop();
  const found = jsonRows(form === "jsonl" ? `[${lines.slice(0, SHEET_ROWS + 1).join(",")}]` : sample.text);
  if (form === "json" && !found) {
    // What it holds is not known here, so that is what the code shows.
    return [`import json`, ``, `with ${read} as file:`, `    data = json.load(file)`, `data`].join("\n");
  }
  const sheet = found ? sheetOf(found.rows) : null;
  const columns = sheet ? named(columnsOf(sheet)) : [];
  const choice = choose(columns, !sample.isWhole || (found?.rows.length ?? 0) > SHEET_ROWS);
  const load =
    form === "jsonl"
      ? [`import pandas as pd`, ``, `df = pd.read_json(${pythonText(path)}, lines=True)`]
      : [
          `import json`,
          `import pandas as pd`,
          ``,
          `with ${read} as file:`,
          `    data = json.load(file)`,
          `df = pd.DataFrame(data${found!.member === null ? "" : `[${pythonText(found!.member)}]`})`,
        ];
  return [...load, ...(choice ? chartLines(choice, columns, sample.isWhole && found ? found.rows.length : Infinity) : []), showLine(columns.length)].join("\n");
}

/** The code of the first cell for this file, or null when it has none. `path` is relative to /workspace. */
export function starterCell(path: string, sample: Sample): string | null {
  const form = formOf(path);
  if (form === "csv") return csvCell(path, sample);
  if (form === "json" || form === "jsonl") return jsonCell(path, sample, form);
  return null;
}
