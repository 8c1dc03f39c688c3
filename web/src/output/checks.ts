// SPDX-License-Identifier: Apache-2.0
// Reading values that code in a sandbox chose. Nothing here throws, and only own members count: a value may have any
// name for a member, `__proto__` and `constructor` among them.

export type Loose = Record<string, unknown>;

export function isRecord(value: unknown): value is Loose {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member that the value itself has; undefined for all others, and for what is no object. */
export function own(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

export function ownText(value: unknown, name: string, max = 10_000): string {
  const member = own(value, name);
  return typeof member === "string" ? member.slice(0, max) : "";
}

export function ownList(value: unknown, name: string): unknown[] {
  const member = own(value, name);
  return Array.isArray(member) ? member : [];
}

/** A finite number: itself, or its digits as text (which is how exact decimals come); null for all others. */
export function numberOf(value: unknown): number | null {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "string" || value.length > 64 || value.trim() === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

export function countOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;
}

/** Any value as one short text. */
export function textOf(value: unknown, max = 300): string {
  let text: string;
  if (value === null || value === undefined) return "";
  if (typeof value === "string") text = value;
  else if (typeof value === "object") text = compactJson(value, max);
  else text = String(value);
  return text.length > max ? text.slice(0, max) + "…" : text;
}

/** JSON of a value, given up on when there is enough of it: a large one must not be written out to show its beginning. */
export function compactJson(value: unknown, max: number): string {
  const parts: string[] = [];
  let room = max;
  const put = (text: string) => {
    parts.push(text);
    room -= text.length;
  };
  const write = (part: unknown, depth: number): void => {
    if (room < 0) return;
    if (depth > 20) put("…");
    else if (Array.isArray(part)) {
      put("[");
      for (let i = 0; i < part.length && room >= 0; i++) {
        if (i) put(", ");
        write(part[i], depth + 1);
      }
      put("]");
    } else if (isRecord(part)) {
      put("{");
      let count = 0;
      for (const name in part) {
        if (room < 0) break;
        if (count++) put(", ");
        put(JSON.stringify(name.slice(0, max)) + ": ");
        write(part[name], depth + 1);
      }
      put("}");
    } else if (typeof part === "string") put(JSON.stringify(part.slice(0, max)));
    else put(String(part));
  };
  write(value, 0);
  const text = parts.join("");
  return text.length > max ? text.slice(0, max) + "…" : text;
}
