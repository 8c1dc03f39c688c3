// SPDX-License-Identifier: Apache-2.0
// The small tables of the status page, with the page's own rules.
import { cleanup, render, screen } from "@testing-library/preact";
import { readFileSync } from "node:fs";
import { afterEach, expect, it, vi } from "vitest";
import * as calls from "../../src/api/calls";
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
