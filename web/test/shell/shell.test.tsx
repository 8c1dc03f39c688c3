// SPDX-License-Identifier: Apache-2.0
import { act, cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { calls, daemon } from "./fake";

vi.mock("../../src/api/calls", async () => (await import("./fake")).calls);
vi.mock("../../src/cells/run", () => ({ runCell: vi.fn(async () => true), runAll: vi.fn(async () => true), interruptRun: vi.fn(async () => {}) }));
vi.mock("../../src/cells/ipynb", () => ({ toNotebook: () => "{}", fromNotebook: vi.fn() }));
vi.mock("../../src/cells/import", () => ({ keepOutputs: vi.fn() }));
vi.mock("../../src/panels/upload", () => ({ uploadFiles: vi.fn(async () => {}), uploads: { peek: () => [] }, closeUpload: vi.fn() }));
vi.mock("../../src/agents/held", async () => ({ heldCount: (await import("@preact/signals")).signal(0) }));

const { runAll, interruptRun } = await import("../../src/cells/run");
const { uploadFiles } = await import("../../src/panels/upload");
const { heldCount } = await import("../../src/agents/held");
const state = await import("../../src/state/conversations");
const feed = await import("../../src/state/feed");
const { identity } = await import("../../src/api/client");
const { settings, change } = await import("../../src/state/settings");
const { toasts } = await import("../../src/state/toasts");
const { query } = await import("../../src/shell/search");
const { Sidebar } = await import("../../src/shell/sidebar");
const { ConversationHead } = await import("../../src/shell/conversation_head");
const { Banner } = await import("../../src/shell/banner");
const { SettingsPage } = await import("../../src/pages/settings");
const { Welcome } = await import("../../src/pages/welcome");
const { Asks } = await import("../../src/ui");
const { fileNameOf } = await import("../../src/shell/notebook");
const { deedOf, isHelpShown } = await import("../../src/shell/help");

Object.defineProperty(daemon, "given", { get: () => identity.token, set: () => {}, configurable: true });

beforeEach(() => {
  vi.clearAllMocks();
  daemon.reset();
  localStorage.clear();
  location.hash = "";
  toasts.value = [];
  query.value = "";
  state.current.value = null;
  state.isListed.value = true;
  feed.connection.value = "on";
  feed.retryAtMs.value = null;
  change({ token: "", theme: "system", sandboxByDefault: true, policy: "", runtime: "" });
});
afterEach(cleanup);

async function listed(): Promise<void> {
  state.conversations.value = state.newestFirst(await calls.listConversations());
  feed.sessions.value = new Map(daemon.sessions);
}

describe("sidebar", () => {
  beforeEach(async () => {
    daemon.addSession("ses_1", { state: "running" });
    daemon.addSession("ses_9", { name: "agent's own" });
    daemon.addConversation("cnv_a", "Sales 2024", { session: "ses_1" });
    daemon.addConversation("cnv_b", "Énergie <b>bold</b>");
    await listed();
    render(<><Sidebar /><Asks /></>);
  });
  const list = () => within(screen.getByRole("list", { name: "Conversations" }));

  it("lists conversations, newest first, as text, and says what runs", () => {
    const links = list().getAllByRole("link");
    expect(links.map((link) => link.getAttribute("href"))).toEqual(["#/c/cnv_b", "#/c/cnv_a"]);
    expect(links[0]?.querySelector(".row-name")?.textContent).toBe("Énergie <b>bold</b>");
    expect(links[1]?.textContent).toContain("(running)");
  });

  it("lists sessions that no conversation has", () => {
    const others = within(screen.getByRole("list", { name: "Other sessions" }));
    expect(others.getAllByRole("link").map((link) => link.getAttribute("href"))).toEqual(["#/s/ses_9"]);
  });

  it("searches without case and accents", () => {
    fireEvent.input(screen.getByRole("searchbox", { name: "Search conversations" }), { target: { value: "ENERGIE b" } });
    expect(list().getAllByRole("link")).toHaveLength(1);
    fireEvent.input(screen.getByRole("searchbox"), { target: { value: "nothing" } });
    expect(screen.queryByRole("list", { name: "Conversations" })).toBeNull();
    expect(screen.getByText("Nothing is called that or has it in a cell.")).toBeTruthy();
  });

  it("renames in place", async () => {
    fireEvent.click(screen.getByRole("button", { name: "More actions for Sales 2024" }));
    fireEvent.click(screen.getByRole("menuitem", { name: "Rename" }));
    const field = screen.getByRole("textbox", { name: "Conversation name" });
    fireEvent.input(field, { target: { value: "Sales 2025" } });
    fireEvent.keyDown(field, { key: "Enter" });
    await waitFor(() => expect(daemon.conversations.get("cnv_a")?.name).toBe("Sales 2025"));
    await screen.findByText("Sales 2025");
  });

  it("does not rename on Escape", () => {
    fireEvent.click(screen.getByRole("button", { name: "More actions for Sales 2024" }));
    fireEvent.click(screen.getByRole("menuitem", { name: "Rename" }));
    const field = screen.getByRole("textbox", { name: "Conversation name" });
    fireEvent.input(field, { target: { value: "Other" } });
    fireEvent.keyDown(field, { key: "Escape" });
    expect(calls.putConversation).not.toHaveBeenCalled();
    expect(screen.getByText("Sales 2024")).toBeTruthy();
  });

  it("deletes only when told twice", async () => {
    const ask = () => {
      fireEvent.click(screen.getByRole("button", { name: "More actions for Sales 2024" }));
      fireEvent.click(screen.getByRole("menuitem", { name: "Delete" }));
    };
    ask();
    fireEvent.click(await screen.findByRole("button", { name: "Cancel" }));
    expect(daemon.conversations.has("cnv_a")).toBe(true);
    ask();
    expect((await screen.findByRole("dialog")).textContent).toContain("Files that it shares with a branch, or with the conversation that it branched from, stay there.");
    fireEvent.click(await screen.findByRole("button", { name: "Delete" }));
    await waitFor(() => expect(daemon.conversations.has("cnv_a")).toBe(false));
    await waitFor(() => expect(daemon.sessions.has("ses_1")).toBe(false));
  });

  it("makes a conversation with an empty cell", async () => {
    fireEvent.click(screen.getByRole("button", { name: "New conversation" }));
    await waitFor(() => expect(state.current.value?.cells.value).toHaveLength(1));
    expect(location.hash).toBe(`#/c/${state.current.value?.id}`);
  });

  it("counts what waits for approval", () => {
    act(() => { (heldCount as { value: number }).value = 3; });
    expect(screen.getByRole("link", { name: "Approvals 3 waiting" })).toBeTruthy();
    act(() => { (heldCount as { value: number }).value = 0; });
    expect(screen.getByRole("link", { name: "Approvals" })).toBeTruthy();
  });
});

describe("head of a conversation", () => {
  async function open() {
    daemon.addConversation("cnv_a", "Sales", { document: { cells: [{ id: "a", kind: "code", source: "1", run: null }] } });
    const conversation = await state.openConversation("cnv_a");
    render(<><ConversationHead conversation={conversation} /><Asks /></>);
    return conversation;
  }

  it("switches the sandbox, says so and keeps it", async () => {
    const conversation = await open();
    fireEvent.click(screen.getByRole("switch", { name: "Run code" }));
    expect(toasts.value.at(-1)?.text).toBe("Internal tools configuration updated");
    await conversation.save();
    expect(daemon.conversations.get("cnv_a")?.sandbox).toBe(false);
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Run all" }).disabled).toBe(true);
  });

  it("runs all, and interrupts while something runs", async () => {
    const conversation = await open();
    fireEvent.click(screen.getByRole("button", { name: "Run all" }));
    expect(runAll).toHaveBeenCalledWith(conversation);
    act(() => { conversation.cells.value[0]!.phase.value = "running"; });
    fireEvent.click(screen.getByRole("button", { name: "Interrupt" }));
    expect(interruptRun).toHaveBeenCalledWith(conversation);
    expect(screen.getByText("Running")).toBeTruthy();
  });

  it("is called by its name, which can be changed", async () => {
    const conversation = await open();
    fireEvent.click(screen.getByRole("button", { name: "Rename" }));
    const field = screen.getByRole("textbox", { name: "Conversation name" });
    fireEvent.input(field, { target: { value: "Costs" } });
    fireEvent.blur(field);
    await waitFor(() => expect(daemon.conversations.get("cnv_a")?.name).toBe("Costs"));
    expect(screen.getByRole("heading", { level: 1, name: "Costs" })).toBeTruthy();
    expect(conversation.name.value).toBe("Costs");
  });

  it("restarts the session", async () => {
    const conversation = await open();
    daemon.addSession("ses_1");
    act(() => { conversation.session.value = "ses_1"; });
    fireEvent.click(screen.getByRole("button", { name: "More actions" }));
    fireEvent.click(screen.getByRole("menuitem", { name: "Restart session" }));
    const restart = await screen.findByRole("button", { name: "Restart" });
    expect(screen.getByText(/Files stay/)).toBeTruthy();
    fireEvent.click(restart);
    await waitFor(() => expect(calls.restartSession).toHaveBeenCalledWith("ses_1", undefined));
    expect(conversation.session.value).toBe("ses_1");
    expect(calls.endSession).not.toHaveBeenCalled();
  });
});

describe("banner", () => {
  it("says when the next try is, and tries at once when asked", () => {
    feed.connection.value = "away";
    feed.retryAtMs.value = Date.now() + 2500;
    render(<Banner />);
    expect(screen.getByRole("alert").textContent).toBe("The daemon does not answer.");
    expect(screen.getByText("Trying again in 3 s.")).toBeTruthy();
    fireEvent.click(screen.getByRole("button", { name: "Retry" }));
    expect(feed.connection.value).toBe("connecting");
    act(() => { feed.connection.value = "on"; });
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("asks for a token and uses it", () => {
    feed.connection.value = "unauthorized";
    render(<Banner />);
    expect(screen.getByText("This daemon asks for a token.")).toBeTruthy();
    fireEvent.input(screen.getByLabelText("Access token"), { target: { value: " secret " } });
    fireEvent.submit(screen.getByRole("button", { name: "Use it" }).closest("form")!);
    expect(settings.value.token).toBe("secret");
    act(() => { feed.connection.value = "unauthorized"; });
    expect(screen.getByText("The daemon does not know this token.")).toBeTruthy();
  });
});

describe("settings", () => {
  const test = () => fireEvent.submit(screen.getByRole("button", { name: "Save and test" }).closest("form")!);

  it.each([
    ["", "", "No token is needed here"],
    ["", "stale", "No token is needed here; this one is not used"],
    ["secret", "secret", "The daemon knows this token"],
    ["secret", "wrong", "The daemon does not know this token"],
    ["secret", "", "This daemon asks for a token"],
  ])("a daemon with token %j answers to %j", async (wanted, typed, answer) => {
    daemon.token = wanted;
    render(<SettingsPage />);
    fireEvent.input(screen.getByLabelText("Token"), { target: { value: typed } });
    test();
    await screen.findByText(new RegExp(answer));
    expect(settings.value.token).toBe(typed);
    expect(localStorage.getItem("vivarium.settings")).toContain(`"token":"${typed}"`);
  });

  it("says when it could not be tried", async () => {
    daemon.isAway = true;
    render(<SettingsPage />);
    test();
    await screen.findByText(/does not answer/);
  });

  it("changes the theme at once", () => {
    render(<SettingsPage />);
    fireEvent.click(screen.getByRole("radio", { name: "Dark" }));
    expect(document.documentElement.dataset["theme"]).toBe("dark");
    fireEvent.click(screen.getByRole("radio", { name: "System" }));
    expect(document.documentElement.dataset["theme"]).toBeUndefined();
  });

  it("keeps what new conversations start with, also what this daemon does not have", async () => {
    change({ runtime: "elsewhere" });
    render(<SettingsPage />);
    const policy = screen.getByLabelText<HTMLSelectElement>("Policy");
    await within(policy).findByRole("option", { name: /^large: / });
    fireEvent.change(policy, { target: { value: "large" } });
    expect(settings.value.policy).toBe("large");
    await screen.findByRole("option", { name: "elsewhere (not on this daemon)" });
    fireEvent.click(screen.getByRole("switch", { name: "Run code in new conversations" }));
    expect((await state.createConversation({})).sandbox.value).toBe(false);
  });
});

describe("welcome", () => {
  it("an example makes a conversation of three cells and runs all of it", async () => {
    render(<Welcome />);
    expect(screen.getAllByRole("button", { name: /^Example:/ })).toHaveLength(4);
    fireEvent.click(screen.getByRole("button", { name: /^Example: Quadratic/ }));
    await waitFor(() => expect(runAll).toHaveBeenCalledWith(state.current.value));
    const cells = state.current.value!.cells.value;
    expect(cells.map(({ kind }) => kind.value)).toEqual(["note", "code", "code"]);
    expect(cells[1]!.source.value).toMatch(/^"""Solves/);
  });

  it("a file becomes a conversation with that file in it", async () => {
    render(<Welcome />);
    const file = new File(["a,b\n1,2\n"], "data.csv");
    fireEvent.change(screen.getByLabelText("Upload a file"), { target: { files: [file] } });
    await waitFor(() => expect(uploadFiles).toHaveBeenCalledTimes(1));
    expect(state.current.value?.name.value).toBe("data.csv");
    expect(vi.mocked(uploadFiles).mock.calls[0]![1]).toEqual([file]);
  });

  it("says what failed", async () => {
    daemon.isAway = true;
    render(<Welcome />);
    fireEvent.click(screen.getByRole("button", { name: /^Example: Binary/ }));
    await waitFor(() => expect(toasts.value.at(-1)?.text).toContain('Could not start "Binary search"'));
    expect(runAll).not.toHaveBeenCalled();
  });
});

describe("keys", () => {
  const key = (init: KeyboardEventInit, target: EventTarget = document.body) => {
    const event = new KeyboardEvent("keydown", init);
    Object.defineProperty(event, "target", { value: target });
    return deedOf(event, runAllShown);
  };
  const runAllShown = () => {};

  it("means something only with its modifiers", () => {
    expect(key({ key: "Enter", ctrlKey: true, shiftKey: true })).toBe(runAllShown);
    expect(key({ key: "k" })).toBeNull();
    expect(key({ key: "k", ctrlKey: true })).not.toBeNull();
    expect(key({ key: "x", ctrlKey: true })).toBeNull();
    expect(key({ key: "k", ctrlKey: true, altKey: true })).toBeNull(); // AltGr writes letters
  });

  it("a question mark is help, unless it is typed", () => {
    expect(key({ key: "?" }, document.createElement("textarea"))).toBeNull();
    key({ key: "?" })!();
    expect(isHelpShown.value).toBe(true);
    isHelpShown.value = false;
  });
});

describe("the file of a notebook", () => {
  it.each([
    ["x=1; print('v1')", "x-1-print-v1.ipynb"], ["Umsätze 2026 (Entwurf)", "Umsätze-2026-Entwurf.ipynb"],
    ["../../etc/passwd", "etc-passwd.ipynb"], ["…", "notebook.ipynb"], ["a".repeat(59) + " b", `${"a".repeat(59)}.ipynb`],
  ])("has a plain name: %s", (name, file) => expect(fileNameOf(name)).toBe(file));
});
