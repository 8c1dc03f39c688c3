// SPDX-License-Identifier: Apache-2.0
// Allowing is a deliberate act: these are the accidents that must not allow anything.
import { act, cleanup, fireEvent, render, screen } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { HeldRun } from "../../src/api/types";
import { ARM_MS, HeldCard } from "../../src/agents/card";
import { cards, type Card } from "../../src/agents/held";
import { Asks } from "../../src/ui";

const calls = vi.hoisted(() => ({ allowRun: vi.fn(), denyRun: vi.fn(), runCode: vi.fn(), listHeld: vi.fn(), status: vi.fn() }));
vi.mock("../../src/api/calls", () => calls);

const run: HeldRun = {
  id: "run_a", session: null, op: "run", policy: "careful", runtime: "base", begun_ms: 0, events: 0, state: "held", line: "print(1)",
  who: { token: "alice", via: "mcp", client: "robot", peer: "127.0.0.1" }, verdict: null, code: "print(1)\n", code_size: 9,
  held_ms: 0, until_ms: Date.now() + 600_000,
};

function show(more: Partial<HeldRun> = {}) {
  const card: Card = { run: { ...run, ...more }, seenMs: 0, fate: "held" };
  cards.value = [card];
  return render(<><HeldCard card={card} mayDecide /><Asks /></>);
}
const allowButton = () => screen.getByRole<HTMLButtonElement>("button", { name: "Allow print(1)" });
const wait = (ms: number) => act(async () => void (await vi.advanceTimersByTimeAsync(ms)));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"] });
  HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) { this.open = true; };
  for (const call of Object.values(calls)) call.mockReset();
  calls.allowRun.mockResolvedValue({});
  calls.denyRun.mockResolvedValue({});
  calls.listHeld.mockResolvedValue({ held: [] });
  calls.status.mockResolvedValue({ approve: { needs: "nothing", may: true } });
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

describe("a card", () => {
  it("says who asks, under which policy, and shows the code", () => {
    show();
    expect(screen.getByText("“robot”")).toBeTruthy();
    expect(screen.getByText("token alice")).toBeTruthy();
    expect(screen.getByText("careful")).toBeTruthy();
    expect(screen.getByRole("group", { name: "Code of print(1)" }).textContent).toContain("print(1)");
  });

  it("cannot be allowed at once, and can after a moment", async () => {
    show();
    await wait(ARM_MS / 2);
    expect(allowButton().disabled).toBe(true);
    await wait(ARM_MS);
    expect(allowButton().disabled).toBe(false);
    fireEvent.pointerDown(allowButton());
    fireEvent.click(allowButton(), { detail: 1 });
    expect(calls.allowRun).toHaveBeenCalledWith("run_a");
  });

  it("is not allowed by a press that began elsewhere, or before the button was armed", async () => {
    show();
    fireEvent.pointerDown(allowButton());
    await wait(ARM_MS * 2);
    fireEvent.click(allowButton(), { detail: 1 });
    expect(calls.allowRun).not.toHaveBeenCalled();
  });

  it("is not allowed by a key alone: that asks once more", async () => {
    show();
    await wait(ARM_MS * 2);
    fireEvent.click(allowButton(), { detail: 0 });
    await wait(0);
    expect(calls.allowRun).not.toHaveBeenCalled();
    expect(screen.getByText("Allow this run?")).toBeTruthy();
  });

  it("waits for the whole code where the list has only its beginning", async () => {
    let tell: (code: string) => void = () => {};
    calls.runCode.mockReturnValue(new Promise<string>((resolve) => (tell = resolve)));
    show({ code: "print(1)\n", code_size: 100_000 });
    await wait(ARM_MS * 3);
    expect(allowButton().disabled).toBe(true);
    tell("print(1)\nimport os\n");
    await wait(0);
    await wait(ARM_MS * 2);
    expect(screen.getByRole("group", { name: "Code of print(1)" }).textContent).toContain("import os");
    expect(allowButton().disabled).toBe(false);
  });

  it("cannot be allowed when the rest of the code cannot be read", async () => {
    calls.runCode.mockRejectedValue(new Error("gone"));
    show({ code_size: 100_000 });
    await wait(ARM_MS * 3);
    expect(screen.getByText(/cannot be shown: gone/)).toBeTruthy();
    expect(allowButton().disabled).toBe(true);
  });

  it("does not fetch code that nobody could read here, and cannot be allowed then", async () => {
    show({ code_size: 50_000_000 });
    await wait(ARM_MS * 3);
    expect(calls.runCode).not.toHaveBeenCalled();
    expect(allowButton().disabled).toBe(true);
    expect(screen.getByText(/too much to judge/)).toBeTruthy();
  });

  it("shows the rest of long code before it can be allowed", async () => {
    const code = Array.from({ length: 6000 }, (_, i) => `line_${i}`).join("\n");
    show({ code, code_size: code.length });
    await wait(ARM_MS * 3);
    expect(allowButton().disabled).toBe(true);
    fireEvent.click(screen.getByRole("button", { name: "Show all lines" }));
    await wait(0);
    await wait(ARM_MS * 2);
    expect(screen.getByRole("group", { name: "Code of print(1)" }).textContent).toContain("line_5999");
    expect(allowButton().disabled).toBe(false);
  });

  it("is denied with the reason that was given", async () => {
    show();
    fireEvent.input(screen.getByRole("textbox"), { target: { value: " not today " } });
    fireEvent.click(screen.getByRole("button", { name: "Deny print(1)" }));
    expect(calls.denyRun).toHaveBeenCalledWith("run_a", "not today");
  });

  it("shows characters that would hide what the code does", () => {
    show({ code: "x = 1 # \u202e gnihton\r\nimport os\u200b", code_size: 33 });
    const code = screen.getByRole("group", { name: "Code of print(1)" });
    expect(code.textContent).toContain("‹202e›");
    expect(code.textContent).toContain("‹200b›");
    expect(screen.getByText(/2 characters that would not be seen are/)).toBeTruthy();
  });

  it("shows markup in code, names and inputs as text", () => {
    const { container } = show({
      line: "<img src=x onerror=alert(1)>", code: "<script>alert(1)</script>", code_size: 25,
      inputs: [{ kind: "file", name: "<img src=x>", size: 5 }, { kind: 3 }, null], who: { ...run.who, client: "<b>x</b>" },
    });
    expect(container.querySelector("img, script, b")).toBeNull();
    expect(container.textContent).toContain("<script>alert(1)</script>");
    expect(container.textContent).toContain("file <img src=x>, 5 B");
  });
});
