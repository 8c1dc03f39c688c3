// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it, vi } from "vitest";
import { fromNotebook, toNotebook } from "../../src/cells/ipynb";
import { Output } from "../../src/output/model";
import { Cell } from "../../src/state/conversation";
import { conversationOf } from "./parts";

vi.mock("../../src/api/calls");

const notebook = (cells: unknown[], more: object = {}) => JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5, ...more });
const python = (source: unknown, outputs: unknown[] = []) => ({ cell_type: "code", metadata: {}, execution_count: null, source, outputs });
const itemsOf = (text: string) => [...fromNotebook(text).outputs.values()][0]?.items;

function shownCell(): Cell {
  const cell = new Cell({ id: "c1", kind: "code", source: "print(1)\n1", run: null });
  const output = new Output("run_a1");
  output.addText("stdout", "one\ntwo\n");
  output.addText("stderr", "careful\n");
  output.add({ kind: "display", bundle: { "text/html": "<b>x</b>", "text/plain": "x" } }, null);
  output.add({ kind: "chart", chart: { kind: "image", mime: "image/png", base64: "iVBORw0KGgo=", data: { type: "line" } } }, null);
  output.add({ kind: "chart", chart: { kind: "spec", spec: { type: "bar" } } }, null);
  output.add({ kind: "chart", chart: { kind: "plotly", figure: { data: [], layout: {} } } }, null);
  output.add({ kind: "table", table: { columns: ["a", "<b>"], rows: [[1, "<script>"]], total: 1 } }, null);
  output.add({ kind: "result", bundle: { "text/plain": "1", "application/json": 1 } }, null);
  output.add({ kind: "error", error: { type: "ValueError", message: "no", traceback: "Traceback:\nValueError: no\n", line: 1 } }, null);
  cell.output.value = output;
  return cell;
}

describe("a conversation as a notebook", () => {
  const note = new Cell({ id: "n1", kind: "note", source: "# Title\n\ntext", run: null });
  const made = JSON.parse(toNotebook(conversationOf([note, shownCell()])));

  it("has its cells in nbformat 4.5", () => {
    expect([made.nbformat, made.nbformat_minor]).toEqual([4, 5]);
    expect(made.cells[0]).toEqual({ cell_type: "markdown", id: "n1", metadata: {}, source: ["# Title\n", "\n", "text"] });
    expect(made.cells[1]).toMatchObject({ cell_type: "code", id: "c1", execution_count: 1, source: ["print(1)\n", "1"] });
  });

  it("says how a run ended that left no error of its own", () => {
    const cell = new Cell({ id: "c1", kind: "code", source: "x = 1", run: null });
    cell.output.value = new Output("run_a1");
    cell.output.value.apply({ seq: 1, t_ms: 1, type: "verdict", state: "rolled_back", verdict: { kind: "memory", message: "it needed more than 512 MiB" } } as never);
    expect(JSON.parse(toNotebook(conversationOf([cell]))).cells[0].outputs).toEqual([{
      output_type: "error", ename: "Out of memory", evalue: "it needed more than 512 MiB",
      traceback: ["Out of memory: it needed more than 512 MiB Rolled back: what it set is not in the session."],
    }]);
  });

  it("has what the cells showed, in order", () => {
    const { outputs } = made.cells[1];
    expect(outputs[0]).toEqual({ output_type: "stream", name: "stdout", text: ["one\n", "two\n"] });
    expect(outputs[1]).toEqual({ output_type: "stream", name: "stderr", text: ["careful\n"] });
    expect(outputs[3].data["image/png"]).toBe("iVBORw0KGgo=");
    expect(outputs[5].data["application/vnd.plotly.v1+json"]).toEqual({ data: [], layout: {} });
    expect(outputs[6].data["text/html"].join("")).toContain("&lt;script&gt;");
    expect(outputs[7]).toEqual({ output_type: "execute_result", execution_count: 1, metadata: {}, data: { "text/plain": ["1"], "application/json": 1 } });
    expect(outputs[8]).toEqual({ output_type: "error", ename: "ValueError", evalue: "no", traceback: ["Traceback:", "ValueError: no"] });
  });

  it("comes back as it was", () => {
    const { name, cells, outputs } = fromNotebook(JSON.stringify(made));
    expect(name).toBe("test");
    expect(cells.map(({ kind, source }) => [kind, source])).toEqual([["note", "# Title\n\ntext"], ["code", "print(1)\n1"]]);
    const output = outputs.get(cells[1]!.id)!;
    expect(output.lines.map(({ text }) => text)).toEqual(["one", "two", "careful"]);
    expect(output.items.map(({ kind }) => kind)).toEqual(["text", "display", "chart", "chart", "chart", "table", "result", "error"]);
    expect(output.items[2]).toEqual({ kind: "chart", chart: { kind: "image", mime: "image/png", base64: "iVBORw0KGgo=", data: { type: "line" } } });
  });
});

describe("reading a notebook", () => {
  it("takes source as text and as a list, and any end of line", () => {
    const { cells } = fromNotebook(notebook([python("a\nb"), python(["a\n", "b"]), python("a\r\nb")]));
    expect(cells.map(({ source }) => source)).toEqual(["a\nb", "a\nb", "a\nb"]);
    expect(new Set(cells.map(({ id }) => id)).size).toBe(3);
  });

  it("takes what Colab and VS Code write", () => {
    const colab = notebook([{ ...python(["1"]), metadata: { id: "abc", colab: { base_uri: "x" } } }], {
      nbformat_minor: 0, metadata: { colab: { name: "My colab.ipynb", provenance: [] }, kernelspec: { name: "python3" } },
    });
    expect(fromNotebook(colab).name).toBe("My colab");
    const titled = JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: { title: "Q1/Q2 of a\\b.ipynb" }, cells: [] });
    expect(fromNotebook(titled, "C:\\x/work.ipynb").name).toBe("Q1/Q2 of a\\b.ipynb");
    const code = notebook([{ ...python("1"), metadata: { vscode: { languageId: "python" } } }]);
    expect(fromNotebook(`\ufeff${code}`, "work.ipynb").name).toBe("work");
  });

  it("keeps raw text as it is, and puts pasted pictures into their notes", () => {
    const { cells } = fromNotebook(notebook([
      { cell_type: "raw", metadata: {}, source: "x ``` *y*" },
      { cell_type: "markdown", metadata: {}, source: "![p](attachment:a%20b.png)", attachments: { "a b.png": { "image/png": ["iVBO\n", "Rw0="] } } },
    ]));
    expect(cells.map(({ kind }) => kind)).toEqual(["note", "note"]);
    expect(cells[0]!.source).toBe("````\nx ``` *y*\n````");
    expect(cells[1]!.source).toBe("![p](data:image/png;base64,iVBORw0=)");
  });

  it("keeps outputs it can show, without the colours of a terminal", () => {
    const items = itemsOf(notebook([python("1", [
      { output_type: "stream", name: "stdout", text: ["a\n"] },
      { output_type: "display_data", metadata: {}, data: { "image/png": "iVBO\nRw0=\n", "text/plain": ["<fig>"] } },
      { output_type: "error", ename: "E", evalue: "v", traceback: ["\u001b[0;31mE\u001b[0m: v"] },
      { output_type: "display_data", data: { "text/html": { no: "text" } } },
      { output_type: "unknown" }, null, 7,
    ])]));
    expect(items).toEqual([
      { kind: "text", first: 0, count: 1 },
      { kind: "display", bundle: { "image/png": "iVBORw0=", "text/plain": "<fig>" } },
      { kind: "error", error: { type: "E", message: "v", traceback: "E: v\n", line: null } },
    ]);
  });

  it.each([
    ["nothing", "", /not JSON/],
    ["text", "hello", /not JSON/],
    ["a list", "[]", /another kind/],
    ["JSON of something else", "{}", /no cells/],
    ["an old notebook", JSON.stringify({ nbformat: 3, worksheets: [{ cells: [] }] }), /old format/],
    ["cells that are none", notebook([7]), /cell 1 .* not a cell/],
    ["source that is none", notebook([python({ a: 1 })]), /cell 1/],
    ["too many cells", notebook(Array.from({ length: 5001 }, () => python("1"))), /more than 5000 cells/],
    ["too much text", notebook([python("x".repeat(4 << 20))]), /3.5 MiB/],
  ])("refuses %s in words", (_what, text, why) => {
    expect(() => fromNotebook(text)).toThrow(why);
  });

  it("is not led astray by names that objects have anyway", () => {
    const text = notebook([python("1", [{ output_type: "display_data", data: { "text/plain": "x" } }])])
      .replace('"text/plain"', '"__proto__":{"text/html":"<b>"},"text/plain"');
    expect(itemsOf(text)).toEqual([{ kind: "display", bundle: { "text/plain": "x" } }]);
  });
});
