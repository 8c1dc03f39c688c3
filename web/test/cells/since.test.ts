// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { FileEntry, RunRow } from "../../src/api/types";
import { sinceOf, workspaceOf } from "../../src/cells/since";
import { Output } from "../../src/output/model";
import { type Cell, newCell } from "../../src/state/conversation";

const file = (size: number, mtime_ms = 1005, sha256 = "aa"): FileEntry => ({ path: "/workspace/f.txt", size, mime: "text/plain", sha256, mtime_ms });
const listed = (size: number, mtime_ms: number): FileEntry => ({ path: "/workspace/f.txt", size, mtime_ms });
const row = (id: string, begun_ms: number, verdict: string | null = "ok") => ({ id, begun_ms, verdict, wall_ms: 10 }) as RunRow;

function cellOf(run: string, files: FileEntry[], mark: Cell["mark"]["value"] = null): Cell {
  const cell = newCell();
  const output = new Output(run);
  output.files = files;
  cell.output.value = output;
  cell.mark.value = mark;
  return cell;
}

describe("what became of a file since its run", () => {
  const first = cellOf("run_1", [file(3)]);
  const second = cellOf("run_2", [file(6, 2005, "bb")]);
  const rows = [row("run_2", 2000), row("run_1", 1000)]; // the latest first, as the daemon lists them
  const of = (run: string, made: FileEntry, files: FileEntry[], cells = [first, second], runs = rows, next?: string) =>
    sinceOf(workspaceOf("ses_1", runs, { files, ...(next ? { next } : {}) }), cells, run, made);
  const at = (files: FileEntry[], cells = [first, second], runs = rows, next?: string) => of("run_1", file(3), files, cells, runs, next);

  it("names the cell that changed it", () => {
    expect(at([listed(6, 2005)])).toEqual({ kind: "changed", by: 2, size: 6 });
    expect(at([listed(6, 2005)], [second, first])).toEqual({ kind: "changed", by: 1, size: 6 }); // by number, not by order of runs
    expect(of("run_2", file(6, 2005, "bb"), [listed(6, 2005)])).toBeNull();
  });

  it("names nobody where it is another still", () => {
    expect(at([listed(9, 2005)])).toEqual({ kind: "changed", by: null, size: 9 });
    expect(at([listed(6, 900_000)])).toEqual({ kind: "changed", by: null, size: 6 });
  });

  it("tells what was written again with as many bytes by its time and its sum", () => {
    expect(at([listed(3, 2005)], [first, cellOf("run_2", [file(3, 2005, "bb")])])).toEqual({ kind: "changed", by: 2, size: 3 });
    expect(at([listed(3, 2005)], [first, cellOf("run_2", [file(3, 2005, "aa")])])).toBeNull();
  });

  it.each(["undone", "apart", null] as const)("tells by the file, not by what became of the cells: %s", (mark) => {
    const cells = [first, cellOf("run_2", [file(3, 2005, "bb")], mark)];
    expect(at([listed(3, 1005)], cells)).toBeNull(); // the session went back, and its files with it
    expect(of("run_2", file(3, 2005, "bb"), [listed(3, 1005)], cells)).toEqual({ kind: "back", by: 1, size: 3 });
    expect(at([listed(3, 2005)], cells)).toEqual({ kind: "changed", by: 2, size: 3 });
  });

  it("is unsure of what was written by nobody known, and of what has no time", () => {
    expect(at([listed(3, 900_000)], [first])).toEqual({ kind: "unsure", by: null, size: 3 });
    const { mtime_ms: _, ...plain } = file(3);
    expect(of("run_1", plain, [listed(3, 1005)], [cellOf("run_1", [plain])])).toEqual({ kind: "unsure", by: null, size: 3 });
  });

  it("knows what is gone, from a list that is whole and later than the run", () => {
    expect(at([])).toEqual({ kind: "removed", by: null, size: null });
    expect(at([], [first, second], rows, "/workspace/e.txt")).toBeNull();
    expect(at([], [first, second], [row("run_1", 1000, null)])).toBeNull();
    expect(at([], [first, second], [])).toBeNull();
  });
});
