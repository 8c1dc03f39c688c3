// SPDX-License-Identifier: Apache-2.0
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { RunRow } from "../../src/api/types";
import { calls, daemon } from "../shell/fake";

vi.mock("../../src/api/calls", async () => (await import("../shell/fake")).calls);

const state = await import("../../src/state/conversations");
const feed = await import("../../src/state/feed");
beforeEach(() => {
  vi.clearAllMocks();
  daemon.reset();
  localStorage.clear();
  location.hash = "";
  state.current.value = null;
  state.conversations.value = [];
  state.isListed.value = false;
  feed.sessions.value = new Map();
});

const cell = (id: string, source = id) => ({ id, kind: "code" as const, source, run: null });

describe("making and opening", () => {
  it("makes one with its cells, opens it and goes there", async () => {
    const conversation = await state.createConversation({ name: "  Sales ", cells: [cell("a")] });
    expect(state.current.value).toBe(conversation);
    expect(location.hash).toBe(`#/c/${conversation.id}`);
    expect(daemon.conversations.get(conversation.id)).toMatchObject({ name: "Sales", sandbox: true, document: { cells: [cell("a")] } });
    expect(state.conversations.value).toMatchObject([{ id: conversation.id, name: "Sales", cells: 1 }]);
    conversation.cells.value[0]!.source.value = "typed";
    await conversation.save();
    expect(daemon.conversations.get(conversation.id)?.document.cells[0]?.source).toBe("typed");
  });

  it("of two that are opened the later one is shown, whichever comes first", async () => {
    daemon.addConversation("cnv_a", "A");
    daemon.addConversation("cnv_b", "B");
    let release: () => void = () => {};
    calls.getConversation.mockImplementationOnce(async (id) => {
      await new Promise<void>((resolve) => (release = resolve));
      return structuredClone(daemon.conversations.get(id)!);
    });
    const slow = state.openConversation("cnv_a");
    await state.openConversation("cnv_b");
    release();
    await slow;
    expect(state.current.value?.id).toBe("cnv_b");
  });

  it("takes along what was said of the one that is left, and nothing else", async () => {
    const { toast, toastHere, toasts } = await import("../../src/state/toasts");
    toasts.value = [];
    await state.createConversation({ name: "A" });
    toastHere('Back at "Start"', "good", "", { label: "Undo", run: () => {} });
    toast("Kept");
    expect(toasts.value).toHaveLength(2);
    await state.createConversation({ name: "A (branch)" });
    expect(toasts.value.map(({ text }) => text)).toEqual(["Kept"]);
  });

  it("saves what was typed before another one is opened", async () => {
    daemon.addConversation("cnv_a", "A", { document: { cells: [cell("x")] } });
    daemon.addConversation("cnv_b", "B");
    const first = await state.openConversation("cnv_a");
    first.cells.value[0]!.source.value = "typed";
    first.touch();
    await state.openConversation("cnv_b");
    await first.save();
    expect(daemon.conversations.get("cnv_a")?.document.cells[0]?.source).toBe("typed");
  });
});

describe("rename and delete", () => {
  it("renames the open one, a closed one, and the session behind it", async () => {
    daemon.addSession("ses_1");
    feed.sessions.value = new Map([["ses_1", daemon.sessions.get("ses_1")!]]);
    daemon.addConversation("cnv_a", "A", { session: "ses_1" });
    daemon.addConversation("cnv_b", "B");
    await state.openConversation("cnv_a");
    await state.renameConversation("cnv_a", "First");
    await state.renameConversation("cnv_b", "Second");
    expect(daemon.conversations.get("cnv_a")?.name).toBe("First");
    expect(daemon.conversations.get("cnv_b")?.name).toBe("Second");
    expect(daemon.sessions.get("ses_1")?.name).toBe("First");
  });

  it("deletes it with its session, and leaves its page", async () => {
    const conversation = await state.createConversation({ name: "A" });
    daemon.addSession("ses_1");
    conversation.session.value = "ses_1";
    await conversation.save();
    await state.deleteConversation(conversation.id);
    expect(daemon.conversations.size).toBe(0);
    expect(daemon.sessions.size).toBe(0);
    expect(state.current.value).toBeNull();
    expect(state.conversations.value).toEqual([]);
  });

  it.each(["open", "not open"])("leaves no tab's draft of one that is %s, and those of others", async (how) => {
    const conversation = await state.createConversation({ name: "A" });
    const other = await state.createConversation({ name: "B" });
    if (how === "open") await state.openConversation(conversation.id);
    const keys = [conversation, other].map(({ id }) => [`vivarium.draft.${id}`, `vivarium.draft.${id}.c1`, `vivarium.draft.${id}.c2`]);
    for (const key of keys.flat()) localStorage.setItem(key, "{}");
    await state.deleteConversation(conversation.id);
    expect(Object.keys(localStorage).filter((key) => key.startsWith("vivarium.draft.")).sort()).toEqual(keys[1]);
  });

  it("does not end a session that another conversation uses", async () => {
    daemon.addSession("ses_1");
    await state.createConversation({ name: "A", session: "ses_1" });
    const second = await state.createConversation({ name: "B", session: "ses_1" });
    await state.deleteConversation(second.id);
    expect(daemon.sessions.has("ses_1")).toBe(true);
  });
});

describe("a session that an agent made", () => {
  const run = (id: string, begun_ms: number) =>
    ({ id, session: "ses_1", begun_ms, line: "first line", who: { token: null, via: "mcp", client: "agent", peer: "unix" } }) as RunRow;

  it("becomes a conversation with its runs as cells, oldest first, once", async () => {
    daemon.addSession("ses_1", { name: "analysis" });
    daemon.runs = [run("run_2", 20), run("run_1", 10)];
    const [first, second] = await Promise.all([state.openSession("ses_1"), state.openSession("ses_1")]);
    expect(first).toBe(second);
    expect(first.name.value).toBe("analysis");
    expect(first.cells.value.map((one) => [one.id, one.source.value, one.who.value?.via])).toEqual([
      ["rrun_1", "code of run_1", "mcp"], ["rrun_2", "code of run_2", "mcp"],
    ]);
    expect((await state.openSession("ses_1")).id).toBe(first.id);
    expect(daemon.conversations.size).toBe(1);
  });

  it("has its first line where the code is gone", async () => {
    daemon.addSession("ses_1", { name: "" });
    daemon.runs = [run("run_1", 10)];
    calls.runCode.mockRejectedValueOnce(new Error("gone"));
    const conversation = await state.openSession("ses_1");
    expect(conversation.cells.value[0]?.source.value).toBe("first line");
    expect(conversation.name.value).toContain("Session");
  });
});

describe("the address", () => {
  it("leaves a conversation that goes before it is gone", async () => {
    const { route } = await import("../../src/state/route");
    const conversation = await state.createConversation({ name: "A" });
    const seen: string[] = [];
    const stop = state.current.subscribe((open) => void seen.push(`${open?.name.peek() ?? "none"} at ${route.peek().page}`));
    await state.deleteConversation(conversation.id);
    stop();
    expect(seen).toEqual(["A at conversation", "none at welcome"]);
    expect(route.value).toEqual({ page: "welcome" });
  });

  it("names only what an id can be", async () => {
    const { parseRoute } = await import("../../src/state/route");
    expect(parseRoute("#/c/cnv_1a")).toEqual({ page: "conversation", id: "cnv_1a" });
    expect(parseRoute("#/s/ses_1a")).toEqual({ page: "session", id: "ses_1a" });
    for (const odd of ["#/c/../x", "#/c/cnv_A", "#/s/", "#/javascript:alert(1)", ""]) expect(parseRoute(odd)).toEqual({ page: "welcome" });
  });
});

describe("deleted elsewhere", () => {
  it.each(["before a save", "before a look"])("found out %s: it can be brought back with what was typed", async (when) => {
    const { toasts } = await import("../../src/state/toasts");
    toasts.value = [];
    const conversation = await state.createConversation({ name: "A", cells: [cell("x")] });
    conversation.cells.value[0]!.source.value = "typed";
    daemon.conversations.clear();
    if (when === "before a save") await conversation.save();
    else await conversation.pull(99);
    expect(state.current.value).toBeNull();
    expect(toasts.value).toMatchObject([{ text: '"A" was deleted elsewhere', action: { label: "Bring it back" } }]);
    toasts.value[0]!.action!.run();
    await vi.waitFor(() => expect(state.current.value?.cells.value[0]?.source.value).toBe("typed"));
    expect([...daemon.conversations.values()]).toMatchObject([{ name: "A" }]);
  });

  it("one's own deletion is none, however fast the feed is", async () => {
    const { toasts } = await import("../../src/state/toasts");
    toasts.value = [];
    const conversation = await state.createConversation({ name: "A" });
    calls.removeConversation.mockImplementationOnce(async (id) => {
      daemon.conversations.delete(id);
      conversation.onGone();
      return true;
    });
    await state.deleteConversation(conversation.id);
    expect(toasts.value).toEqual([]);
    expect(state.current.value).toBeNull();
  });
});

describe("how long ago", () => {
  it("is short", async () => {
    const { shortAgo } = await import("../../src/shell/when");
    const now = Date.parse("2026-11-15T12:00:00Z");
    const ago = (minutes: number) => shortAgo(now - minutes * 60_000, now);
    expect([ago(-5), ago(0.5), ago(3), ago(125), ago(60 * 50)]).toEqual(["now", "now", "3 min", "2 h", "2 d"]);
    expect(ago(60 * 24 * 30)).toMatch(/^Oct 1\d$/);
    expect(ago(60 * 24 * 400)).toContain("2025");
  });
});
