// SPDX-License-Identifier: Apache-2.0
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../src/api/client";
import type { CellRecord, ConversationRecord, ConversationRow, Session } from "../../src/api/types";

// A daemon in memory: one conversation, with versions.
const server = { record: null as unknown as ConversationRecord, isAway: false, refusal: null as number | null, puts: 0, sessions: new Map<string, Session>(), made: 0 };
const row = (): ConversationRow => {
  const { document, ...rest } = server.record;
  return { ...rest, cells: document.cells.length };
};

vi.mock("../../src/api/calls", () => ({
  getConversation: vi.fn(async () => {
    if (server.isAway) throw new ApiError(0, "away", "away");
    return structuredClone(server.record);
  }),
  putConversation: vi.fn(async (_: string, put: { version: number; document: { cells: CellRecord[] } }) => {
    server.puts++;
    if (server.isAway) throw new ApiError(0, "away", "away");
    if (server.refusal) throw new ApiError(server.refusal, "internal", "not now");
    if (put.version !== server.record.version) throw new ApiError(409, "conflict", "the version is another one");
    Object.assign(server.record, structuredClone(put), { version: put.version + 1 });
    return row();
  }),
  makeSession: vi.fn(async ({ name }: { name: string }) => {
    const session = { id: `ses_${++server.made}`, name, state: "idle" } as Session;
    server.sessions.set(session.id, session);
    return session;
  }),
  getSession: vi.fn(async (id: string) => {
    const session = server.sessions.get(id);
    if (!session) throw new ApiError(404, "not_found", "no such session");
    return session;
  }),
}));

const { Conversation, newCell } = await import("../../src/state/conversation");
const { ensureSession, sessionName } = await import("../../src/state/session");
const { closeToast, toasts } = await import("../../src/state/toasts");

const cell = (id: string, source = id): CellRecord => ({ id, kind: "code", source, run: null });
/** Somebody else saves. */
function elsewhere(cells: CellRecord[]): void {
  server.record = { ...server.record, version: server.record.version + 1, document: { cells } };
}
const saved = () => server.record.document.cells.map(({ source }) => source);

beforeEach(() => {
  localStorage.clear();
  toasts.value = [];
  Object.assign(server, { isAway: false, refusal: null, puts: 0, made: 0, sessions: new Map() });
  server.record = {
    id: "cnv_1", name: "Sales", session: null, sandbox: true, cells: 2, version: 7, created_ms: 1, changed_ms: 1,
    document: { cells: [cell("a"), cell("b")] },
  };
});
const open = () => new Conversation(structuredClone(server.record));

describe("saving", () => {
  it("sends what was typed once, and nothing when nothing changed", async () => {
    const conversation = open();
    conversation.cells.value[0]!.source.value = "typed";
    conversation.touch();
    expect(conversation.saving.value).toBe("waiting");
    await conversation.save();
    await conversation.save();
    expect(saved()).toEqual(["typed", "b"]);
    expect(server.puts).toBe(1);
    expect(conversation.saving.value).toBe("saved");
  });

  it("keeps the runs that its cells made, for other tabs and the next time", async () => {
    const [here, there] = [open(), open()];
    here.noteRun("run_1");
    await here.save();
    there.noteRun("run_2");
    await there.save();
    expect(open().runs).toEqual(["run_1", "run_2"]);
    server.record.document = { ...server.record.document, runs: [7, "run_3"] as string[] };
    expect(open().runs).toEqual(["run_3"]);
  });

  it("a touch saves by itself after a rest", async () => {
    const conversation = open();
    const isSaved = new Promise((resolve) => (conversation.onSaved = resolve));
    conversation.insert(newCell("note", "# Plan"), 0);
    await isSaved;
    expect(saved()).toEqual(["# Plan", "a", "b"]);
  });

  it("a conflict merges both sides and keeps the objects of cells", async () => {
    const conversation = open();
    const [first] = conversation.cells.value;
    first!.source.value = "ours";
    elsewhere([cell("a"), cell("b", "theirs"), cell("new")]);
    const merged = vi.fn();
    conversation.onMerged = merged;
    await conversation.save();
    expect(saved()).toEqual(["ours", "theirs", "new"]);
    expect(conversation.cells.value[0]).toBe(first);
    expect(merged).toHaveBeenCalledTimes(1);
    expect(conversation.version).toBe(server.record.version);
  });

  it("says so when one cell was rewritten on both sides, and keeps both", async () => {
    const conversation = open();
    conversation.cells.value[0]!.source.value = "ours";
    elsewhere([cell("a", "theirs"), cell("b")]);
    await conversation.save();
    expect(saved()).toEqual(["ours", "theirs", "b"]);
    expect(toasts.value[0]?.text).toContain("both texts are kept");
  });

  it("takes in what others did, and ignores the echo of its own save", async () => {
    const conversation = open();
    elsewhere([cell("a", "theirs")]);
    await conversation.pull(8);
    expect(conversation.cells.value.map(({ source }) => source.value)).toEqual(["theirs"]);
    const { getConversation } = await import("../../src/api/calls");
    vi.mocked(getConversation).mockClear();
    await conversation.pull(8);
    expect(getConversation).not.toHaveBeenCalled();
  });

  it("what could not be saved survives the page and merges with what others did", async () => {
    const conversation = open();
    server.isAway = true;
    conversation.cells.value[0]!.source.value = "typed while away";
    await conversation.save();
    expect(conversation.saving.value).toBe("failed");
    expect(toasts.value).toEqual([]);
    server.isAway = false;
    elsewhere([cell("a"), cell("b", "theirs")]);
    const again = open();
    expect(again.cells.value.map(({ source }) => source.value)).toEqual(["typed while away", "theirs"]);
    await again.save();
    expect(saved()).toEqual(["typed while away", "theirs"]);
    expect(localStorage.length).toBe(0);
  });

  it("what two tabs could not save both survives, also when it is kept once more, and is not doubled", async () => {
    const [one, two] = [open(), open()];
    server.isAway = true;
    one.cells.value[0]!.source.value = "typed in one";
    two.cells.value[0]!.source.value = "typed in two";
    await Promise.all([one.save(), two.save()]);
    const sources = (conversation: typeof one) => conversation.cells.value.map(({ source }) => source.value).sort();
    const again = open();
    expect(sources(again)).toEqual(["b", "typed in one", "typed in two"]);
    await again.save(); // still away
    const last = open();
    expect(sources(last)).toEqual(["b", "typed in one", "typed in two"]);
    server.isAway = false;
    await last.save();
    expect(saved().sort()).toEqual(["b", "typed in one", "typed in two"]);
    expect(localStorage.length).toBe(0);
  });

  it("does not drop what another tab has kept since its draft was taken in", async () => {
    const one = open();
    server.isAway = true;
    one.cells.value[0]!.source.value = "typed";
    await one.save();
    const two = open();
    one.cells.value[1]!.source.value = "and more";
    await one.save();
    server.isAway = false;
    await two.save();
    expect(open().cells.value.map(({ source }) => source.value)).toEqual(["typed", "and more"]);
  });

  it("takes in a draft that has no tab in its key, as older pages kept it", async () => {
    const conversation = open();
    const base = conversation.snapshot();
    localStorage.setItem("vivarium.draft.cnv_1", JSON.stringify({ base, ours: { ...base, cells: [cell("a", "typed"), cell("b")] } }));
    const again = open();
    expect(again.cells.value.map(({ source }) => source.value)).toEqual(["typed", "b"]);
    await again.save();
    expect(saved()).toEqual(["typed", "b"]);
    expect(localStorage.length).toBe(0);
  });

  it("removes a draft that cannot be read, and none of another conversation", () => {
    for (const [tab, text] of ["", "{", "null", "7", '{"base":{},"ours":{}}'].entries()) localStorage.setItem(`vivarium.draft.cnv_1.c${tab}`, text);
    localStorage.setItem("vivarium.draft.cnv_1", "[]");
    for (const other of ["vivarium.draft.cnv_10", "vivarium.draft.cnv_10.c1", "vivarium.settings"]) localStorage.setItem(other, "{");
    expect(open().cells.value.map(({ source }) => source.value)).toEqual(["a", "b"]);
    expect(Object.keys(localStorage).sort()).toEqual(["vivarium.draft.cnv_10", "vivarium.draft.cnv_10.c1", "vivarium.settings"]);
  });

  it("saves what it has when the daemon is back", async () => {
    const conversation = open();
    server.isAway = true;
    conversation.cells.value[1]!.source.value = "later";
    await conversation.save();
    server.isAway = false;
    await conversation.save();
    expect(saved()).toEqual(["a", "later"]);
  });

  it.each([0, 503, 507])("a save that failed with %i is tried again by itself, and told once", async (status) => {
    vi.useFakeTimers();
    try {
      const conversation = open();
      server.isAway = status === 0;
      server.refusal = status;
      conversation.cells.value[0]!.source.value = "typed";
      await conversation.save();
      await vi.advanceTimersByTimeAsync(1000);
      expect(server.puts).toBe(2);
      expect(conversation.saving.value).toBe("failed");
      expect(toasts.value).toHaveLength(status === 0 ? 0 : 1);
      Object.assign(server, { isAway: false, refusal: null });
      await vi.advanceTimersByTimeAsync(2000);
      expect(conversation.saving.value).toBe("saved");
      expect(saved()).toEqual(["typed", "b"]);
      toasts.value.forEach(({ id }) => closeToast(id));
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("a save that was refused for what it is waits for the next change", async () => {
    vi.useFakeTimers();
    try {
      const conversation = open();
      server.refusal = 413;
      conversation.cells.value[0]!.source.value = "much";
      await conversation.save();
      await vi.advanceTimersByTimeAsync(60_000);
      expect(server.puts).toBe(1);
      expect(conversation.saving.value).toBe("failed");
    } finally {
      vi.useRealTimers();
    }
  });

  it("a deleted one is not saved any more", async () => {
    const conversation = open();
    conversation.cells.value[0]!.source.value = "too late";
    conversation.touch();
    conversation.lose();
    await conversation.save();
    expect(server.puts).toBe(0);
  });

  it("leaves out what is no cell, and a second cell of one id", () => {
    server.record.document = { cells: [cell("a", "1"), cell("a", "2"), { id: "../x" } as CellRecord, cell("b")] };
    expect(open().cells.value.map(({ id }) => id)).toEqual(["a", "b"]);
    server.record.document = {} as { cells: CellRecord[] };
    expect(open().cells.value).toEqual([]);
  });
});

describe("the session behind it", () => {
  it("is made once, however many ask, and kept", async () => {
    const conversation = open();
    const ids = await Promise.all([ensureSession(conversation), ensureSession(conversation)]);
    expect(ids).toEqual(["ses_1", "ses_1"]);
    await conversation.save();
    expect(server.record.session).toBe("ses_1");
    expect(await ensureSession(conversation)).toBe("ses_1");
    expect(server.made).toBe(1);
    expect(toasts.value).toEqual([]);
  });

  it.each(["gone", "lost"])("is made anew when it is %s, and says so", async (how) => {
    const conversation = open();
    await ensureSession(conversation);
    if (how === "gone") server.sessions.clear();
    else server.sessions.get("ses_1")!.state = "lost";
    expect(await ensureSession(conversation)).toBe("ses_2");
    expect(conversation.session.value).toBe("ses_2");
    expect(toasts.value[0]?.text).toContain("The session had ended");
  });

  it("has a name that fits, cut between characters", () => {
    expect(sessionName("Sales")).toBe("Sales");
    expect(new TextEncoder().encode(sessionName("é".repeat(150))).length).toBe(200);
    expect(sessionName("🦎".repeat(60))).toBe("🦎".repeat(50));
  });
});

describe("a session of somebody else", () => {
  it("is looked at, not run in, and not replaced", async () => {
    const { self, isOthers } = await import("../../src/state/self");
    self.value = { token: "boss", oversees: true };
    server.sessions.set("ses_9", { id: "ses_9", state: "idle", token: "alice" } as Session);
    server.record.session = "ses_9";
    const conversation = open();
    await expect(ensureSession(conversation)).rejects.toThrow("the session belongs to alice");
    expect(conversation.session.value).toBe("ses_9");
    expect(server.made).toBe(0);
    expect(isOthers({ id: "ses_8", token: "boss" } as Session)).toBe(false);
    self.value = null;
    expect(isOthers(server.sessions.get("ses_9"))).toBe(false); // the daemon decides where the page does not know
  });
});
