// SPDX-License-Identifier: Apache-2.0
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as calls from "../../src/api/calls";
import { CellList } from "../../src/cells";
import { gapAt } from "../../src/cells/drag";
import { deleteCell } from "../../src/cells/edit";
import { begunAt, elapsedText } from "../../src/cells/phase";
import type { RunRow } from "../../src/api/types";
import { Output } from "../../src/output/model";
import { Cell } from "../../src/state/conversation";
import { runs } from "../../src/state/feed";
import { aheadMs } from "../../src/state/self";
import { toasts } from "../../src/state/toasts";
import { conversationOf, verdict } from "./parts";

vi.mock("../../src/api/calls");
vi.mock("../../src/state/session", () => ({ ensureSession: () => Promise.resolve("ses_1") }));

const code = (id: string, source: string) => new Cell({ id, kind: "code", source, run: null });
const note = (id: string, source: string) => new Cell({ id, kind: "note", source, run: null });
const groups = () => screen.getAllByRole("group").map((group) => group.getAttribute("aria-label"));

beforeEach(() => {
  vi.resetAllMocks();
  vi.mocked(calls.listRuns).mockResolvedValue([]);
  toasts.value = [];
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

describe("the list of cells", () => {
  it("names each cell, and shows notes as what they say", () => {
    render(<CellList conversation={conversationOf([code("a", "x = 1"), note("b", "**bold**")])} />);
    expect(groups()).toEqual(expect.arrayContaining(["Cell 1", "Note 2"]));
    expect(screen.getByRole("textbox", { name: "Code of cell 1" }).textContent).toBe("x = 1");
    expect(screen.getByText("bold").tagName).toBe("STRONG");
  });

  it("makes an editor of what is near the screen, and of what gets the focus", async () => {
    type Tell = (entries: { isIntersecting: boolean; target: Element }[]) => void;
    const watched = new Map<Element, Tell>();
    vi.stubGlobal("IntersectionObserver", class {
      constructor(readonly tell: Tell) {}
      observe(element: Element) { watched.set(element, this.tell); }
      unobserve() {}
      disconnect() {}
    });
    const come = (element: Element) => watched.get(element)!([{ isIntersecting: true, target: element }]);
    const cells = Array.from({ length: 30 }, (_, i) => code(`c${i}`, `x = ${i}`));
    render(<CellList conversation={conversationOf(cells)} />);
    const isEditor = (number: number) => screen.getByRole("textbox", { name: `Code of cell ${number}` }).classList.contains("cm-content");
    expect([1, 20, 30].map(isEditor)).toEqual([true, false, false]);
    expect(screen.getByRole("textbox", { name: "Code of cell 30" }).textContent).toBe("x = 29");

    come(document.getElementById("cell-c19")!);
    await waitFor(() => expect(isEditor(20)).toBe(true));
    fireEvent.focus(screen.getByRole("textbox", { name: "Code of cell 30" }));
    await waitFor(() => expect(isEditor(30)).toBe(true));
    expect(isEditor(25)).toBe(false);
  });

  it("waits with the cursor in a single empty cell", async () => {
    render(<CellList conversation={conversationOf([code("a", "")])} />);
    await waitFor(() => expect(document.activeElement?.getAttribute("aria-label")).toBe("Code of cell 1"));
  });

  it("says who made a cell, as text", () => {
    const cell = code("a", "1");
    cell.who.value = { token: null, via: "mcp", client: "<b>agent</b>", peer: "127.0.0.1" };
    render(<CellList conversation={conversationOf([cell])} />);
    expect(groups()).toContain("Cell 1 by <b>agent</b>");
    expect(screen.getByText("<b>agent</b>").className).toBe("who-name");
  });

  it("adds cells in between and at the end", () => {
    const conversation = conversationOf([code("a", "1"), code("b", "2")]);
    render(<CellList conversation={conversation} />);
    fireEvent.click(screen.getByRole("button", { name: "Add code below" }));
    fireEvent.click(screen.getByRole("button", { name: "Add note" }));
    expect(conversation.cells.value.map((cell) => [cell.kind.value, cell.source.value])).toEqual([
      ["code", "1"], ["code", ""], ["code", "2"], ["note", ""],
    ]);
  });

  it("moves a cell down", () => {
    const conversation = conversationOf([code("a", "1"), code("b", "2")]);
    render(<CellList conversation={conversation} />);
    fireEvent.click(screen.getAllByRole("button", { name: /^Move down/ })[0]!);
    expect(conversation.cells.value.map(({ id }) => id)).toEqual(["b", "a"]);
  });

  it("deletes a cell, and takes it back to its place", () => {
    const conversation = conversationOf([code("a", "1"), code("b", "2"), code("c", "3")]);
    deleteCell(conversation, conversation.cells.value[1]!);
    expect(conversation.cells.value.map(({ id }) => id)).toEqual(["a", "c"]);
    toasts.value[0]!.action!.run();
    expect(conversation.cells.value.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  it("cannot run while running code is off, and says so", () => {
    const conversation = conversationOf([code("a", "1")]);
    conversation.sandbox.value = false;
    render(<CellList conversation={conversation} />);
    expect(screen.getByText(/Running code is off/)).toBeTruthy();
    expect((screen.getByRole("button", { name: /cannot run/ }) as HTMLButtonElement).disabled).toBe(true);
  });

  it("says when the code is not the one that ran, and keeps that with the conversation", async () => {
    const cell = new Cell({ id: "a", kind: "code", source: "x = 1", run: "run_a1" });
    cell.output.peek()!.apply(verdict(1));
    render(<CellList conversation={conversationOf([cell])} />);
    await screen.findByText(/Done in/);
    expect(screen.queryByText("Edited since")).toBeNull();
    cell.source.value = "x = 2";
    expect(await screen.findByText("Edited since")).toBeTruthy();
    const again = new Cell(cell.record());
    expect([again.ran.value, again.source.value]).toEqual(["x = 1", "x = 2"]);
    cell.source.value = "x = 1";
    await waitFor(() => expect(screen.queryByText("Edited since")).toBeNull());
    expect(cell.record().ran).toBeUndefined();
  });

  it("claims no time and no memory of a run whose end nobody saw", async () => {
    const cell = new Cell({ id: "a", kind: "code", source: "x = 1", run: "run_a1" });
    const lost = verdict(1, "backend");
    cell.output.peek()!.apply({ ...lost, usage: { queue_ms: 0, wall_ms: 0, cpu_ms: 0, peak_memory: 0, output_bytes: 0 } } as typeof lost);
    render(<CellList conversation={conversationOf([cell])} />);
    await screen.findByText("Could not run");
    expect(screen.queryByText("CPU")).toBeNull();
  });

  it("says what a cell is at", () => {
    const cell = code("a", "1");
    render(<CellList conversation={conversationOf([cell])} />);
    cell.phase.value = "held";
    return waitFor(() => {
      expect(screen.getAllByText(/Waiting for a person to allow it/).length).toBeGreaterThan(0);
      expect(screen.getByRole("button", { name: "Interrupt cell 1" })).toBeTruthy();
    });
  });
});

it("says how long something takes, as people do", () => {
  expect([950, 12_300, 61_000, 3_700_000].map(elapsedText)).toEqual(["0.9 s", "12 s", "1 min 1 s", "1 h 1 min"]);
});

it("finds the gap for a cell that is dragged", () => {
  const boxes = [{ top: 0, height: 100 }, { top: 100, height: 50 }];
  expect([-5, 49, 51, 124, 126, 999].map((y) => gapAt(y, boxes))).toEqual([0, 0, 1, 1, 2, 2]);
});

it("takes the time of a run from when the daemon says it began, by the daemon's clock", () => {
  const output = new Output("run_1");
  expect(begunAt(output)).toBe(null);
  runs.value = [{ id: "run_1", state: "running", begun_ms: 5000 } as RunRow];
  aheadMs.value = 2000;
  expect(begunAt(output)).toBe(3000);
  runs.value = [{ id: "run_1", state: "waiting", begun_ms: 5000 } as RunRow];
  expect(begunAt(output)).toBe(null);
  [runs.value, aheadMs.value] = [[], 0];
});
