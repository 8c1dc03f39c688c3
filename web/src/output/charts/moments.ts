// SPDX-License-Identifier: Apache-2.0
// ISO texts as moments. A text without a zone is read as UTC, and shown as UTC: the axis shows what the code said.

const ISO = /^\d{4}-\d{2}(?:-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?)?$/;

export function momentOf(value: unknown): number | null {
  if (typeof value !== "string" || value.length > 40) return null;
  const match = ISO.exec(value);
  if (!match) return null;
  const text = value.replace(" ", "T");
  const ms = Date.parse(text.includes("T") && !match[1] ? text + "Z" : text);
  return Number.isNaN(ms) ? null : ms;
}

/** A moment as short as it can be said. */
export function momentText(ms: number): string {
  if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) return String(ms);
  const text = new Date(ms).toISOString();
  if (text.endsWith("T00:00:00.000Z")) return text.slice(0, -14);
  return text.replace("T", " ").replace(/(:00)?\.000Z$/, "").replace(/Z$/, "");
}
