// SPDX-License-Identifier: Apache-2.0
import { cleanup, fireEvent, render, screen } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../src/api/client";
import type { Checkpoint, Session } from "../../src/api/types";
import { cellsUpTo, recordsAt } from "../../src/panels/deeds";
import { Panel, panelTab } from "../../src/panels/panel";
import { Cell } from "../../src/state/conversation";
import { connection, sessions } from "../../src/state/feed";
import { self } from "../../src/state/self";
import { toasts } from "../../src/state/toasts";
import { Asks } from "../../src/ui";
import { conversationOf } from "../cells/parts";

const calls = vi.hoisted(() => Object.fromEntries(
  ["listVars", "readTable", "listFiles", "removeFile", "listCheckpoints", "listRuns", "getRun", "getSession", "rollback", "fork", "diff", "wakeSession",
    "makeCheckpoint", "readFile", "putOutput", "listConversations", "status"].map((name) => [name, vi.fn()])));
vi.mock("../../src/api/calls", () => calls);

const state = (id: string, parent: string | null, run: string | null, created_ms: number): Checkpoint => ({ id, parent, name: null, run, created_ms, memory: 1 });
const show = (tab: "variables" | "files" | "timeline", session: string | null = "ses_a") => {
  panelTab.value = tab;
  return render(<><Panel conversation={conversationOf([], session)} /><Asks /></>);
};

beforeEach(() => {
  for (const call of Object.values(calls)) call!.mockReset();
  HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) { this.open = true; };
  connection.value = "on";
});
afterEach(cleanup);

describe("variables", () => {
  it("are shown as text, whatever they are called and hold", async () => {
    calls["listVars"]!.mockResolvedValue({ vars: [{ name: "x", type: "str", repr: "'<img src=x onerror=alert(1)>'", size: 1 }] });
    const { container } = show("variables");
    await screen.findByText("'<img src=x onerror=alert(1)>'");
    expect(container.querySelector("img")).toBeNull();
  });

  it.each([
    ["ndarray", [50], "float64", "50 values, float64"],
    ["ndarray", [1], "uint8", "1 value, uint8"],
    ["ndarray", [], "int64", "1 value, int64"],
    ["ndarray", [100, 100, 3], "uint8", "100 × 100 × 3, uint8"],
    ["ndarray", [2], "<U1", "2 values, <U1"],
    ["Tensor", [4, 5], "torch.float32", "4 × 5, torch.float32"],
    ["Series", [100_000], "float64", "100,000 values, float64"],
    ["DataFrame", [3, 2], undefined, "3 rows, 2 columns"],
    ["DataFrame", [100, 1], undefined, "100 rows, 1 column"],
    ["float64", [], "float64", "its repr"],
  ])("of many values say so: %s %j", async (type, shape, dtype, told) => {
    calls["listVars"]!.mockResolvedValue({ vars: [{ name: "x", type, repr: "its repr", shape, dtype, size: 1 }] });
    show("variables");
    expect(await screen.findByText(told)).toBeTruthy();
  });

  it("say that they are of before, while a run is on", async () => {
    calls["listVars"]!.mockResolvedValue({ vars: [{ name: "x", type: "int", repr: "1", size: 1 }], as_of: "cp_1" });
    show("variables");
    expect(await screen.findByText(/the variables of before it/)).toBeTruthy();
  });

  describe("of a session whose last state is older than the run that is on", () => {
    const asOf = { as_of: "cp_2", checkpoint_blocked_by: "thread T\u202e-1" };
    const note = 'A run is on: these are the variables of the state "x=1", without what later runs did. No newer state could be kept: thread T‹202e›-1.';
    beforeEach(() => {
      calls["getSession"]!.mockResolvedValue({ id: "ses_a", head: "cp_2", transactional: true });
      calls["listCheckpoints"]!.mockResolvedValue([state("cp_1", null, null, 1), state("cp_2", "cp_1", "run_1", 2)]);
      calls["listRuns"]!.mockResolvedValue([{ id: "run_1", line: "x=1", verdict: "ok", begun_ms: 1 }]);
    });

    it("say which state they are of, and that later runs are not in it", async () => {
      calls["listVars"]!.mockResolvedValue({ vars: [{ name: "x", type: "int", repr: "1", size: 1 }], ...asOf });
      show("variables");
      expect((await screen.findByText(/A run is on/)).textContent).toBe(note);
      fireEvent.click(screen.getByRole("button", { name: /Show x/ }));
      expect((await screen.findByRole("dialog")).textContent).toContain(note);
    });

    it("say so, too, where that state has none", async () => {
      calls["listVars"]!.mockResolvedValue({ vars: [], ...asOf });
      show("variables");
      expect((await screen.findByText(/A run is on/)).textContent).toBe(note);
      expect(screen.queryByText("No variables yet")).toBeNull();
    });

    it("say so beside the rows of a table", async () => {
      calls["listVars"]!.mockResolvedValue({ vars: [{ name: "l", type: "list", repr: "[1]", size: 1 }], ...asOf });
      calls["readTable"]!.mockResolvedValue({ columns: ["0"], rows: [[1]], total: 1, ...asOf });
      show("variables");
      await screen.findByText(/A run is on/);
      fireEvent.click(screen.getByRole("button", { name: /Show l/ }));
      await vi.waitFor(() => expect(screen.getByRole("dialog").textContent).toContain(note));
    });
  });

  it("are read again by themselves when the daemon is back", async () => {
    calls["listVars"]!.mockRejectedValueOnce(new ApiError(0, "away", "the daemon does not answer"));
    calls["listVars"]!.mockResolvedValue({ vars: [{ name: "back", type: "int", repr: "1", size: 1 }] });
    connection.value = "away";
    show("variables");
    await screen.findByText(/the daemon does not answer/);
    connection.value = "on";
    expect(await screen.findByText("back")).toBeTruthy();
    expect(screen.queryByText(/does not answer/)).toBeNull();
  });

  it("teach where there are none, and ask nothing of a session that is not there", () => {
    show("variables", null);
    expect(screen.getByText("No variables yet")).toBeTruthy();
    expect(calls["listVars"]).not.toHaveBeenCalled();
  });
});

describe("a session that sleeps", () => {
  it("is woken by one click, and asked nothing before", async () => {
    sessions.value = new Map([["ses_a", { id: "ses_a", state: "asleep", kept: { states: 1, bytes: 2048, dropped: 0, pending: false } } as Session]]);
    calls["wakeSession"]!.mockResolvedValue({});
    show("variables");
    expect(screen.getByText(/The session is asleep/).textContent).toMatch(/on disk \(2/);
    expect(calls["listVars"]).not.toHaveBeenCalled();
    fireEvent.click(screen.getByRole("button", { name: "Wake" }));
    await vi.waitFor(() => expect(calls["wakeSession"]).toHaveBeenCalledWith("ses_a"));
    sessions.value = new Map();
  });

  it.each([
    [[], "The session is awake: variables and files are back"],
    [[{ name: "g", why: "cannot pickle" }, { name: "l\u202eock" }], "The session is awake: variables and files are back, except g, l‹202e›ock, which could not be kept"],
  ])("names what could not be kept: %j", async (missing, told) => {
    sessions.value = new Map([["ses_a", { id: "ses_a", state: "asleep" } as Session]]);
    calls["wakeSession"]!.mockResolvedValue({ woken: { missing } });
    show("variables");
    fireEvent.click(screen.getByRole("button", { name: "Wake" }));
    await vi.waitFor(() => expect(toasts.value.at(-1)?.text).toBe(told));
    sessions.value = new Map();
  });
});

describe("files", () => {
  it("are deleted only when the person agrees", async () => {
    calls["listFiles"]!.mockResolvedValue({ files: [{ path: "/workspace/a.txt", size: 3, mime: "text/plain" }] });
    calls["removeFile"]!.mockResolvedValue({});
    show("files");
    fireEvent.click(await screen.findByRole("button", { name: "More for a.txt" }));
    fireEvent.click(screen.getByRole("menuitem", { name: "Delete" }));
    expect(calls["removeFile"]).not.toHaveBeenCalled();
    fireEvent.click(await screen.findByRole("button", { name: "Delete" }));
    await vi.waitFor(() => expect(calls["removeFile"]).toHaveBeenCalledWith("ses_a", "/workspace/a.txt"));
  });

  it("of SVG and HTML are previewed as text", async () => {
    const text = "<svg onload=alert(1)><script>alert(1)</script></svg>";
    calls["listFiles"]!.mockResolvedValue({ files: [{ path: "/workspace/a.svg", size: text.length, mime: "image/svg+xml" }] });
    calls["readFile"]!.mockResolvedValue(new Response(text));
    const { container } = show("files");
    fireEvent.click(await screen.findByRole("button", { name: /Preview a.svg/ }));
    expect(await screen.findByText(text)).toBeTruthy();
    expect(container.querySelector("script, img, .preview-text svg")).toBeNull();
  });
});

describe("a session that is not ready", () => {
  it("is asked again for its variables, and nobody is told of a failure", async () => {
    calls["listVars"]!.mockRejectedValueOnce(new ApiError(409, "conflict", "the fork ended before it was ready"))
      .mockResolvedValue({ vars: [{ name: "answer", type: "int", repr: "42", size: 28 }] });
    show("variables");
    expect(await screen.findByText("answer")).toBeTruthy();
    expect(screen.queryByRole("alert")).toBeNull();
    expect(calls["listVars"]).toHaveBeenCalledTimes(2);
  });
});

describe("the timeline", () => {
  beforeEach(() => {
    calls["getSession"]!.mockResolvedValue({ id: "ses_a", head: "cp_3", transactional: true });
    calls["listCheckpoints"]!.mockResolvedValue([state("cp_1", null, null, 1), state("cp_2", "cp_1", "run_1", 2), state("cp_3", "cp_2", "run_1", 4)]);
    calls["listRuns"]!.mockResolvedValue([
      { id: "run_2", verdict: "timeout", begun_ms: 3, line: "while True: pass", state: "over" },
      { id: "run_1", verdict: "ok", begun_ms: 2, line: "x = 1", state: "over" },
    ]);
    calls["getRun"]!.mockResolvedValue({ state: "rolled_back" });
  });

  it("shows what led to each state, and a run that was rolled back as such", async () => {
    show("timeline");
    expect(await screen.findByText("x = 1")).toBeTruthy();
    expect(screen.getByText("Files changed")).toBeTruthy();
    expect(screen.getByText(/Timed out, rolled back/)).toBeTruthy();
    expect(screen.getAllByRole("listitem").find((row) => row.getAttribute("aria-current") === "step")?.textContent).toContain("Now");
  });

  it("puts a run that was rolled back on the lane of the state it began from, and marks one that failed", async () => {
    // cp_1 - cp_2, where run_2 failed and was rolled back; then back to cp_1, and cp_3, where run_3 raised.
    calls["listCheckpoints"]!.mockResolvedValue([state("cp_1", null, null, 1), state("cp_2", "cp_1", "run_1", 2), state("cp_3", "cp_1", "run_3", 5)]);
    calls["listRuns"]!.mockResolvedValue([
      { id: "run_3", verdict: "exception", begun_ms: 4, line: "1 / 0", state: "over" },
      { id: "run_lane", verdict: "timeout", begun_ms: 3, line: "while True: pass", state: "over" },
      { id: "run_1", verdict: "ok", begun_ms: 2, line: "x = 1", state: "over" },
    ]);
    calls["getRun"]!.mockResolvedValue({ state: "rolled_back", checkpoint: { id: "cp_2" } });
    const { container } = show("timeline");
    await screen.findByText("while True: pass");
    const dots = [...container.querySelectorAll("circle")].map((dot) => [dot.getAttribute("cx"), dot.classList.contains("lane-failed")]);
    expect(dots).toEqual([["10", true], ["24", false], ["10", false]]);
    expect(container.querySelector(".lane-undone")!.getAttribute("d")).toMatch(/^M20 /);
    expect(screen.getByText("1 / 0").closest("li")!.textContent).toContain("Failed");
    expect(screen.getByText("x = 1").closest("li")!.textContent).not.toContain("Failed");
  });

  it("says how many states are not kept, on one lane with those that are", async () => {
    calls["getSession"]!.mockResolvedValue({ id: "ses_a", head: "cp_9", transactional: true });
    calls["listRuns"]!.mockResolvedValue([]);
    calls["listCheckpoints"]!.mockResolvedValue([
      { ...state("cp_3", null, "run_3", 3), not_kept: 2 }, state("cp_4", "cp_3", "run_4", 4), { ...state("cp_9", "cp_4", "run_9", 9), not_kept: 4 },
    ]);
    const { container } = show("timeline");
    await screen.findByText("4 states not kept");
    const told = screen.getAllByRole("listitem").map((row) => row.textContent!.match(/\d states not kept|Now|A run/g)!.at(-1));
    expect(told).toEqual(["Now", "4 states not kept", "A run", "A run", "2 states not kept"]);
    expect([...container.querySelectorAll("circle")].map((dot) => dot.getAttribute("cx"))).toEqual(["10", "10", "10"]);
    expect(container.querySelectorAll(".lane-gap")).toHaveLength(2);
  });

  it("counts the age of a run that was rolled back from its end, as that of a state", async () => {
    const now = Date.now();
    calls["listRuns"]!.mockResolvedValue([
      { id: "run_long", verdict: "timeout", begun_ms: now - 1_200_000, wall_ms: 600_000, line: "while True: pass", state: "over" },
      { id: "run_1", verdict: "ok", begun_ms: 2, line: "x = 1", state: "over" },
    ]);
    show("timeline");
    expect((await screen.findByText(/Timed out, rolled back/)).textContent).toMatch(/10 min ago$/);
  });

  it("has a way back as a row of its own", async () => {
    const now = Date.now();
    calls["getSession"]!.mockResolvedValue({ id: "ses_a", head: "cp_2", transactional: true, went_back_ms: now });
    calls["listCheckpoints"]!.mockResolvedValue([state("cp_1", null, null, 1), state("cp_2", "cp_1", "run_1", now - 600_000), state("cp_3", "cp_2", "run_3", now - 300_000)]);
    show("timeline");
    const rows = (await screen.findAllByRole("listitem")).map((row) => row.textContent);
    expect(rows[0]).toMatch(/^ ?Went back to x = 1 · just now/);
    expect(rows[2]).toMatch(/Now · 10 min ago/);
  });

  it("shows runs that a later one took with it", async () => {
    calls["listRuns"]!.mockResolvedValue([
      { id: "run_heals", verdict: "exception", begun_ms: 6, line: "y = 2", state: "over" },
      { id: "run_spoils", verdict: "ok", begun_ms: 5, line: "builtins.len = None", state: "over" },
      { id: "run_1", verdict: "ok", begun_ms: 2, line: "x = 1", state: "over" },
    ]);
    calls["getRun"]!.mockResolvedValue({ state: "rolled_back", checkpoint: { id: "cp_3", undone: ["run_spoils", "run_heals"] } });
    show("timeline");
    expect((await screen.findByText("builtins.len = None")).closest("li")!.textContent).toContain("Done, undone by a later run");
    expect(screen.getByText("y = 2").closest("li")!.textContent).toContain("Failed, rolled back");
  });

  it("calls the first state after a restart by what it is", async () => {
    calls["getSession"]!.mockResolvedValue({ id: "ses_a", head: "cp_4", transactional: true });
    calls["listCheckpoints"]!.mockResolvedValue([state("cp_2", "cp_1", "run_1", 2), state("cp_4", null, null, 5)]);
    show("timeline");
    expect((await screen.findByText("Restarted")).closest("li")!.textContent).toContain("Now");
  });

  it("tells live states from those on disk, and what these lack", async () => {
    calls["listCheckpoints"]!.mockResolvedValue([
      { ...state("cp_2", "cp_1", "run_1", 2), kind: "portable", bytes: 2048, missing: [{ name: "conn", why: "TypeError" }] }, { ...state("cp_3", "cp_2", "run_1", 4), kind: "live", memory: 3 << 20, bytes: 4096 },
    ]);
    sessions.value = new Map([["ses_a", { id: "ses_a", state: "idle", kept: { states: 2, bytes: 5120, dropped: 0, pending: false } } as Session]]);
    show("timeline");
    expect(await screen.findByText(/ · without conn · 2.* KiB on disk/)).toBeTruthy();
    expect(screen.getByText(/ · 4\.0 KiB on disk/).getAttribute("title")).toBe("4.0 KiB on disk\nThe session had 3.0 MiB of memory");
    expect(screen.getByText("2 states, 5.0 KiB on disk")).toBeTruthy();
    sessions.value = new Map();
    expect(screen.getByRole("button", { name: "Branch here, from x = 1" }).hasAttribute("disabled")).toBe(true);
  });

  it("asks before later states are left behind", async () => {
    calls["rollback"]!.mockResolvedValue({});
    show("timeline");
    fireEvent.click(await screen.findByRole("button", { name: "Go back to Start" }));
    expect(await screen.findByText(/2 later states are left behind/)).toBeTruthy();
    expect(calls["rollback"]).not.toHaveBeenCalled();
    fireEvent.click(screen.getByRole("button", { name: "Go back" }));
    await vi.waitFor(() => expect(calls["rollback"]).toHaveBeenCalledWith("ses_a", "cp_1"));
  });

  it("compares the older with the newer, whichever was chosen first", async () => {
    calls["diff"]!.mockResolvedValue({ added: ["new"], removed: [], changed: ["<b>x</b>"] });
    show("timeline");
    fireEvent.click(await screen.findByRole("checkbox", { name: "Compare x = 1" }));
    fireEvent.click(screen.getByRole("checkbox", { name: "Compare Start" }));
    expect(await screen.findByRole("list", { name: "Added" })).toBeTruthy();
    expect(calls["diff"]).toHaveBeenLastCalledWith("ses_a", "cp_1", "cp_2");
    expect(screen.getByText("<b>x</b>")).toBeTruthy();
  });
});

describe("a session of another token", () => {
  it("is said to be one, and nothing is asked of it", () => {
    self.value = { token: "alice" } as NonNullable<typeof self.value>;
    sessions.value = new Map([["ses_a", { id: "ses_a", token: "bob" } as Session]]);
    show("variables");
    expect(screen.getByText(/It is bob's/)).toBeTruthy();
    expect(calls["listVars"]).not.toHaveBeenCalled();
    sessions.value = new Map();
    self.value = null;
  });
});

describe("a branch", () => {
  it("has the cells up to the run it goes on from", () => {
    const cells = ["run_1", null, "run_2"].map((run, i) => new Cell({ id: `c${i}`, kind: "code", source: "", run }));
    expect(cellsUpTo(cells, "run_1").map((cell) => cell.id)).toEqual(["c0"]);
    expect(cellsUpTo(cells, "run_gone")).toHaveLength(3);
    expect(cellsUpTo(cells, null)).toHaveLength(3);
  });

  it("says of a cell whose run came later that the branch begins without it", () => {
    const cells = ["run_1", "run_2"].map((run, i) => new Cell({ id: `c${i}`, kind: "code", source: "", run }));
    const checkpoints = [state("cp_1", null, "run_1", 1), state("cp_2", "cp_1", "run_2", 2)];
    expect(recordsAt(cells, checkpoints, checkpoints[0]!).map((cell) => cell.mark ?? null)).toEqual([null, "apart"]);
    expect(new Cell({ id: "c", kind: "code", source: "", run: "run_2", mark: "apart" }).record().mark).toBe("apart");
  });
});
