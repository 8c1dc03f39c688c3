// SPDX-License-Identifier: Apache-2.0
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FeedEvent, RunRow, Session } from "../../src/api/types";

// A feed that the test speaks: each call of `feed` opens one, which says what is pushed into it.
class Line {
  private readonly waiting: (FeedEvent | Error | null)[] = [];
  private wake: () => void = () => {};
  constructor(readonly after: number | undefined, readonly signal: AbortSignal) {
    signal.addEventListener("abort", () => this.say(new DOMException("aborted", "AbortError")));
  }
  say(event: FeedEvent | Error | null): void {
    this.waiting.push(event);
    this.wake();
  }
  async *read(): AsyncGenerator<FeedEvent> {
    for (;;) {
      while (!this.waiting.length) await new Promise<void>((resolve) => (this.wake = resolve));
      const next = this.waiting.shift()!;
      if (next instanceof Error) throw next;
      if (next === null) return;
      yield next;
    }
  }
}
const lines: Line[] = [];
let onLine: () => void = () => {};
const nextLine = async (n: number) => {
  while (lines.length < n) await new Promise<void>((resolve) => (onLine = resolve));
  return lines[n - 1]!;
};
const listed = { sessions: [] as Session[], runs: [] as RunRow[], loads: 0 };

vi.mock("../../src/api/calls", () => ({
  feed: (after: number | undefined, signal: AbortSignal) => {
    const line = new Line(after, signal);
    lines.push(line);
    onLine();
    return line.read();
  },
  listSessions: async () => {
    listed.loads++;
    return listed.sessions;
  },
  listRuns: async () => listed.runs,
}));

const session = (id: string, state = "idle") => ({ id, state }) as Session;
const runRow = (id: string, state = "running") => ({ id, state, session: null }) as RunRow;
const hello = (seq: number, boot = "b1"): FeedEvent => ({ seq, type: "hello", boot });

let ApiError: typeof import("../../src/api/client").ApiError;
let feed: typeof import("../../src/state/feed");
beforeEach(async () => {
  vi.resetModules();
  lines.length = 0;
  Object.assign(listed, { sessions: [session("ses_1")], runs: [runRow("run_1")], loads: 0 });
  feed = await import("../../src/state/feed");
  ({ ApiError } = await import("../../src/api/client"));
});
let stop = () => {};
afterEach(() => stop());
const until = (check: () => void) => vi.waitFor(check, { timeout: 4000, interval: 5 });

describe("feed", () => {
  it("loads the lists after hello, then takes news in", async () => {
    const heard: string[] = [];
    feed.onRun((row) => heard.push(`${row.id} ${row.state}`));
    stop = feed.startFeed();
    const line = await nextLine(1);
    expect(line.after).toBeUndefined();
    expect(feed.connection.value).toBe("connecting");
    line.say(hello(10));
    await until(() => expect(feed.connection.value).toBe("on"));
    expect([...feed.sessions.value.keys()]).toEqual(["ses_1"]);
    line.say({ seq: 11, type: "session", session: session("ses_2") });
    line.say({ seq: 12, type: "session_gone", id: "ses_1" });
    line.say({ seq: 13, type: "run", run: runRow("run_2") });
    line.say({ seq: 14, type: "run", run: runRow("run_1", "over") });
    await until(() => expect(heard).toEqual(["run_2 running", "run_1 over"]));
    expect([...feed.sessions.value.keys()]).toEqual(["ses_2"]);
    expect(feed.runs.value.map(({ id, state }) => `${id} ${state}`)).toEqual(["run_2 running", "run_1 over"]);
  });

  it("goes on where it was after the connection broke, without loading anew", async () => {
    stop = feed.startFeed();
    const first = await nextLine(1);
    first.say(hello(10));
    first.say({ seq: 15, type: "session", session: session("ses_9") });
    await until(() => expect(feed.sessions.value.has("ses_9")).toBe(true));
    first.say(new ApiError(0, "away", "broke"));
    await until(() => expect(feed.connection.value).toBe("away"));
    expect(feed.retryAtMs.value).not.toBeNull();
    const second = await nextLine(2);
    expect(second.after).toBe(15);
    second.say(hello(16));
    second.say({ seq: 16, type: "session_gone", id: "ses_9" });
    await until(() => expect(feed.connection.value).toBe("on"));
    await until(() => expect(feed.sessions.value.has("ses_9")).toBe(false));
    expect(listed.loads).toBe(1);
  });

  it.each([
    ["another boot", [hello(3, "b2")]],
    ["a reset", [hello(90), { type: "reset" } as FeedEvent]],
    ["both", [hello(3, "b2"), { type: "reset" } as FeedEvent]],
  ])("loads anew, once, after %s", async (_, said) => {
    stop = feed.startFeed();
    const first = await nextLine(1);
    first.say(hello(10));
    await until(() => expect(feed.connection.value).toBe("on"));
    const reloaded = vi.fn();
    feed.onReload(reloaded);
    first.say(null);
    const second = await nextLine(2);
    listed.sessions = [session("ses_new")];
    for (const event of said) second.say(event);
    second.say({ seq: 91, type: "conversation", id: "cnv_1", version: 2 });
    await until(() => expect([...feed.sessions.value.keys()]).toEqual(["ses_new"]));
    second.say(null);
    expect((await nextLine(3)).after).toBe(91);
    expect(listed.loads).toBe(2);
    expect(reloaded).toHaveBeenCalledTimes(1);
  });

  it("waits for a token, and asks again when there is one", async () => {
    stop = feed.startFeed();
    (await nextLine(1)).say(new ApiError(401, "unauthorized", "no token"));
    await until(() => expect(feed.connection.value).toBe("unauthorized"));
    feed.restartFeed();
    (await nextLine(2)).say(hello(1));
    await until(() => expect(feed.connection.value).toBe("on"));
  });

  it("closes while nobody looks and comes back", async () => {
    const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    vi.useFakeTimers();
    try {
      hidden.mockReturnValue(false);
      stop = feed.startFeed();
      await vi.waitFor(() => expect(lines).toHaveLength(1));
      lines[0]!.say(hello(5));
      await vi.waitFor(() => expect(feed.connection.value).toBe("on"));
      hidden.mockReturnValue(true);
      document.dispatchEvent(new Event("visibilitychange"));
      await vi.advanceTimersByTimeAsync(10_000);
      expect(lines[0]!.signal.aborted).toBe(true);
      expect(lines).toHaveLength(1);
      hidden.mockReturnValue(false);
      document.dispatchEvent(new Event("visibilitychange"));
      await vi.waitFor(() => expect(lines).toHaveLength(2));
      expect(lines[1]!.after).toBe(5);
    } finally {
      vi.useRealTimers();
      hidden.mockRestore();
    }
  });

  it("keeps the newest runs only", () => {
    let list: readonly RunRow[] = [];
    for (let i = 0; i < 250; i++) list = feed.putRun(list, runRow(`run_${i}`));
    expect(list).toHaveLength(200);
    expect(list[0]?.id).toBe("run_249");
  });
});
