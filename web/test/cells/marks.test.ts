// SPDX-License-Identifier: Apache-2.0
import { beforeEach, describe, expect, it, vi } from "vitest";
import * as calls from "../../src/api/calls";
import type { Checkpoint, RunState, Session } from "../../src/api/types";
import { markAllUndone, markStale, markUndone, sidesOf } from "../../src/cells/marks";
import { Cell } from "../../src/state/conversation";
import { conversationOf, verdict } from "./parts";

vi.mock("../../src/api/calls");

function ran(id: string, source: string, state: RunState = "preserved"): Cell {
  const cell = new Cell({ id, kind: "code", source, run: `run_${id}` });
  cell.output.peek()!.apply({ ...verdict(1), state } as never);
  return cell;
}

const marks = (cells: Cell[]) => cells.map((cell) => cell.mark.value ?? "-").join(" ");

describe("cells that may be stale", () => {
  it("are those below that read what was written, also by way of others", () => {
    const cells = [ran("a", "df = load()"), ran("b", "df.head()"), ran("c", "total = df.n.sum()"), ran("d", "other = 1"), ran("e", "print(total)")];
    const conversation = conversationOf(cells, "ses_1");
    conversation.touch = vi.fn();
    markStale(conversation, cells[0]!);
    expect(marks(cells)).toBe("- stale stale - stale");
    expect(conversation.touch).toHaveBeenCalled();
  });

  it("are none above, none that set the name themselves, and none that never ran", () => {
    const cells = [ran("a", "print(df)"), ran("b", "df = load()"), ran("c", "df = []\ndf"), ran("d", "df"), new Cell({ id: "e", kind: "code", source: "df", run: null })];
    markStale(conversationOf(cells, "ses_1"), cells[1]!);
    expect(marks(cells)).toBe("- - - - -");
  });

  it("are none when the run changed nothing", () => {
    const cells = [ran("a", "df = load()", "rolled_back"), ran("b", "df")];
    markStale(conversationOf(cells, "ses_1"), cells[0]!);
    expect(marks(cells)).toBe("- -");
  });
});

const point = (id: string, parent: string | null, created_ms: number): Checkpoint =>
  ({ id, parent, run: `run_${id}`, name: null, created_ms, memory: 0 });

describe("cells that were undone", () => {
  // a - b - c, then back to a, and d
  const tree = [point("a", null, 1), point("b", "a", 2), point("c", "b", 3), point("d", "a", 4)];

  it("are those whose state is not on the way to the head", () => {
    const back = new Map([["run_b", "undone"], ["run_c", "undone"]]);
    expect(sidesOf(tree, "d")).toEqual({ live: new Set(["run_d", "run_a"]), undone: back });
    expect(sidesOf(tree.slice(0, 3), "a").undone).toEqual(back);
    // The way back ends at a state that is no longer kept: older ones may be part of it.
    expect(sidesOf([point("kept", null, 1), point("z", "gone", 5)], "z").undone).toEqual(new Map());
    // A restart: its first state is of nothing that ran before.
    expect(sidesOf([...tree, { ...point("new", null, 5), run: null }, point("e", "new", 6)], "e"))
      .toEqual({ live: new Set(["run_e"]), undone: new Map(["run_a", "run_b", "run_c", "run_d"].map((run) => [run, "restarted"])) });
  });

  it("are marked when the head moves, and no more when it comes back", async () => {
    const cells = [ran("a", "1"), ran("b", "2"), ran("c", "3")];
    const conversation = conversationOf(cells, "ses_1");
    vi.mocked(calls.listCheckpoints).mockResolvedValue(tree.slice(0, 3));
    const goTo = (head: string) => {
      vi.mocked(calls.getSession).mockResolvedValue({ id: "ses_1", head } as Session);
      return markUndone(conversation);
    };
    await goTo("a");
    expect(marks(cells)).toBe("- undone undone");
    await goTo("c");
    expect(marks(cells)).toBe("- - -");
  });

  it("are not stale where the session went back to what they read", async () => {
    const cells = [ran("c", "a = 10"), ran("b", "b = a + 1")]; // the first cell has run again after the second, as c
    const conversation = conversationOf(cells, "ses_1");
    vi.mocked(calls.listCheckpoints).mockResolvedValue(tree.slice(0, 3));
    const goTo = (head: string) => {
      vi.mocked(calls.getSession).mockResolvedValue({ id: "ses_1", head } as Session);
      return markUndone(conversation);
    };
    cells[1]!.mark.value = "stale";
    await goTo("c");
    expect(marks(cells)).toBe("- stale");
    await goTo("b");
    expect(marks(cells)).toBe("undone -");
  });

  it("are not those that were rolled back before a restart: they had set nothing", () => {
    const failed = ran("b", "2");
    failed.output.value!.apply({ seq: 9, t_ms: 1, type: "verdict", state: "rolled_back", verdict: { kind: "crash" } } as never);
    const cells = [ran("a", "1"), failed];
    markAllUndone(conversationOf(cells, "ses_1"));
    expect(marks(cells)).toBe("restarted -");
  });

  it("are all of them after a restart, until the session goes back to a state on disk", async () => {
    const cells = [ran("a", "1"), ran("b", "2")];
    const conversation = conversationOf(cells, "ses_1");
    vi.mocked(calls.listCheckpoints).mockResolvedValue(tree.slice(0, 2));
    const headIs = (head: string | null) => vi.mocked(calls.getSession).mockResolvedValue({ id: "ses_1", head } as Session);
    headIs("b");
    const late = markUndone(conversation); // asked before the restart, answered after it
    markAllUndone(conversation);
    await late;
    expect(marks(cells)).toBe("restarted restarted");
    headIs(null);
    await markUndone(conversation);
    expect(marks(cells)).toBe("restarted restarted");
    headIs("b");
    await markUndone(conversation);
    expect(marks(cells)).toBe("- -");
  });

  it("say whether the session went back or was restarted, and the first of the two stays", async () => {
    const cells = [ran("a", "1"), ran("b", "2")];
    const conversation = conversationOf(cells, "ses_1");
    vi.mocked(calls.listCheckpoints).mockResolvedValue(tree.slice(0, 2));
    vi.mocked(calls.getSession).mockResolvedValue({ id: "ses_1", head: "a" } as Session);
    await markUndone(conversation);
    markAllUndone(conversation);
    expect(marks(cells)).toBe("restarted undone");
    // Opened elsewhere, where nobody saw it happen: the states tell as much.
    const others = [ran("a", "1"), ran("b", "2")];
    vi.mocked(calls.listCheckpoints).mockResolvedValue([...tree.slice(0, 2), { ...point("new", null, 5), run: null }]);
    vi.mocked(calls.getSession).mockResolvedValue({ id: "ses_1", head: "new" } as Session);
    await markUndone(conversationOf(others, "ses_1"));
    expect(marks(others)).toBe("restarted restarted");
  });

  it("are also those that a later run took with it, though they had no state", async () => {
    const cells = [ran("a", "1"), ran("b", "2"), ran("e", "3")]; // e's run went well, and c's found what it had spoiled
    const healing = ran("f", "4");
    healing.output.value!.apply({
      seq: 99, t_ms: 1, type: "verdict", state: "rolled_back", verdict: { kind: "exception" },
      checkpoint: { id: "b", after: "run_b", undone: ["run_e", "run_f"] },
    } as never);
    const conversation = conversationOf([...cells, healing], "ses_1");
    vi.mocked(calls.listCheckpoints).mockResolvedValue(tree.slice(0, 2));
    vi.mocked(calls.getSession).mockResolvedValue({ id: "ses_1", head: "b" } as Session);
    await markUndone(conversation);
    expect(marks([...cells, healing])).toBe("- - rolled_back -");
    // The session may be gone by the time that somebody looks: what the run told stays true.
    cells[2]!.mark.value = null;
    vi.mocked(calls.getSession).mockRejectedValue(new Error("gone"));
    await markUndone(conversation);
    expect(marks(cells)).toBe("- - rolled_back");
    // A state with that run that is gone back to has what it set.
    vi.mocked(calls.getSession).mockResolvedValue({ id: "ses_1", head: "e" } as Session);
    vi.mocked(calls.listCheckpoints).mockResolvedValue([...tree.slice(0, 2), point("e", "b", 7)]);
    await markUndone(conversation);
    expect(marks(cells)).toBe("- - -");
  });

  it("are none before one whose state on disk the session has gone to, though they left no state", async () => {
    const cells = [ran("a", "1"), ran("b", "2"), ran("c", "3")]; // b's state was not written
    const crashed = ran("f", "4");
    crashed.output.value!.apply({
      seq: 99, t_ms: 1, type: "verdict", state: "rolled_back", verdict: { kind: "crash" },
      checkpoint: { id: "a", after: "run_a", undone: ["run_b", "run_c", "run_f"], why: "thread t" },
    } as never);
    const conversation = conversationOf([...cells, crashed], "ses_1");
    vi.mocked(calls.listCheckpoints).mockResolvedValue([point("a", null, 1), point("c", "a", 3)]);
    vi.mocked(calls.getSession).mockResolvedValue({ id: "ses_1", head: "a" } as Session);
    await markUndone(conversation);
    expect(marks([...cells, crashed])).toBe("- rolled_back rolled_back -");
    vi.mocked(calls.getSession).mockResolvedValue({ id: "ses_1", head: "c" } as Session);
    await markUndone(conversation);
    expect(marks([...cells, crashed])).toBe("- - - -");
  });

  it("are none while what runs is further than its last state, whatever is on disk", async () => {
    const cells = [ran("a", "1"), ran("b", "2")];
    vi.mocked(calls.listCheckpoints).mockResolvedValue([point("a", null, 1), point("b", "a", 2)]);
    vi.mocked(calls.getSession).mockResolvedValue({ id: "ses_1", head: "a", checkpoint_blocked_by: "thread t" } as Session);
    await markUndone(conversationOf(cells, "ses_1"));
    expect(marks(cells)).toBe("- -");
  });

  it("are none that ran between two answers of the daemon, and the last look counts", async () => {
    const cells = [ran("a", "1"), ran("b", "2")];
    const conversation = conversationOf(cells, "ses_1");
    const at = (head: string) => ({ id: "ses_1", head }) as Session;
    vi.mocked(calls.getSession).mockResolvedValueOnce(at("a")).mockResolvedValue(at("b")); // b was made after the first answer
    vi.mocked(calls.listCheckpoints).mockResolvedValue(tree.slice(0, 2));
    await markUndone(conversation);
    expect(marks(cells)).toBe("- -");
    let answer = (_: Checkpoint[]) => {};
    vi.mocked(calls.getSession).mockResolvedValue(at("a"));
    vi.mocked(calls.listCheckpoints).mockReturnValueOnce(new Promise((resolve) => { answer = resolve; }));
    const slow = markUndone(conversation);
    await Promise.resolve();
    vi.mocked(calls.getSession).mockResolvedValue(at("b"));
    await markUndone(conversation);
    vi.mocked(calls.getSession).mockResolvedValue(at("a"));
    answer(tree.slice(0, 2));
    await slow;
    expect(marks(cells)).toBe("- -");
  });

  it("stay so in what is saved, until they run again", () => {
    const cell = ran("a", "1");
    cell.mark.value = "undone";
    const again = new Cell(JSON.parse(JSON.stringify(cell.record())));
    expect(again.mark.value).toBe("undone");
    again.accept({ ...cell.record(), run: "run_2", mark: undefined });
    expect(again.mark.value).toBe(null);
    expect(new Cell({ ...cell.record(), mark: "odd" as never }).mark.value).toBe(null);
  });
});

beforeEach(() => vi.resetAllMocks());
