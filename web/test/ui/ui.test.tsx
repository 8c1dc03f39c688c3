// SPDX-License-Identifier: Apache-2.0
import { act, cleanup, fireEvent, render, screen } from "@testing-library/preact";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Asks, askConfirm, askText, Button, IconButton, Menu, Progress, Switch, Tabs, Toasts } from "../../src/ui";
import { IconPlus } from "../../src/ui/icons";
import { toast, toasts } from "../../src/state/toasts";

afterEach(() => {
  cleanup();
  toasts.value = [];
});

describe("buttons", () => {
  it("takes no click while it is busy", () => {
    const run = vi.fn();
    render(<Button busy onClick={run}>Save</Button>);
    const button = screen.getByRole("button", { name: "Save" });
    fireEvent.click(button);
    expect(run).not.toHaveBeenCalled();
    expect(button.getAttribute("aria-busy")).toBe("true");
  });

  it("has a name where it is only an icon", () => {
    render(<IconButton label="New conversation" keys="Alt+N" icon={IconPlus} />);
    expect(screen.getByRole("button", { name: "New conversation" }).title).toBe("New conversation (Alt+N)");
  });

  it("a switch says its state and asks for the other", () => {
    const change = vi.fn();
    render(<Switch label="Run code" checked onChange={change} />);
    const control = screen.getByRole("switch", { name: "Run code" });
    expect(control.getAttribute("aria-checked")).toBe("true");
    fireEvent.click(control);
    expect(change).toHaveBeenCalledWith(false);
  });
});

describe("menu", () => {
  const items = [
    { label: "Rename", run: vi.fn() },
    "line" as const,
    { label: "Delete", tone: "danger" as const, run: vi.fn() },
  ];

  it("opens, walks by arrow keys, runs, closes and gives the focus back", () => {
    render(<Menu label="More" items={items} />);
    const button = screen.getByRole("button", { name: "More" });
    fireEvent.click(button);
    expect(document.activeElement?.textContent).toBe("Rename");
    fireEvent.keyDown(document.activeElement!, { key: "ArrowDown" });
    expect(document.activeElement?.textContent).toBe("Delete");
    fireEvent.click(document.activeElement!);
    expect(items[2]).toHaveProperty("run.mock.calls.length", 1);
    expect(screen.queryByRole("menu")).toBeNull();
    expect(document.activeElement).toBe(button);
  });

  it("closes on Escape and on a press elsewhere", async () => {
    render(<Menu label="More" items={items} />);
    fireEvent.click(screen.getByRole("button", { name: "More" }));
    fireEvent.keyDown(document.activeElement!, { key: "Escape" });
    expect(screen.queryByRole("menu")).toBeNull();
    fireEvent.click(screen.getByRole("button", { name: "More" }));
    await act(() => {});
    fireEvent.pointerDown(document.body);
    expect(screen.queryByRole("menu")).toBeNull();
  });
});

describe("tabs", () => {
  it("changes by arrow keys, around the ends", () => {
    const change = vi.fn();
    const tabs = [{ name: "a", label: "Variables" }, { name: "b", label: "Files" }] as const;
    render(<Tabs label="Session" tabs={tabs} current="a" onChange={change}>content</Tabs>);
    fireEvent.keyDown(screen.getByRole("tab", { name: "Variables" }), { key: "ArrowLeft" });
    expect(change).toHaveBeenCalledWith("b");
    expect(screen.getByRole("tabpanel", { name: "Variables" }).textContent).toBe("content");
  });
});

describe("questions", () => {
  it("a confirmation is true for its action and false when it is called off", async () => {
    render(<Asks />);
    let asked!: Promise<boolean>;
    act(() => { asked = askConfirm({ title: "Delete?", text: "It goes.", action: "Delete", tone: "danger" }); });
    fireEvent.click(screen.getByRole("button", { name: "Delete" }));
    expect(await asked).toBe(true);
    act(() => { asked = askConfirm({ title: "Delete?", text: "It goes.", action: "Delete" }); });
    fireEvent.click(screen.getByRole("button", { name: "Cancel" }));
    expect(await asked).toBe(false);
  });

  it("a text is trimmed, and nothing is no answer", async () => {
    render(<Asks />);
    let asked!: Promise<string | null>;
    act(() => { asked = askText({ title: "Rename", label: "Name", value: "old", action: "Rename" }); });
    const input = screen.getByLabelText<HTMLInputElement>("Name");
    expect(input.value).toBe("old");
    fireEvent.input(input, { target: { value: "   " } });
    fireEvent.click(screen.getByRole("button", { name: "Rename" }));
    expect(screen.queryByLabelText("Name")).not.toBeNull();
    fireEvent.input(input, { target: { value: " new " } });
    fireEvent.keyDown(input, { key: "Enter" });
    expect(await asked).toBe("new");
  });
});

describe("toasts and progress", () => {
  it("text is text, an action runs once and closes", () => {
    const undo = vi.fn();
    render(<Toasts />);
    act(() => void toast("<img src=x onerror=alert(1)>", "info", "", { label: "Undo", run: undo }));
    expect(document.querySelector("img")).toBeNull();
    fireEvent.click(screen.getByRole("button", { name: "Undo" }));
    expect(undo).toHaveBeenCalledTimes(1);
    expect(toasts.value).toEqual([]);
  });

  it("a failure goes by itself, later than the rest, and not while it is read", () => {
    vi.useFakeTimers();
    try {
      render(<Toasts />);
      act(() => {
        toast("done", "good");
        toast("Could not do it", "bad");
      });
      act(() => void vi.advanceTimersByTime(20_000));
      expect(toasts.value.map(({ text }) => text)).toEqual(["Could not do it"]);
      const shown = screen.getByText("Could not do it").closest(".toast")!;
      fireEvent.pointerEnter(shown);
      act(() => void vi.advanceTimersByTime(600_000));
      expect(toasts.value).toHaveLength(1);
      fireEvent.pointerLeave(shown);
      fireEvent.focusIn(screen.getByRole("button", { name: "Dismiss" }));
      act(() => void vi.advanceTimersByTime(600_000));
      expect(toasts.value).toHaveLength(1);
      fireEvent.focusOut(screen.getByRole("button", { name: "Dismiss" }));
      act(() => void vi.advanceTimersByTime(30_000));
      expect(toasts.value).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("what is said again is said once", () => {
    toast("same");
    toast("same");
    expect(toasts.value).toHaveLength(1);
  });

  it("a value out of range stays within the bar", () => {
    render(<Progress label="Upload" value={7} />);
    expect(screen.getByRole("progressbar", { name: "Upload" }).getAttribute("aria-valuenow")).toBe("100");
  });
});
