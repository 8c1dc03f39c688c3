// SPDX-License-Identifier: Apache-2.0
// The dialog of limits: every choice says what sets it apart.
import { cleanup, render, screen, waitFor, within } from "@testing-library/preact";
import { afterEach, expect, it, vi } from "vitest";
import * as calls from "../../src/api/calls";
import type { Status } from "../../src/api/types";
import { askLimits, LimitsDialog } from "../../src/shell/limits";
import { policies } from "../../src/state/policies";
import { conversationOf } from "../cells/parts";

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

it("tells policies apart by time, memory and checks, and runtimes by what they have", async () => {
  const plain = { timeout_ms: 30_000, timeout_max_ms: 120_000, memory: 512 * 2 ** 20, guard: { enabled: false } };
  policies.value = [
    { name: "default", ...plain }, { name: "analysis", ...plain, guard: { enabled: true } },
    { name: "conversation", ...plain, timeout_ms: 60_000, timeout_max_ms: 60_000 }, { name: "asked", ...plain, approve: true },
  ];
  const runtimes = [{ name: "bare", preload: [] }, { name: "base", preload: ["numpy", "pandas"] }, { name: "full", preload: ["a", "b", "c", "d", "e", "f"] }];
  vi.spyOn(calls, "status").mockResolvedValue({ runtimes } as unknown as Status);
  askLimits(conversationOf([]));
  render(<LimitsDialog />);
  const labels = (name: string) => within(screen.getByLabelText(name)).getAllByRole("option").map((option) => option.textContent);
  expect(labels("Policy")).toEqual([
    "The default: 512 MiB, runs of 30 s, up to 2 min when asked",
    "default: 512 MiB, runs of 30 s, up to 2 min when asked",
    "analysis: 512 MiB, runs of 30 s, up to 2 min when asked, imports are checked first",
    "conversation: 512 MiB, runs of 1 min",
    "asked: 512 MiB, runs of 30 s, up to 2 min when asked, a person allows each run",
  ]);
  expect(screen.getByText(/The policy default: 512 MiB, runs of 30 s, up to 2 min when asked\.$/)).toBeTruthy();
  await waitFor(() => expect(labels("Runtime").slice(1)).toEqual([
    "bare: plain Python, imports load when asked for",
    "base: numpy, pandas loaded already",
    "full: a, b, c, d and 2 more loaded already",
  ]));
});
