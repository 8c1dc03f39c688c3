// SPDX-License-Identifier: Apache-2.0
// Whoever asks for a run chooses its text, its names and what it calls itself: none of it may look like something else.
import { describe, expect, it } from "vitest";
import { inputsOf } from "../../src/agents/card";
import { honest } from "../../src/agents/code";
import { askerOf } from "../../src/agents/who";
import { visible } from "../../src/panels/format";

describe("what a person judges", () => {
  it("has no character that is drawn as nothing", () => {
    for (const unseen of ["\u3164", "\u115f", "\u1160", "\uffa0", "\u034f", "\u180b", "\ufe00", "\u{e0100}", "\u2800", "\u200b", "\u202e",
      "\u2066", "\u00ad", "\u2028", "\u00a0", "\u3000", "\u2003", "\r", "\u0000", "\u001b", "\u{e0041}"]) {
      const { text, unseen: count } = honest(`a${unseen} = 1`);
      expect([text.includes(unseen), count]).toEqual([false, 1]);
      expect(visible(`x${unseen}y`)).not.toContain(unseen);
    }
    expect(honest("a = 1\n\tif b:\r\n  c")).toEqual({ text: "a = 1\n\tif b:\n  c", unseen: 0 });
    expect(honest("ä = '한국어 ⚠'").unseen).toBe(0);
    expect(honest("'⚠\ufe0f ❤\ufe0f'").unseen).toBe(0); // pictures
    expect(honest("a\ufe0f = '⚠\ufe0f\ufe0f'").unseen).toBe(2);
    expect(visible("a\ufe0f ⚠\ufe0f")).toBe("a‹fe0f› ⚠\ufe0f");
  });

  it("says who asked by what is proved, and calls a claim one", () => {
    expect(askerOf({ token: "alice", client: "boss", via: "http", peer: "127.0.0.1" })).toBe("Token alice");
    expect(askerOf({ token: null, client: "page", via: "http", peer: "127.0.0.1" })).toBe("A program that calls itself “page”");
    expect(askerOf({ token: null, client: "Token boss", via: "mcp", peer: "unix" })).toBe("A program that calls itself “Token boss”");
    expect(askerOf({ token: null, client: null, via: "http", peer: "unix" })).toBe("A local program");
  });

  it("leaves out none of what goes along, and shows what is known of it", () => {
    const many = Array.from({ length: 1500 }, (_, i) => ({ kind: "file", name: `${i}.py`, size: 1 }));
    expect(inputsOf([...many, { kind: "env", name: "PATH", size: 10, text: "/workspace" }]).at(-1)).toEqual(
      { kind: "env", name: "PATH", size: 10, text: "/workspace" });
    expect(inputsOf([...many]).length).toBe(1500);
  });
});
