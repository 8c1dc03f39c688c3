// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { carryOf, plainOf, spansOf } from "../../src/output/ansi";
import { Rows, rowSpans } from "../../src/output/rows";
import { LETTERS_MAX, LINES_MAX, Screen } from "../../src/output/screen";

const shown = (...writes: [("stdout" | "stderr"), string][]) => {
  const screen = new Screen();
  for (const [stream, text] of writes) screen.write(stream, text);
  return screen.lines.map((line) => line.text);
};
const out = (...texts: string[]) => shown(...texts.map((text) => ["stdout", text] as ["stdout", string]));

describe("a screen", () => {
  it("is not kept busy by a cursor that passes a long line again and again", () => {
    const screen = new Screen();
    screen.write("stdout", `${"\x1b[1mx".repeat(200_000)}\n`);
    screen.write("stdout", "\x1b[A\n".repeat(20_000));
    screen.write("stdout", "end");
    expect(screen.lines.map(({ text }) => text.length)).toEqual([1_000_000, "\x1b[1mend".length]);
  }, 3000);

  it("is not kept busy by letters that go over a long line one by one", () => {
    const screen = new Screen();
    screen.write("stdout", "x".repeat(3990) + "\rX".repeat(200_000));
    expect(screen.lines.map(({ text }) => text)).toEqual(["X"]);
  }, 1500);

  it("still carries a colour that the line got later", () => {
    expect(out("a\n\x1b[A\x1b[31mb\nc")).toEqual(["\x1b[31mb", "\x1b[31mc"]);
  });

  it("keeps lines, also empty ones, and goes on with an open one", () => {
    expect(out("a\n\nb", "c\n", "d")).toEqual(["a", "", "bc", "d"]);
  });

  it("lets a progress bar write over its line", () => {
    expect(out("\r 10%|#  ", "\r 20%|## ", "\r100%|###", "\ndone\n")).toEqual(["100%|###", "done"]);
  });

  it("leaves what a shorter text does not cover, as a terminal does", () => {
    expect(out("abcdef\rxy\n")).toEqual(["xycdef"]);
    expect(out("abcdef\rx", "y\n")).toEqual(["xycdef"]);
    expect(out("abcdef\r\x1b[Kxy\n")).toEqual(["xy"]);
    expect(out("abcdef\x1b[2K\rxy\n")).toEqual(["xy"]);
    expect(out("abc\b\bX\n")).toEqual(["aXc"]);
  });

  it("takes CR LF for the end of a line, also when they come apart", () => {
    expect(out("a\r\nb\r", "\nc")).toEqual(["a", "b", "c"]);
  });

  it("lets nested bars go up to their lines, never above the item they are in", () => {
    expect(out("outer 0\ninner 0\x1b[A\router 1\ninner 1\n")).toEqual(["outer 1", "inner 1"]);
    const screen = new Screen();
    screen.write("stdout", "before\n");
    screen.seal();
    screen.write("stdout", "x\x1b[99A\ry\n");
    expect(screen.lines.map((line) => line.text)).toEqual(["before", "y"]);
  });

  it("keeps the streams apart", () => {
    expect(shown(["stdout", "a"], ["stderr", "b\n"], ["stdout", "c\n"])).toEqual(["a", "b", "c"]);
  });

  it("lets a colour last over the end of a line", () => {
    expect(out("\x1b[31mred\nstill\x1b[0m\nplain\n")).toEqual(["\x1b[31mred", "\x1b[31mstill\x1b[0m", "plain"]);
  });

  it("is bounded in lines and letters, and counts what it drops", () => {
    const lines = new Screen();
    lines.write("stdout", "\n".repeat(LINES_MAX + 10));
    expect(lines.lines.length).toBe(LINES_MAX);
    expect(lines.dropped).toBe(10);
    const letters = new Screen();
    const chunk = "x".repeat(1_000_000);
    for (let i = 0; i < LETTERS_MAX / chunk.length + 2; i++) letters.write("stdout", chunk);
    expect(letters.lines[0]!.text.length).toBeLessThanOrEqual(LETTERS_MAX);
    expect(letters.dropped).toBeGreaterThan(0);
  });

  it("does not take long over a flood of carriage returns on a long line", () => {
    const screen = new Screen();
    const begin = performance.now();
    screen.write("stdout", "y".repeat(3900));
    for (let i = 0; i < 8; i++) screen.write("stdout", "\r\x1b[31ma\b".repeat(4000));
    expect(performance.now() - begin).toBeLessThan(10_000);
    expect(screen.lines.length).toBe(1);
  });
});

describe("escapes", () => {
  it("become classes of the theme", () => {
    expect(spansOf("\x1b[1;31mred\x1b[0m plain \x1b[92mgreen")).toEqual([
      { text: "red", classes: "ansi-1 ansi-bold" }, { text: " plain ", classes: "" }, { text: "green", classes: "ansi-10" },
    ]);
  });

  it("of larger tables become the nearest of the sixteen", () => {
    expect(spansOf("\x1b[38;5;196mx")[0]!.classes).toBe("ansi-9");
    expect(spansOf("\x1b[38;2;0;0;230mx")[0]!.classes).toBe("ansi-4");
    expect(spansOf("\x1b[48;5;21mx")[0]!.classes).toBe("ansi-back-4");
    expect(spansOf("\x1b[38;5;99999999;1mx")[0]!.classes).toContain("ansi-bold");
  });

  it("that are not colours are dropped, titles and links among them", () => {
    expect(plainOf("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b[?25lc\x1b(Bd\x00\x07\x9b")).toBe("abcd");
  });

  it("never become markup: the text stays text", () => {
    expect(spansOf('\x1b[31m<img src=x onerror="1">')).toEqual([{ text: '<img src=x onerror="1">', classes: "ansi-1" }]);
  });

  it("carry over only what is still on", () => {
    expect(carryOf("\x1b[31mx\x1b[39;1my")).toBe("\x1b[1m");
    expect(carryOf("plain")).toBe("");
  });

  it("are bounded in number for one line", () => {
    expect(spansOf("\x1b[31ma\x1b[32mb".repeat(5000)).length).toBeLessThan(2100);
  });
});

describe("rows", () => {
  const line = (text: string) => ({ stream: "stdout" as const, text });

  it("break a wide line as a terminal does", () => {
    const rows = new Rows(10);
    const lines = [line("short"), line("x".repeat(25)), line(""), line("end")];
    rows.sync(lines, 0, 4);
    expect(rows.count).toBe(6);
    expect(rows.at(0)).toEqual({ line: 0, part: 0 });
    expect(rows.at(3)).toEqual({ line: 1, part: 2 });
    expect(rows.at(5)).toEqual({ line: 3, part: 0 });
    expect(rowSpans(lines[1]!, 2, 10)).toEqual([{ text: "xxxxx", classes: "" }]);
  });

  it("take notice of lines that grow and of new ones", () => {
    const rows = new Rows(10);
    const lines = [line("a")];
    rows.sync(lines, 0, 1);
    lines[0]!.text = "a".repeat(11);
    lines.push(line("b"));
    rows.sync(lines, 0, 2);
    expect(rows.count).toBe(3);
    expect(rows.at(2)).toEqual({ line: 1, part: 0 });
  });

  it("keep colours in each part of a broken line", () => {
    const text = line("\x1b[31m" + "r".repeat(12) + "\x1b[0m" + "p".repeat(12));
    expect(rowSpans(text, 1, 10)).toEqual([{ text: "rr", classes: "ansi-1" }, { text: "pppppppp", classes: "" }]);
  });

  it("know a place in 100,000 lines at once", () => {
    const rows = new Rows(80);
    const lines = Array.from({ length: 100_000 }, (_, i) => line(`line ${i}`));
    const begin = performance.now();
    rows.sync(lines, 0, lines.length);
    for (let i = 0; i < 10_000; i++) expect(rows.at(i * 9).line).toBe(i * 9);
    expect(performance.now() - begin).toBeLessThan(10_000);
  });
});
