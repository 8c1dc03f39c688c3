// SPDX-License-Identifier: Apache-2.0
// The first cell about a file that was just uploaded: it reads it, shows it as a table, and draws a chart that fits its
// columns. The code is for the reader to change, so it is short, and says what to try. Names in it come from the file:
// they are literals, whatever they hold.
import { parseSheet, type Decoded, type Sheet } from "./csv";
import { pythonText, visible } from "./format";
import { choose, columnsOf, hasZeros, valueColumns, type Choice, type Column } from "./infer";

export const SAMPLE_BYTES = 2 * 1024 * 1024; // a file up to this size is looked at whole
const ROWS_MAX = 200_000; // of a file that would not fit the memory of a sandbox as a table
const ROWS_MAX_TEXT = "200_000";
const CHUNK_BYTES = 256 * 1024; // pandas reads a smaller file at once
const LARGE_BYTES = 64 * 1024 * 1024;
const ROWS_FIRST = 5;
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

/** A column's name for people: of several with one name, as pandas tells them apart. */
function nameOf({ name, index }: Column, columns: readonly Column[]): string {
  const before = columns.filter((other) => other.name === name && other.index < index).length;
  return name && before ? `${name}.${before}` : name;
}

/** A title is shown to people: on one line, and not without end. */
function titleText(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return pythonText(line.length > 60 ? `${line.slice(0, 59)}…` : line);
}

/** The part of a table that is drawn: all of it, or a part whose size the title tells. */
interface Part {
  lines: string[];
  name: string;
  note: string; // Python, behind the title
}

function partOf(name: string, way: string, word: string, mayLack: boolean): Part {
  if (!mayLack) return { lines: [], name, note: "" };
  return { lines: [`shown = ${name}.${way}`], name: "shown", note: ` + (f" (${word} {len(shown):,} of {len(${name}):,})" if len(shown) < len(${name}) else "")` };
}

/** `title`: Python. */
function chartOf(type: string, title: string, x: string, values: string, data: string, note = ""): string[] {
  return [
    `_chart = {`,
    `    "type": "${type}",`,
    `    "title": ${title}${note},`,
    `    "categoryKey": ${x},`,
    `    "valueKeys": ${values},`,
    `    "data": ${data}.to_dict("records"),`,
    `}`,
  ];
}

const HINT = (others: string) => `# Assigning to _chart draws it. Try ${others} as its type, or another column.`;

/** What is known of the table. */
interface Facts {
  columns: readonly Column[];
  rows: number; // Infinity where only the beginning was looked at
  mend: string; // Python behind a column whose numbers are texts: what pandas.to_numeric cannot read by itself
  note: string; // Python behind each title
}

/** The table that a chart is made of. */
interface Drawn {
  name: "df" | "drawn";
  lines: string[];
  note: string; // Python, behind the title
}

/** Numbers and moments out of columns. Where a value may be neither, the chart gets columns of its own: `df` keeps the
 * value, and what the chart lacks is said. `places`: what rows are joined by, so that one without is in no group. */
function drawnOf({ columns, rows, mend, note }: Facts, numbers: readonly Column[], places: readonly Column[] = []): Drawn {
  const text = (column: Column) => columnText(column, columns);
  const isPartial = rows === Infinity;
  const moments = places.filter(({ dates }) => dates?.order === "time");
  const how = ({ dates }: Column) => (dates?.order === "time" ? dates.how : "");
  const odd = (list: readonly Column[]) => list.filter(({ isPlain }) => isPartial || !isPlain);
  const gaps = places.filter(({ hasGaps }) => isPartial || hasGaps);
  if (odd([...numbers, ...moments]).length + gaps.length === 0) {
    return { name: "df", lines: moments.map((x) => `df[${text(x)}] = pd.to_datetime(df[${text(x)}], ${how(x)})`), note };
  }
  return {
    name: "drawn",
    lines: [
      `# df keeps every value. The chart leaves out what it has no place for, and says so.`,
      `drawn = df[[${[...places, ...numbers].map(text).join(", ")}]].copy()`,
      ...moments.map((x) => `drawn[${text(x)}] = pd.to_datetime(drawn[${text(x)}], ${how(x)}, errors="coerce")`),
      ...odd(numbers).map((of) => `drawn[${text(of)}] = pd.to_numeric(drawn[${text(of)}]${mend}, errors="coerce")`),
      `lost = drawn.isna() & df[drawn.columns].notna()`,
      ...gaps.map((x) => `lost[${text(x)}] = drawn[${text(x)}].isna()`),
      `for name in drawn.columns[lost.any()]:`,
      `    some = ", ".join(map(repr, df.loc[lost[name], name].unique()[:3]))`,
      `    print(f"The chart leaves out {lost[name].sum():,} of {len(df):,} values of {name}, such as {some:.200}")`,
    ],
    note: ` + (f" (without {lost.any(axis=1).sum():,} of {len(df):,} rows)" if lost.any(axis=None) else "")${note}`,
  };
}

const HOW_WORDS = { sum: "added up", mean: "averaged" } as const;
const HOW_TITLES = { sum: "Sum of ", mean: "Mean ", each: "" } as const;

// A sum of nothing is nothing, not 0.
const HOW_CODE = { sum: "sum(min_count=1)", mean: "mean()", each: "first()" } as const;

/** One value over moments or labels. What is done with several rows of one place stands in the title, and in a comment. */
function groupLines({ type, x, split, value, how, isCertain }: Choice & { kind: "groups" }, facts: Facts): string[] {
  const { columns, rows } = facts;
  const text = (column: Column) => columnText(column, columns);
  const [at, of] = [text(x), text(value)];
  const names = { x: nameOf(x, columns) || "group", value: nameOf(value, columns) || "value", split: (split && nameOf(split, columns)) || "category" };
  const about = `${names.value} by ${names.x}${split ? ` and ${names.split}` : ""}${x.dates?.order === "time" && x.dates.isUtc ? " (UTC)" : ""}${value.isLong ? " (rounded)" : ""}`;
  const drawn = drawnOf(facts, [value], split ? [x, split] : [x]);
  const places = split ? `[${at}, ${text(split)}]` : `[${at}]`;
  const title = isCertain
    ? titleText(HOW_TITLES[how] + about)
    : `("${HOW_TITLES[how]}" if ${drawn.name}.dropna().duplicated(${places}).any() else "") + ${titleText(about)}`;
  const hint = HINT(type === "line" ? `"bar" or "area"` : `"pie" or "line"`);
  const line = (note: string) => note.replace(/\s+/g, " ").slice(0, 160);
  const several = how === "each" ? [] : [line(`# Rows of one ${visible(names.x)}${split ? ` and ${visible(names.split)}` : ""} are ${HOW_WORDS[how]}; "${how === "sum" ? "mean" : "sum"}" does the other.`)];
  const count = rows === Infinity ? Infinity : x.distinct;
  if (split) {
    const part = partOf("groups", `tail(${POINTS_MAX})`, "last", count > POINTS_MAX);
    return [
      ...drawn.lines,
      ...several,
      `groups = ${drawn.name}.groupby(${places})[${of}].${HOW_CODE[how]}.unstack().rename(columns=str)`,
      ...part.lines,
      "",
      hint,
      ...chartOf(type, title, at, `list(groups.columns)`, `${part.name}.reset_index()`, part.note + drawn.note),
    ];
  }
  const inOrder = x.dates?.order === "file" ? ", sort=False" : "";
  const some = type === "line" ? `dropna(subset=[${at}])` : "dropna()"; // a moment without a value is a gap
  const all = how === "each" ? `${drawn.name}[[${at}, ${of}]].${some}` : `${drawn.name}.groupby(${at}${inOrder})[[${of}]].${HOW_CODE[how]}.reset_index()`;
  const largest = `nlargest(${BARS_MAX}, ${of})`;
  const part = type === "line" ? partOf("groups", `tail(${POINTS_MAX})`, "last", count > POINTS_MAX) : partOf("groups", largest, "largest", count > BARS_MAX);
  const order = type === "line" ? (how === "each" && !inOrder ? `.sort_values(${at})` : "") : part.note ? "" : `.${largest}`;
  return [
    ...drawn.lines,
    ...several,
    `groups = ${all}${order}`,
    ...part.lines,
    "",
    hint,
    ...chartOf(type, title, at, `[${of}]`, part.name, part.note + drawn.note),
  ];
}

function chartLines(choice: Choice, facts: Facts): string[] {
  const { columns, rows } = facts;
  const text = (column: Column) => columnText(column, columns);

  switch (choice.kind) {
    case "groups":
      return groupLines(choice, facts);
    case "points": {
      const x = text(choice.x);
      const values = choice.values.map(text);
      const drawn = drawnOf(facts, [choice.x, ...choice.values]);
      const part = partOf("points", `head(${POINTS_MAX})`, "first", rows > POINTS_MAX);
      return [
        ...drawn.lines,
        `points = ${drawn.name}[[${[x, ...values].join(", ")}]].dropna()`,
        ...part.lines,
        "",
        HINT(`"line" or "bar"`),
        ...chartOf("scatter", titleText(`${nameOf(choice.values[0]!, columns) || "value"} against ${nameOf(choice.x, columns) || "the first column"}`), x, `[${values.join(", ")}]`, part.name, part.note + drawn.note),
      ];
    }
    case "counts": {
      const part = partOf("counts", `head(${BARS_MAX})`, "most frequent", (rows === Infinity ? Infinity : choice.x.distinct + 1) > BARS_MAX);
      return [
        `counts = df[${text(choice.x)}].astype(str).str.slice(0, 60).value_counts()`,
        `counts = counts.rename_axis("value").reset_index(name="rows")`,
        ...part.lines,
        "",
        HINT(`"pie" or "line"`),
        ...chartOf("bar", titleText(`Rows by ${nameOf(choice.x, columns) || "value"}`), `"value"`, `["rows"]`, part.name, part.note + facts.note),
      ];
    }
    case "rows": {
      const values = choice.values.map(text);
      const drawn = drawnOf(facts, choice.values);
      const part = partOf("points", `head(${POINTS_MAX})`, "first", rows > POINTS_MAX);
      return [
        ...drawn.lines,
        `points = ${drawn.name}[[${values.join(", ")}]].rename_axis("row").reset_index()`,
        ...part.lines,
        "",
        HINT(`"bar" or "area"`),
        ...chartOf("line", titleText(nameOf(choice.values[0]!, columns) || "value"), `"row"`, `[${values.join(", ")}]`, part.name, part.note + drawn.note),
      ];
    }
  }
}

/** The first rows only: the chart comes below them, and is what people wait for. The panel has all rows of `df`. */
function showLine(count: number): string {
  return count > WIDE ? `df.iloc[:${ROWS_FIRST}, :${WIDE}]` : `df.head(${ROWS_FIRST})`;
}

const COMMA_NUMBER = /^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+),\d+$/;
const GROUPED = /^[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?$/;
const POINT_NUMBER = /^[+-]?\d*\.\d+$/;

interface Pointed {
  sheet: Sheet; // with points before the decimals, and none between thousands
  isGrouped: boolean;
}

/** "1,5" is a number where fields are divided by something else, and so is "1.234,5" where no field says "1.5". */
function withPoints(sheet: Sheet): Pointed | null {
  const fields = sheet.rows.flat();
  if (sheet.delimiter === "," || !fields.some((field) => COMMA_NUMBER.test(field))) return null;
  const isGrouped = fields.some((field) => GROUPED.test(field)) && !fields.some((field) => POINT_NUMBER.test(field) && !GROUPED.test(field));
  const plain = (field: string) => {
    const whole = isGrouped && GROUPED.test(field) ? field.replaceAll(".", "") : field;
    return COMMA_NUMBER.test(whole) ? whole.replace(",", ".") : whole;
  };
  return { sheet: { ...sheet, rows: sheet.rows.map((row) => row.map(plain)) }, isGrouped };
}

/** Numbers would be made of dates and versions, where reading leaves the points of thousands out, unless they are said to be
 * texts; and of postcodes and the like, which then lose the zeros that they begin with. */
function textsOf(columns: readonly Column[], isGrouped: boolean): string[] {
  const isText = ({ kind, cells, isPlain }: Column) => hasZeros(cells) || (isGrouped && !(kind === "number" && isPlain) && cells.some((cell) => /^[+-]?[\d,]*\.[\d.,]*$/.test(cell)));
  const texts = columns.filter(isText).map(({ name }) => `${pythonText(name)}: str`);
  return texts.length === 0 ? [] : [`dtype={${texts.join(", ")}}`];
}

/** The lines that read a table. Plain letters at the beginning do not tell in which encoding the others are. */
function readLines(options: readonly string[], { text, encoding, isWhole }: Sample): string[] {
  const read = (more: readonly string[]) => `df = pd.read_csv(${[...options, ...more].join(", ")})`;
  if (encoding !== "utf-8") return [read([`encoding="${encoding}"`])];
  if (isWhole || /[\u0080-\uffff]/.test(text)) return [read([])];
  return [`try:`, `    ${read([])}`, `except UnicodeDecodeError:`, `    ${read([`encoding="latin-1"`])}`];
}

/** The sheet as pandas reads it, and what to add where rows are longer than the header: pandas then takes their first fields
 * for the index. R writes the names of rows so. A delimiter at the end of lines does not mean that, nor do rows of any length. */
function aligned(sheet: Sheet): { sheet: Sheet; options: string[]; comment: string[] } {
  const { columns, rows } = sheet;
  const width = rows[0]?.length ?? 0;
  if (width <= columns.length) return { sheet, options: [], comment: [] };
  const isNamed = rows.every((row) => row.length === width) && rows.some((row) => row.slice(columns.length).some((field) => field.trim() !== ""));
  if (!isNamed) return { sheet, options: ["index_col=False"], comment: ["# Rows have more fields than the header. With index_col=False, the first ones stand under the names."] };
  const named = { ...sheet, isRagged: false, rows: rows.map((row) => row.slice(width - columns.length)) };
  return { sheet: named, options: [], comment: ["# Rows have more fields than the header, so pandas takes the first for the index. index_col=False would not."] };
}

function csvCell(path: string, sample: Sample): string | null {
  if (sample.text.trim() === "") return null;
  const { sheet, ...longer } = aligned(parseSheet(sample.text, sample.isWhole, { columns: 20_000, rows: Infinity, field: 200 }));
  const pointed = withPoints(sheet);
  const columns = columnsOf(pointed?.sheet ?? sheet, sheet);
  const choice = choose(columns, !sample.isWhole);
  const isLarge = sample.size > LARGE_BYTES;
  const options = [pythonText(path), ...longer.options];
  if (sheet.delimiter !== ",") options.push(`sep=${pythonText(sheet.delimiter)}`);
  if (pointed) options.push(`decimal=","`);
  if (pointed?.isGrouped) options.push(`thousands="."`);
  options.push(...textsOf(columns, pointed?.isGrouped ?? false));
  if (!sample.isWhole || sheet.isRagged) options.push(`on_bad_lines="warn"`);
  // Else pandas reads numbers in one part of such a column, and texts in another.
  if (!sample.isWhole || (sample.size > CHUNK_BYTES && columns.some(({ isMixed }) => isMixed))) options.push("low_memory=False");
  if (isLarge) options.push(`nrows=${ROWS_MAX_TEXT}`);
  const facts: Facts = {
    columns,
    rows: sample.isWhole ? sheet.rows.length : Infinity,
    mend: pointed?.isGrouped ? `.replace({r"\\.(?=\\d{3}(\\D|$))": "", ",": "."}, regex=True)` : pointed ? `.replace(",", ".", regex=True)` : "",
    note: isLarge ? ` + (" (first ${ROWS_MAX.toLocaleString("en-US")} rows)" if len(df) == ${ROWS_MAX_TEXT} else "")` : "",
  };
  return [
    `import pandas as pd`,
    ``,
    ...(isLarge ? [`# A large file: its first rows, so that they fit the sandbox's memory.`] : []),
    ...longer.comment,
    ...readLines(options, sample),
    ...(choice && sheet.rows.length > 0 ? chartLines(choice, facts) : []),
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
    Array.isArray(list) && list.length > 0 && list.every(isRow);
  if (isRows(value)) return { rows: value, member: null };
  if (!isRow(value)) return null;
  const found = Object.entries(value as Record<string, unknown>).find(([, list]) => isRows(list));
  return found ? { rows: found[1] as Record<string, unknown>[], member: found[0] } : null;
}

function jsonColumns(rows: readonly Record<string, unknown>[]): Column[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row).slice(0, 20_000)))].slice(0, 20_000);
  const isPlain = (value: unknown) => value === undefined || value === null || ["string", "number", "boolean"].includes(typeof value);
  const columns = names.filter((name) => rows.every((row) => isPlain(row[name])));
  const cells = rows.map((row) => columns.map((name) => (row[name] === undefined || row[name] === null ? "" : String(row[name]))));
  return valueColumns({ columns, rows: cells, delimiter: ",", isRagged: false, isCut: false }, (row, name) => rows[row]![name]);
}

/** Columns that are known by name only: the table may have others in between. */
function named(columns: readonly Column[]): Column[] {
  return columns.filter((column) => column.name.trim() === column.name && column.name !== "" && column.name.length <= 80);
}

function jsonCell(path: string, sample: Sample, form: Form): string {
  const read = `open(${pythonText(path)}, encoding="utf-8")`;
  const lines = form === "jsonl" ? sample.text.split("\n").filter((line) => line.trim() !== "") : [];
  if (form === "jsonl" && !sample.isWhole) lines.pop();
  const found = jsonRows(form === "jsonl" ? `[${lines.join(",")}]` : sample.text);
  if (form === "json" && !found) {
    // Its contents are not known here, so the code shows them.
    return [`import json`, ``, `with ${read} as file:`, `    data = json.load(file)`, `data`].join("\n");
  }
  const columns = found ? named(jsonColumns(found.rows)) : [];
  const choice = choose(columns, !sample.isWhole);
  const facts: Facts = { columns, rows: sample.isWhole && found ? found.rows.length : Infinity, mend: "", note: "" };
  const load =
    form === "jsonl"
      ? [`import pandas as pd`, ``, `df = pd.read_json(${pythonText(path)}, lines=True${columns.some(({ dates }) => dates) ? ", convert_dates=False" : ""})`]
      : [
          `import json`,
          `import pandas as pd`,
          ``,
          `with ${read} as file:`,
          `    data = json.load(file)`,
          `df = pd.DataFrame(data${found!.member === null ? "" : `[${pythonText(found!.member)}]`})`,
        ];
  return [...load, ...(choice ? chartLines(choice, facts) : []), showLine(columns.length)].join("\n");
}

/** The first cell for a workbook, of which nothing is known here but that it is one; null for other files. */
export function workbookCell(path: string): string | null {
  if (!/\.xls[xm]$/i.test(path)) return null;
  return [
    `import pandas as pd`,
    ``,
    `# The first sheet; sheet_name="..." reads another one.`,
    `df = pd.read_excel(${pythonText(path)})`,
    `df.head(${ROWS_FIRST})`,
  ].join("\n");
}

/** The code of the first cell for this file, or null when it has none. `path` is relative to /workspace. */
export function starterCell(path: string, sample: Sample): string | null {
  const form = formOf(path);
  if (form === "csv") return csvCell(path, sample);
  if (form === "json" || form === "jsonl") return jsonCell(path, sample, form);
  return null;
}
