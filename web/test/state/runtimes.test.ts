// SPDX-License-Identifier: Apache-2.0
import { afterEach, expect, it, vi } from "vitest";
import * as calls from "../../src/api/calls";
import type { Status } from "../../src/api/types";
import { runtimesWith } from "../../src/state/runtimes";

afterEach(() => void vi.restoreAllMocks());

it("names the runtimes that have a module, by what they loaded and by their packages", async () => {
  const installed: Record<string, string[]> = { base: ["scikit_learn"], full: ["Scikit-Learn", "torch"], bare: [], broken: ["torch"] };
  const runtimes = Object.keys(installed).map((name) => ({ name, preload: name === "bare" ? ["sklearn"] : [] }));
  vi.spyOn(calls, "status").mockResolvedValue({ runtimes } as Partial<Status> as Status);
  vi.spyOn(calls, "packages").mockImplementation((name = "") => name === "broken"
    ? Promise.reject(new Error("no such folder"))
    : Promise.resolve({ packages: installed[name]!.map((one) => ({ name: one, version: "1" })) }));
  expect(await runtimesWith("sklearn", "base", undefined)).toEqual(["full", "bare"]);
  expect(await runtimesWith("torch", "base", undefined)).toEqual(["full"]);
  expect(await runtimesWith("torch", "base", { name: "default", runtimes: ["base", "bare"] })).toEqual([]);
  expect(await runtimesWith("constructor", "base", undefined)).toEqual([]);
});
