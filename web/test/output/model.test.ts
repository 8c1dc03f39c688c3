// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import type { RunEvent } from "../../src/api/types";
import { spansOf, TYPED_CLASS } from "../../src/output/ansi";
import { ITEMS_MAX, Output } from "../../src/output/model";
import { loadOutput, SAVED_MAX, saveOutput } from "../../src/output/saved";
import { tellState, tellVerdict } from "../../src/output/verdict";

const event = (seq: number, body: object) => ({ seq, t_ms: 1, ...body }) as unknown as RunEvent;
const text = (seq: number, chunk: string, type = "stdout") => event(seq, { type, text: chunk });
const verdict = (seq: number, part: object = {}) => event(seq, {
  type: "verdict", state: "preserved", walls: ["user"], truncated: {}, files: [],
  verdict: { kind: "ok", exit_code: 0, signal: null, message: "", remedy: "", limit: null, peak: null, by: "runner" },
  usage: { queue_ms: 0, wall_ms: 12, cpu_ms: 3, peak_memory: 1024, output_bytes: 2 }, ...part,
});
const gathered = (...events: RunEvent[]) => {
  const output = new Output();
  for (const one of events) output.apply(one);
  return output;
};

describe("an output", () => {
  it("gathers text between other items", () => {
    const output = gathered(text(1, "a\nb"), text(2, "c\n"), event(3, { type: "display", data: { "text/plain": "x" } }), text(4, "d\n"));
    expect(output.lines.map((line) => line.text)).toEqual(["a", "bc", "d"]);
    expect(output.items).toEqual([
      { kind: "text", first: 0, count: 2 }, { kind: "display", bundle: { "text/plain": "x" } }, { kind: "text", first: 2, count: 1 },
    ]);
  });

  it("takes every event once, however often it comes", () => {
    const output = gathered(text(1, "a\n"), text(1, "a\n"), text(2, "b\n"), text(1, "a\n"));
    expect(output.lines.length).toBe(2);
    expect(output.seq).toBe(2);
  });

  it("survives parts that are nothing of the kind", () => {
    const output = gathered(
      event(1, { type: "error", error: null }), event(2, { type: "chart", chart: 5 }), event(3, { type: "table" }),
      event(4, { type: "result", result: "x" }), event(5, { type: "file", file: { path: 1 } }), event(6, { type: "stdout", text: 7 }),
      event(7, { type: "display" }), event(8, { type: "verdict", files: "no" }),
    );
    expect(output.isOver).toBe(true);
    expect(output.files).toEqual([]);
    expect(output.ending!.verdict.kind).toBe("backend");
    expect(output.ending!.state).toBe("none");
  });

  it("is bounded in items, and says so", () => {
    const output = new Output();
    for (let seq = 1; seq <= ITEMS_MAX + 3; seq++) output.apply(event(seq, { type: "display", data: { "text/plain": "x" } }));
    expect(output.items.length).toBe(ITEMS_MAX);
    expect(output.leftOut).toContain("3 more results");
  });

  it("keeps the last word on files, and the ending", () => {
    const file = { path: "/workspace/a", size: 3, mime: "text/plain" };
    const output = gathered(event(1, { type: "file", file }), verdict(2, { files: [file, { path: 5 }], checkpoint: { id: "cp_1" } }));
    expect(output.files).toEqual([file]);
    expect(output.ending!.checkpoint).toBe("cp_1");
    expect(gathered(verdict(1, { checkpoint: { skipped: "thread", last: null } })).ending!.skipped).toBe("thread");
  });
});

describe("what was typed", () => {
  const asked = (typed: string) => gathered(text(1, "who? "), event(2, { type: "stdin", text: typed }), text(3, "hello\n"), verdict(4));
  const spans = (output: Output) => output.lines.map((line) => spansOf(line.text));

  it("stands behind its prompt, marked, and ends its line", () => {
    expect(spans(asked("Ada\n"))).toEqual([
      [{ text: "who? ", classes: "" }, { text: "Ada", classes: TYPED_CLASS }], [{ text: "hello", classes: "" }],
    ]);
  });

  it("goes on in the line of a prompt on stderr", () => {
    const output = gathered(text(1, "(Pdb) ", "stderr"), event(2, { type: "stdin", text: "c\n" }), text(3, "on\n"));
    expect(output.lines.map(({ stream }) => stream)).toEqual(["stderr", "stdout"]);
  });

  it("is kept with the output", () => {
    const before = asked("Ada\n");
    expect(spans(loadOutput(JSON.parse(saveOutput(before))))).toEqual(spans(before));
  });

  it("has no colours and no movements of its own, and several lines stay several", () => {
    expect(spans(asked("\x1b[31mA\x0fda\r\x1b[2K\nBob\n"))).toEqual([
      [{ text: "who? ", classes: "" }, { text: "Ada", classes: TYPED_CLASS }], [{ text: "Bob", classes: TYPED_CLASS }],
      [{ text: "hello", classes: "" }],
    ]);
  });

  it("is nothing that code can print", () => {
    expect(spans(gathered(text(1, "sure? \x0eyes\x0f\n")))).toEqual([[{ text: "sure? yes", classes: "" }]]);
  });
});

describe("what is kept of an output", () => {
  const whole = () => gathered(
    event(1, { type: "started", run: "run_abc", backend: "n", runtime: "base" }), text(2, "a\nb\n"), text(3, "err\n", "stderr"),
    event(4, { type: "result", result: { "text/plain": "42" } }), event(5, { type: "chart", chart: { kind: "spec", spec: {} } }),
    event(6, { type: "error", error: { type: "E", message: "m", traceback: "t", line: 3 } }),
    verdict(7, { state: "rolled_back", checkpoint: { id: "cp_9" }, files: [{ path: "/workspace/f", size: 1, mime: "text/csv" }] }),
  );

  it("comes back as it was", () => {
    const before = whole();
    const after = loadOutput(JSON.parse(saveOutput(before)));
    expect(after.items).toEqual(before.items);
    expect(after.lines).toEqual(before.lines);
    expect(after.files).toEqual(before.files);
    expect(after.ending).toEqual(before.ending);
    expect(after.run).toBe("run_abc");
    expect(after.seq).toBe(7);
    expect(after.isSaved).toBe(true);
  });

  it("never exceeds its size, and says what is missing", () => {
    const output = new Output();
    let seq = 1;
    for (let i = 0; i < 60; i++) output.apply(text(seq++, `${"ü".repeat(50)} ${i}\n`.repeat(2000)));
    output.apply(event(seq++, { type: "chart", chart: { kind: "image", base64: "A".repeat(4_000_000) } }));
    output.apply(event(seq++, { type: "display", data: { "text/plain": "small" } }));
    output.apply(text(seq++, "z".repeat(9_000_000)));
    output.apply(verdict(seq++));
    const json = saveOutput(output);
    expect(new TextEncoder().encode(json).length).toBeLessThanOrEqual(SAVED_MAX);
    const after = loadOutput(JSON.parse(json));
    expect(after.lines.some((line) => line.text.includes("lines were not kept"))).toBe(true);
    expect(after.lines[0]!.text).toContain("ü");
    expect(after.items.find((item) => item.kind === "notice")).toMatchObject({ text: expect.stringContaining("too large") });
    expect(after.items.some((item) => item.kind === "display")).toBe(true);
    expect(after.isOver).toBe(true);
  });

  it("cuts a line that is too long instead of losing it", () => {
    const after = loadOutput(JSON.parse(saveOutput(gathered(text(1, "z".repeat(5_000_000) + "\n")))));
    expect(after.lines[0]!.text.startsWith("zzzz")).toBe(true);
  });

  it("is read without trust", () => {
    for (const saved of [null, 5, "x", [], {}, { format: 1, items: 7 }, { format: 1, items: [null, { kind: "text", parts: [[1], "x", ["stdout", 5]] }, { kind: "result", bundle: 5 }, { kind: "nope" }] }]) {
      expect(() => loadOutput(saved)).not.toThrow();
    }
    expect(loadOutput({ format: 1, run: "../../etc", items: [] }).run).toBeNull();
    expect(loadOutput({ format: 2 }).items[0]).toMatchObject({ kind: "notice" });
  });

  it("gives up on what is too deep, not on the rest", () => {
    let deep: unknown = [];
    for (let i = 0; i < 100_000; i++) deep = [deep];
    const output = gathered(event(1, { type: "result", result: { "application/json": deep } }), text(2, "after\n"));
    const after = loadOutput(JSON.parse(saveOutput(output)));
    expect(after.lines.map((line) => line.text)).toEqual(["after"]);
  });
});

describe("verdicts", () => {
  const told = (part: object) => tellVerdict({ kind: "ok", exit_code: 0, signal: null, message: "", remedy: "", limit: null, peak: null, by: "supervisor", ...part } as never);

  it("name the limit that was hit", () => {
    expect(told({ kind: "timeout", limit: "timeout_ms", limit_value: 700 }).sentence).toContain("700 ms");
    expect(told({ kind: "memory", limit: "memory", limit_value: 512 << 20 }).sentence).toContain("512 MiB");
    expect(told({ kind: "output" }).sentence).toContain("printed");
  });

  it("say who crashed and how", () => {
    expect(told({ kind: "killed", signal: 11 }).sentence).toContain("memory fault");
    expect(told({ kind: "killed", signal: 77 }).sentence).toContain("signal 77");
  });

  it("have words for a kind that is new, and for one that is an attack", () => {
    expect(told({ kind: "constructor", message: "hm" })).toMatchObject({ title: "Ended", message: "hm" });
    expect(told({ kind: "__proto__" }).title).toBe("Ended");
  });

  it("say once that there was too little memory, and of other memory what it was", () => {
    const full = told({ kind: "memory", limit: "memory", limit_value: 512 << 20, message: "out of memory: the limit is 512MiB, the peak was 511.0 MiB" });
    expect([full.sentence, full.message]).toEqual(["The run needed more than its limit of 512 MiB of memory and was stopped.", ""]);
    const locks = told({ kind: "memory", limit: "locks", limit_value: 1000, message: "ended: it held more than 1000 file locks" });
    expect([locks.sentence, locks.message]).toEqual(["", "ended: it held more than 1000 file locks"]);
  });

  it("tell of a roll back", () => {
    const back = { undone: ["run_2"], after: "run_1", why: "", hasFiles: true };
    expect(tellState("rolled_back", back)).toContain("went back to what they were before this run");
    expect(tellState("preserved", back)).toBe("");
    const far = { ...back, undone: ["run_2", "run_3"] };
    expect(tellState("rolled_back", far, () => 4)).toContain("variables and the files of /workspace went back to what they were after cell 4.");
    expect(tellState("rolled_back", far)).toContain("what they were before those.");
    expect(tellState("rolled_back", { ...far, after: null })).toContain("what they were when the session began.");
  });
});
