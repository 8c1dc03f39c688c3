// SPDX-License-Identifier: Apache-2.0
// A conversation as a notebook (nbformat 4.5), with what its cells showed. Reading one is in ipynb_read.ts.
import { untyped } from "../output/ansi";
import type { Item, Output } from "../output/model";
import { titleOfKind } from "../output/verdict";
import type { Cell, Conversation } from "../state/conversation";
import { CHART, FIGURE, isJsonMime, PLOTLY, TABLE } from "./mime";

export { fromNotebook, type Notebook } from "./ipynb_read";

const ROWS_SHOWN = 100; // of a table, for those who do not know ours
const MIME = /^[a-zA-Z0-9]+\/[a-zA-Z0-9.+-]+$/;

type Json = Record<string, unknown>;

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

/** Lines with their ends, as notebooks keep text so that a diff can be read. */
export function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

const escaped = (value: unknown) =>
  String(value ?? "").replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]!);

function tableBundle(table: unknown): Json {
  const columns = isRecord(table) && Array.isArray(table["columns"]) ? table["columns"] : [];
  const rows = isRecord(table) && Array.isArray(table["rows"]) ? table["rows"].filter(Array.isArray) : [];
  const shown = rows.slice(0, ROWS_SHOWN) as unknown[][];
  const row = (cells: unknown[], tag: "th" | "td") => `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join("")}</tr>`;
  const html = `<table>${row(columns, "th")}${shown.map((cells) => row(cells, "td")).join("")}</table>`;
  const plain = [columns, ...shown].map((cells) => cells.map(String).join("\t")).join("\n");
  return { [TABLE]: table ?? null, "text/html": linesOf(html), "text/plain": linesOf(plain) };
}

function chartBundle(chart: unknown): Json {
  if (!isRecord(chart)) return { "text/plain": "[chart]" };
  if (chart["kind"] === "plotly") return { [PLOTLY]: chart["figure"] ?? null, "text/plain": "[chart]" };
  if (chart["kind"] !== "image") return { [CHART]: chart["spec"] ?? null, "text/plain": "[chart]" };
  const mime = typeof chart["mime"] === "string" && MIME.test(chart["mime"]) ? chart["mime"] : "image/png";
  const twin = chart["data"] === undefined || chart["data"] === null ? {} : { [FIGURE]: chart["data"] };
  return { [mime]: String(chart["base64"] ?? ""), ...twin, "text/plain": "[figure]" };
}

/** Values as a notebook may have them: text as lines, JSON as it is. */
function bundleOf(bundle: Json): Json {
  const entries = Object.entries(bundle).filter(([mime]) => MIME.test(mime));
  return Object.fromEntries(entries.map(([mime, value]) => {
    if (isJsonMime(mime)) return [mime, value];
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return [mime, mime.startsWith("image/") && mime !== "image/svg+xml" ? text : linesOf(text)];
  }));
}

function streams(output: Output, first: number, count: number): Json[] {
  const found: { output_type: "stream"; name: string; text: string[] }[] = [];
  for (const line of output.lines.slice(first, first + count)) {
    if (found.at(-1)?.name !== line.stream) found.push({ output_type: "stream", name: line.stream, text: [] });
    found.at(-1)!.text.push(`${untyped(line.text)}\n`);
  }
  return found;
}

function outputsOf(output: Output, item: Item, count: number): Json[] {
  const display = (data: Json): Json[] => [{ output_type: "display_data", data, metadata: {} }];
  switch (item.kind) {
    case "text":
      return streams(output, item.first, item.count);
    case "display":
      return display(bundleOf(item.bundle));
    case "result":
      return [{ output_type: "execute_result", execution_count: count, data: bundleOf(item.bundle), metadata: {} }];
    case "chart":
      return display(chartBundle(item.chart));
    case "table":
      return display(tableBundle(item.table));
    case "error": {
      const { type, message, traceback } = item.error;
      return [{ output_type: "error", ename: type, evalue: message, traceback: traceback.replace(/\n$/, "").split("\n") }];
    }
    case "notice":
      return [{ output_type: "stream", name: "stderr", text: [`[${item.text}]\n`] }];
  }
}

/** How a run ended that left no error of its own: killed, out of memory, stopped. */
function endOf({ ending, items }: Output): Json[] {
  if (!ending || ending.verdict.kind === "ok" || items.some(({ kind }) => kind === "error")) return [];
  const { kind, message } = ending.verdict;
  const title = titleOfKind(kind);
  const undone = ending.state === "rolled_back" ? " Rolled back: what it set is not in the session." : "";
  return [{ output_type: "error", ename: title, evalue: message, traceback: [`${title}: ${message}${undone}`] }];
}

function cellOf(cell: Cell, number: number): Json {
  const source = linesOf(cell.source.peek());
  if (cell.kind.peek() === "note") return { cell_type: "markdown", id: cell.id, metadata: {}, source };
  const output = cell.output.peek();
  return {
    cell_type: "code",
    id: cell.id,
    metadata: {},
    execution_count: output?.items.length || output?.isOver ? number : null,
    source,
    outputs: output ? [...output.items.flatMap((item) => outputsOf(output, item, number)), ...endOf(output)] : [],
  };
}

export function toNotebook(conversation: Conversation): string {
  let number = 0;
  const cells = conversation.cells.peek().map((cell) => cellOf(cell, cell.kind.peek() === "code" ? ++number : 0));
  const metadata = {
    title: conversation.name.peek(),
    kernelspec: { name: "python3", display_name: "Python 3", language: "python" },
    language_info: { name: "python", file_extension: ".py", mimetype: "text/x-python" },
  };
  return `${JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 5 }, null, 1)}\n`;
}
