// SPDX-License-Identifier: Apache-2.0
// ISO texts as moments. The axis shows what the code said: the time of day as it is written, whatever its UTC offset.

const ISO = /^\d{4}-\d{2}(?:-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?)?$/;

export function momentOf(value: unknown): number | null {
  if (typeof value !== "string" || value.length > 40) return null;
  const match = ISO.exec(value);
  if (!match) return null;
  const text = value.slice(0, value.length - (match[1]?.length ?? 0)).replace(" ", "T");
  const ms = Date.parse(text.includes("T") ? text + "Z" : text);
  return Number.isNaN(ms) ? null : ms;
}

/** How far the clock of a moment is ahead of UTC, in ms; 0 where the text does not say. */
function offsetOf(text: string): number {
  const [, sign, hours, minutes] = /([+-])(\d{2}):?(\d{2})$/.exec(ISO.exec(text)?.[1] ?? "") ?? [];
  return sign ? (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000 : 0;
}

export interface Moments {
  places: number[]; // as they are written; in UTC where that would change their order
  exact: number[]; // in UTC
  notice: string; // "" when all have the same offset
}

/** The moments of one axis; null when one of the labels is none. `name` is that of the axis. */
export function momentsOf(labels: readonly unknown[], name: string): Moments | null {
  const written = labels.map(momentOf);
  if (!written.every((moment) => moment !== null)) return null;
  const offsets = labels.map((label) => offsetOf(label as string));
  const exact = written.map((moment, i) => moment - offsets[i]!);
  if (offsets.every((offset) => offset === offsets[0])) return { places: written, exact, notice: "" };
  const inOrder = exact.map((_, i) => i).sort((a, b) => exact[a]! - exact[b]!);
  const isTrue = inOrder.every((at, i) => i === 0 || Math.sign(written[at]! - written[inOrder[i - 1]!]!) === Math.sign(exact[at]! - exact[inOrder[i - 1]!]!));
  const several = `The times of ${JSON.stringify(name.slice(0, 40))} have several UTC offsets`;
  return {
    places: isTrue ? written : exact, exact,
    notice: isTrue ? `${several}; each is drawn as it is written.` : `${several}, and as they are written they would change their order; they are drawn in UTC.`,
  };
}

/** A moment as short as it can be said. */
export function momentText(ms: number): string {
  if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) return String(ms);
  const text = new Date(ms).toISOString();
  if (text.endsWith("T00:00:00.000Z")) return text.slice(0, -14);
  return text.replace("T", " ").replace(/(:00)?\.000Z$/, "").replace(/Z$/, "");
}
