// SPDX-License-Identifier: Apache-2.0
// Escapes of a terminal as classes of the theme. Colours become one of sixteen, which both themes can show well; every
// other escape, and every control character, is dropped.

/** Text between these was typed by a person, for input(). Code cannot fake it: they are taken out of what it prints. */
const TYPED = "\x0e";
const TYPED_END = "\x0f";

/** Text that was typed, as a part of one line. */
export const typed = (line: string): string => (line ? TYPED + plainOf(line) + TYPED_END : "");

/** Text that code printed, without the marks of typed text. */
export const untyped = (text: string): string => (/[\x0e\x0f]/.test(text) ? text.replace(/[\x0e\x0f]/g, "") : text);

export interface Span {
  text: string;
  classes: string;
}

interface Style {
  front: number; // 0..15, -1: the theme's own
  back: number;
  flags: number;
}

export const TYPED_CLASS = "text-typed";
const SPANS_MAX = 2000; // of one line; what follows is plain
const BOLD = 1, DIM = 2, ITALIC = 4, UNDERLINE = 8, INVERSE = 16, STRIKE = 32;
const FLAGS: readonly [number, string][] = [
  [BOLD, "ansi-bold"], [DIM, "ansi-dim"], [ITALIC, "ansi-italic"], [UNDERLINE, "ansi-underline"],
  [INVERSE, "ansi-inverse"], [STRIKE, "ansi-strike"],
];
const FLAG_BY_CODE: Readonly<Record<number, number>> = { 1: BOLD, 2: DIM, 3: ITALIC, 4: UNDERLINE, 7: INVERSE, 9: STRIKE };
const CLEAR_BY_CODE: Readonly<Record<number, number>> = { 22: BOLD | DIM, 23: ITALIC, 24: UNDERLINE, 27: INVERSE, 29: STRIKE };

// A CSI, an OSC or another string, a two-letter escape, or a control character that has no place in a line.
const ESCAPE = /\x1b(?:\[([0-?]*)[ -/]*([@-~])|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?|[\x00-\x08\x0a-\x1f\x7f-\x9f]/g;
const ODD = /[\x00-\x08\x0a-\x1f\x7f-\x9f]/;

/** The sixteen, as xterm has them: what a colour of the larger tables is nearest to. */
const BASIC: readonly (readonly [number, number, number])[] = [
  [0, 0, 0], [205, 0, 0], [0, 205, 0], [205, 205, 0], [0, 0, 238], [205, 0, 205], [0, 205, 205], [229, 229, 229],
  [127, 127, 127], [255, 0, 0], [0, 255, 0], [255, 255, 0], [92, 92, 255], [255, 0, 255], [0, 255, 255], [255, 255, 255],
];

function nearest(red: number, green: number, blue: number): number {
  let best = 0;
  let least = Infinity;
  BASIC.forEach(([r, g, b], i) => {
    const distance = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
    if (distance < least) [best, least] = [i, distance];
  });
  return best;
}

function fromTable(index: number): number {
  if (index < 16) return index;
  const grey = 8 + (index - 232) * 10;
  if (index >= 232) return nearest(grey, grey, grey);
  const cube = index - 16;
  const level = (step: number) => (step ? 55 + step * 40 : 0);
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

/** The colour that follows 38 or 48, and how many parameters it took. */
function longColour(codes: readonly number[], at: number): [number | null, number] {
  const byte = (i: number) => Math.max(0, Math.min(255, codes[i] ?? 0));
  if (codes[at] === 5) return [fromTable(byte(at + 1)), 2];
  if (codes[at] === 2) return [nearest(byte(at + 1), byte(at + 2), byte(at + 3)), 4];
  return [null, 0];
}

function applyCodes(style: Style, parameters: string): void {
  const codes = parameters.slice(0, 200).split(/[;:]/).map((text) => (text === "" ? 0 : Number(text)));
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    if (code === 0) [style.front, style.back, style.flags] = [-1, -1, 0];
    else if (code >= 30 && code <= 37) style.front = code - 30;
    else if (code >= 90 && code <= 97) style.front = code - 82;
    else if (code >= 40 && code <= 47) style.back = code - 40;
    else if (code >= 100 && code <= 107) style.back = code - 92;
    else if (code === 39) style.front = -1;
    else if (code === 49) style.back = -1;
    else if (code === 38 || code === 48) {
      const [colour, taken] = longColour(codes, i + 1);
      if (colour !== null) style[code === 38 ? "front" : "back"] = colour;
      i += taken;
    } else if (Object.hasOwn(FLAG_BY_CODE, code)) style.flags |= FLAG_BY_CODE[code]!;
    else if (Object.hasOwn(CLEAR_BY_CODE, code)) style.flags &= ~CLEAR_BY_CODE[code]!;
  }
}

function classesOf(style: Style): string {
  const names: string[] = [];
  if (style.front >= 0) names.push(`ansi-${style.front}`);
  if (style.back >= 0) names.push(`ansi-back-${style.back}`);
  for (const [flag, name] of FLAGS) if (style.flags & flag) names.push(name);
  return names.join(" ");
}

/** A line as spans; without an escape it is one. */
export function spansOf(line: string): Span[] {
  if (!ODD.test(line)) return line ? [{ text: line, classes: "" }] : [];
  const spans: Span[] = [];
  const style: Style = { front: -1, back: -1, flags: 0 };
  let from = 0;
  let isTyped = false;
  const put = (text: string) => {
    if (!text) return;
    const classes = spans.length >= SPANS_MAX ? "" : isTyped ? TYPED_CLASS : classesOf(style);
    const last = spans.at(-1);
    if (last && last.classes === classes) last.text += text;
    else spans.push({ text, classes });
  };
  for (const match of line.matchAll(ESCAPE)) {
    put(line.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === "m") applyCodes(style, match[1] ?? "");
    else if (match[0] === TYPED || match[0] === TYPED_END) isTyped = match[0] === TYPED;
  }
  put(line.slice(from));
  return spans;
}

/** The visible text of a line. */
export function plainOf(line: string): string {
  return ODD.test(line) ? line.replace(ESCAPE, "") : line;
}

/** The escape with which a line must begin that follows this one: colours last until they are ended. */
export function carryOf(line: string): string {
  if (!line.includes("\x1b[")) return "";
  const style: Style = { front: -1, back: -1, flags: 0 };
  for (const match of line.matchAll(ESCAPE)) if (match[2] === "m") applyCodes(style, match[1] ?? "");
  return escapeOf(style);
}

function escapeOf(style: Style): string {
  const codes: number[] = [];
  for (const [code, flag] of Object.entries(FLAG_BY_CODE)) if (style.flags & flag) codes.push(Number(code));
  if (style.front >= 0) codes.push(style.front < 8 ? 30 + style.front : 82 + style.front);
  if (style.back >= 0) codes.push(style.back < 8 ? 40 + style.back : 92 + style.back);
  return codes.length ? `\x1b[${codes.join(";")}m` : "";
}
