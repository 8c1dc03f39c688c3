// SPDX-License-Identifier: Apache-2.0
// The status page: what it says, and its small tables with the page's own rules.
import { cleanup, render, screen } from "@testing-library/preact";
import { readFileSync } from "node:fs";
import { afterEach, expect, it, vi } from "vitest";
import * as calls from "../../src/api/calls";
import type { Status } from "../../src/api/types";
import { StatusPage } from "../../src/pages/status";
import { Audit } from "../../src/status/audit";

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
