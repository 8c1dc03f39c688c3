// SPDX-License-Identifier: Apache-2.0
// Reads a notebook that Jupyter, Colab, VS Code or a stranger wrote. It is taken for nothing but JSON: every member is
// looked at before it is used, and what cannot be shown is left out.
import type { CellRecord } from "../api/types";
import { Output } from "../output/model";
import { newCell } from "../state/conversation";
import { IMPORTED } from "./follow";
import { CHART, FIGURE, isJsonMime, PLOTLY, TABLE } from "./mime";

export interface Notebook {
  name: string;
  cells: CellRecord[];
  outputs: Map<string, Output>; // by cell
}

const TEXT_MAX = 128 << 20; // characters of the file
const SOURCE_MAX = 3.5 * (1 << 20); // bytes of all sources: a conversation's document is at most 4 MiB
const CELLS_MAX = 5000;
const OUTPUTS_MAX = 1000; // of one cell
const PICTURE_MAX = 1 << 20; // characters of a picture that comes with a note
const NAME_MAX = 120;
const ANSI = /\u001b\[[0-9;]*[A-Za-z]/g;

type Json = Record<string, unknown>;

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const member = (value: unknown, name: string): unknown => (isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined);
const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** Text is a string, or a list of strings that belong together. */
function joined(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((part) => typeof part === "string")) return value.join("");
  return null;
}

function parsed(text: string): Json {
  if (text.length > TEXT_MAX) throw new Error("the file is larger than 128 MiB");
  let notebook: unknown;
  try {
    notebook = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    throw new Error("the file is not a notebook: it is not JSON");
  }
  if (!isRecord(notebook)) throw new Error("the file is not a notebook: it is JSON of another kind");
  if (Array.isArray(notebook["worksheets"]) || (typeof notebook["nbformat"] === "number" && notebook["nbformat"] < 4)) {
    throw new Error("the notebook is of an old format; open it in Jupyter and save it, then try again");
  }
  if (!Array.isArray(notebook["cells"])) throw new Error("the file is not a notebook: it has no cells");
  if (notebook["cells"].length > CELLS_MAX) throw new Error(`the notebook has more than ${CELLS_MAX} cells`);
  return notebook;
}

/** Pictures that were pasted into a note are kept beside it; here they go into it. */
function withPictures(source: string, attachments: unknown): string {
  return source.replace(/\]\(attachment:([^)\s]+)\)/g, (whole, name: string) => {
    const kinds = member(attachments, name) ?? member(attachments, safelyDecoded(name));
    for (const mime of ["image/png", "image/jpeg", "image/gif", "image/webp"]) {
      const base64 = joined(member(kinds, mime))?.replace(/\s/g, "");
      if (base64 && base64.length <= PICTURE_MAX && /^[A-Za-z0-9+/=]+$/.test(base64)) return `](data:${mime};base64,${base64})`;
    }
    return whole;
  });
}

function safelyDecoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Text that is neither code nor Markdown, so that it stays as it is. */
function fenced(source: string): string {
  const longest = Math.max(2, ...(source.match(/`+/g) ?? []).map((ticks) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return source.trim() === "" ? "" : `${fence}\n${source.replace(/\n$/, "")}\n${fence}`;
}

function bundleOf(data: unknown): Json {
  const bundle: Json = {};
  for (const [mime, value] of Object.entries(isRecord(data) ? data : {})) {
    const text = isJsonMime(mime) ? null : joined(value);
    if (isJsonMime(mime)) bundle[mime] = value;
    else if (text !== null) bundle[mime] = mime.startsWith("image/") && !mime.includes("svg") ? text.replace(/\s/g, "") : text;
  }
  return bundle;
}

function addBundle(output: Output, kind: "display" | "result", bundle: Json): void {
  const picture = ["image/png", "image/jpeg"].find((mime) => typeof bundle[mime] === "string");
  if (PLOTLY in bundle) output.add({ kind: "chart", chart: { kind: "plotly", figure: bundle[PLOTLY] } }, bundle);
  else if (CHART in bundle) output.add({ kind: "chart", chart: { kind: "spec", spec: bundle[CHART] } }, bundle);
  else if (TABLE in bundle) output.add({ kind: "table", table: bundle[TABLE] }, bundle);
  else if (FIGURE in bundle && picture) {
    output.add({ kind: "chart", chart: { kind: "image", mime: picture, base64: bundle[picture], data: bundle[FIGURE] } }, bundle);
  } else if (Object.keys(bundle).length > 0) output.add({ kind, bundle }, bundle);
}

function addOutput(output: Output, raw: unknown): void {
  switch (member(raw, "output_type")) {
    case "stream": {
      const text = joined(member(raw, "text"));
      if (text) output.addText(member(raw, "name") === "stderr" ? "stderr" : "stdout", text);
      break;
    }
    case "display_data":
    case "execute_result":
      addBundle(output, member(raw, "output_type") === "display_data" ? "display" : "result", bundleOf(member(raw, "data")));
      break;
    case "error": {
      const lines = member(raw, "traceback");
      const traceback = Array.isArray(lines) ? lines.filter((line) => typeof line === "string").join("\n") : "";
      const error = {
        type: textOf(member(raw, "ename")) || "Error",
        message: textOf(member(raw, "evalue")) ?? "",
        traceback: `${traceback.replace(ANSI, "")}\n`,
        line: null,
      };
      output.add({ kind: "error", error }, error);
      break;
    }
  }
}

function outputOf(raw: unknown): Output | null {
  const list = member(raw, "outputs");
  if (!Array.isArray(list) || list.length === 0) return null;
  const output = new Output(IMPORTED);
  output.isSaved = true;
  for (const one of list.slice(0, OUTPUTS_MAX)) addOutput(output, one);
  return output.items.length > 0 ? output : null;
}

function cellOf(raw: unknown, number: number): { record: CellRecord; output: Output | null } {
  const kind = member(raw, "cell_type");
  const source = joined(member(raw, "source"));
  if (typeof kind !== "string" || source === null) throw new Error(`cell ${number} of the notebook is not a cell: it has no type or no source`);
  const { id } = newCell();
  const text = source.replace(/\r\n?/g, "\n");
  if (kind === "code") {
    const output = outputOf(raw);
    return { record: { id, kind: "code", source: text, run: output ? IMPORTED : null }, output };
  }
  const note = kind === "markdown" ? withPictures(text, member(raw, "attachments")) : fenced(text);
  return { record: { id, kind: "note", source: note, run: null }, output: null };
}

function nameOf(notebook: Json, fileName: string): string {
  const title = textOf(member(notebook["metadata"], "title"))?.trim();
  const colab = textOf(member(member(notebook["metadata"], "colab"), "name"));
  const name = title || (fileName || colab || "").replace(/^.*[\\/]/, "").replace(/\.ipynb$/i, "");
  return name.replace(/\p{Cc}/gu, " ").trim().slice(0, NAME_MAX) || "Imported notebook";
}

/** The cells of a notebook and what they showed. Throws an error with a sentence for people where it is none. */
export function fromNotebook(text: string, fileName = ""): Notebook {
  const notebook = parsed(text);
  const outputs = new Map<string, Output>();
  const cells = (notebook["cells"] as unknown[]).map((raw, i) => {
    const { record, output } = cellOf(raw, i + 1);
    if (output) outputs.set(record.id, output);
    return record;
  });
  const bytes = new TextEncoder().encode(JSON.stringify(cells)).length;
  if (bytes > SOURCE_MAX) throw new Error("the notebook's text is larger than the 3.5 MiB that a conversation can hold");
  return { name: nameOf(notebook, fileName), cells, outputs };
}
