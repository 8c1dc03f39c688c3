// SPDX-License-Identifier: Apache-2.0
// The status page: what it says, and its small tables with the page's own rules.
import { cleanup, render, screen } from "@testing-library/preact";
import { readFileSync } from "node:fs";
import { afterEach, expect, it, vi } from "vitest";
import * as calls from "../../src/api/calls";
import type { Status } from "../../src/api/types";
import { StatusPage } from "../../src/pages/status";
import { Audit } from "../../src/status/audit";
import { Walls } from "../../src/status/walls";

afterEach(() => {
  cleanup();
  document.head.replaceChildren();
  vi.restoreAllMocks();
});

it("the audit log has room between its columns, heads above them, and scrolls where it is too wide", async () => {
  const style = document.createElement("style");
  style.textContent = readFileSync("src/status/status.css", "utf8").replace(/^@import.*$/m, "");
  document.head.append(style);
  vi.spyOn(calls, "auditTail").mockResolvedValue([{ time: "2026-01-05T10:00:00Z", run: "run_1", policy: "default", verdict: "ok", op: "run" }] as never);
  render(<Audit />);
  const region = await screen.findByRole("region", { name: "Audit log" });
  expect(getComputedStyle(region).overflow).toBe("auto");
  const head = getComputedStyle(screen.getByRole("columnheader", { name: "Verdict" }));
  expect(head.textAlign).toBe("left");
  expect(head.paddingLeft).toBe("10px");
  expect(getComputedStyle(screen.getByRole("cell", { name: "default" })).paddingLeft).toBe("10px");
});

it("says since when it draws: it knows nothing of before it was opened", async () => {
  const about: Partial<Status> = { version: "0.1.0", uptime_ms: 1, backend: "native", backends: [], walls: [], wall_facts: [], runtimes: [], pools: [], sandboxes: 0 };
  vi.spyOn(calls, "status").mockResolvedValue(about as Status);
  vi.spyOn(calls, "metrics").mockResolvedValue("");
  vi.spyOn(calls, "auditTail").mockResolvedValue([]);
  render(<StatusPage />);
  expect(await screen.findByText(/^Since this page was opened/)).toBeTruthy();
});

it("lists the pools with what each has and is to have, and why one has none", async () => {
  const pools = [
    { runtime: "base", memory: 512 << 20, ready: 3, coming: 1, keep: 4 },
    { runtime: "full", memory: 1 << 30, ready: 0, coming: 0, keep: 2, why: "lacks sklearn" },
  ];
  const about: Partial<Status> = { version: "0.1.0", uptime_ms: 183_900_000, backend: "native", backends: [], walls: [], wall_facts: [], runtimes: [], pools: pools as Status["pools"], sandboxes: 0 };
  vi.spyOn(calls, "status").mockResolvedValue(about as Status);
  vi.spyOn(calls, "metrics").mockResolvedValue("");
  vi.spyOn(calls, "auditTail").mockResolvedValue([]);
  render(<StatusPage />);
  const table = (await screen.findByRole("region", { name: "Sandboxes of each runtime" })).querySelector("table")!;
  const rows = [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
  expect(rows).toEqual([
    ["Runtime", "Ready", "Being made", "To keep", "Memory of each"],
    ["base", "3", "1", "4", "512 MiB"],
    ["full", "0", "0", "2", "1.0 GiB"],
  ]);
  expect(screen.getByText("full: lacks sklearn")).toBeTruthy();
  expect(screen.getByText("2 d 3 h")).toBeTruthy();
});

it("counts the walls that it lists, and tells of the ids below them", () => {
  const facts = ["user", "mount", "pid", "ids"].map((name) => ({ name, on: true, what: `${name}!`, why: null, remedy: null }));
  render(<Walls facts={facts} names={[]} />);
  expect(screen.getByText("All 3 walls stand.")).toBeTruthy();
  const [walls, below] = screen.getAllByRole("list");
  expect([...walls!.querySelectorAll("strong")].map((one) => one.textContent)).toEqual(["user", "mount", "pid"]);
  expect([...below!.querySelectorAll("strong")].map((one) => one.textContent)).toEqual(["ids"]);
});
