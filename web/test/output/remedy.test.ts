// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { Verdict } from "../../src/api/types";
import { tellVerdict } from "../../src/output/verdict";

const verdict = (part: Partial<Verdict>): Verdict => ({
  kind: "timeout", exit_code: 124, signal: null, message: "", remedy: "raise timeout_ms", remedy_key: null, limit: null, peak: null, by: "supervisor", ...part,
});

test("a remedy is in the page's own words", () => {
  const told = tellVerdict(verdict({ remedy_key: "timeout", remedy_detail: "x" }));
  expect(told.remedy).toBe("Give the cell more time (up to x here), or do less in one cell.");
});

test("a time is said as everywhere on the page", () => {
  for (const [detail, text] of [["120s", "2 min"], ["90s", "1 min 30 s"], ["1500ms", "1.5 s"], ["1h", "1 h"], ["30s", "30 s"]] as const) {
    expect(tellVerdict(verdict({ remedy_key: "timeout", remedy_detail: detail })).remedy).toContain(`(up to ${text} here)`);
    expect(tellVerdict(verdict({ remedy_key: "timeout_max", remedy_detail: detail })).remedy).toContain(`no more than ${text}.`);
  }
});

test("what to use in place of a runtime without a module is named", () => {
  expect(tellVerdict(verdict({ remedy_key: "module", remedy_detail: "torch" })).remedy)
    .toBe("torch is not in this runtime. Use a runtime that has it, or ask whoever runs this server for one.");
});

test("no remedy on the page names a flag, a field or a route", () => {
  const keys = ["timeout", "timeout_max", "memory", "output", "disk", "disk_inputs", "crash", "syscall", "backend", "again", "remote", "denied", "guard",
    "module", "stdin", "no_data", "fresh", "damaged", "descriptors", "network", "read_only"];
  for (const key of keys) {
    const { remedy } = tellVerdict(verdict({ remedy_key: key, remedy_detail: "x", remedy: "viv run --flag" }));
    expect(remedy, key).not.toMatch(/--|viv |_ms|limits\.|GET |\/v1\//);
    expect(remedy, key).not.toBe("");
  }
});

test("a run that ended with its daemon is not said to be cancelled by somebody", () => {
  const cancelled = { kind: "cancelled" as const, message: "the daemon was stopped before the run had ended" };
  const told = tellVerdict(verdict({ ...cancelled, remedy_key: "again", remedy: "run it again" }));
  expect(told).toMatchObject({ title: "Stopped", sentence: "The server was stopped before the run had ended.", message: "", remedy: "Run it again." });
  expect(tellVerdict(verdict({ ...cancelled, message: "cancelled", remedy_key: null })).title).toBe("Cancelled");
});

test("a held run whose daemon ended is not said to be denied by somebody", () => {
  const denied = { kind: "denied" as const, message: "the daemon ended before the held run began; nothing ran" };
  const told = tellVerdict(verdict({ ...denied, remedy_key: "again", remedy: "run it again" }));
  expect(told).toMatchObject({ title: "Not run", message: "", remedy: "Run it again." });
  expect(tellVerdict(verdict({ ...denied, remedy_key: "denied" })).title).toBe("Denied");
});

test("out of memory says what else takes it", () => {
  expect(tellVerdict(verdict({ remedy_key: "memory" })).remedy).toContain("files in /workspace and /tmp count, too");
});

test("a key that is not known here shows the daemon's words", () => {
  expect(tellVerdict(verdict({ remedy_key: "constructor" })).remedy).toBe("raise timeout_ms");
  expect(tellVerdict(verdict({})).remedy).toBe("raise timeout_ms");
});
