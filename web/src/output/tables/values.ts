// SPDX-License-Identifier: Apache-2.0
// A value of a table as it is shown, as it is copied, and compared with others. Shown numbers have the decimals that pandas
// prints, and separators; what is copied and saved is exact.
import { textOf } from "../checks";
import type { Column } from "./table";

const NUMBERS = /^(u?int(?!erval)|float|complex|Int|UInt|Float|decimal)/;
const FLOATS = /^float/i;
const DIGITS = /^[+-]?\d+$/;
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,4})?$/i;
// Digits that count nothing; "Unnamed: 0" is an index that was saved and read back.
const LABELS = /(^|[_ .-])(years?|yr|ids?|uuid|key|zip|postcode|phone|code|index|nr|no)$|^unnamed: \d+$/i;
const CAMEL_ID = /[a-z]I[Dd]$/;
const PLAIN_BELOW = 10_000; // whole numbers that may as well be years
const PRECISION = 6; // digits behind the point that pandas prints at most
const CELL_MAX = 400;
const EXACT_MAX = 1_000_000;
const MINUS_ZERO = "-0.0";

export const isMissing = (value: unknown): value is null | undefined => value === null || value === undefined;

/** "1234567.5" -> "1,234,567.5". */
export function grouped(text: string): string {
  const match = /^([+-]?)(\d+)(.*)$/.exec(text);
  return match ? match[1] + match[2]!.replace(/\B(?=(\d{3})+$)/g, ",") + match[3] : text;
}

/** The value, whole: what is copied. `text` is its row's own for it, if it has one. */
export function exactText(value: unknown, column: Column, text?: string): string {
  if (text !== undefined) return text;
  if (isMissing(value)) return column.missing;
  if (typeof value === "boolean") return column.dtype ? (value ? "True" : "False") : String(value);
  return Object.is(value, -0) ? MINUS_ZERO : textOf(value, EXACT_MAX);
}

/** "1.000000e-07", as pandas prints a column of which fixed decimals would lose the digits. */
const power = (value: number) => value.toExponential(PRECISION).replace(/e([+-])(\d)$/, "e$10$2");

function numberText(value: number, column: Column): string {
  if (Object.is(value, -0)) return column.decimals === null ? MINUS_ZERO : `-${(0).toFixed(column.decimals)}`;
  if (column.decimals !== null && Math.abs(value) < 1e21) return value.toFixed(column.decimals);
  if (FLOATS.test(column.dtype) && !column.key.startsWith("i")) return power(value);
  if (column.dtype !== "object" || Number.isInteger(value)) return String(value);
  // One value among others of any kind: without the noise of its last digits, unless these are all.
  const text = value.toFixed(PRECISION).replace(/(\.\d+?)0+$/, "$1");
  return Number(text) === 0 ? String(value) : text;
}

/** The value as it stands in its cell. */
export function shownText(value: unknown, column: Column, own?: string): string {
  if (isMissing(value)) return own ?? column.missing;
  const isCount = !LABELS.test(column.name) && !CAMEL_ID.test(column.name) && !column.key.startsWith("i");
  if (typeof value === "number") {
    const text = own !== undefined && own !== MINUS_ZERO ? own : numberText(own === MINUS_ZERO ? -0 : value, column); // JSON's 0 may have lost its sign
    return isCount && !(DIGITS.test(text) && Math.abs(value) < PLAIN_BELOW) ? grouped(text) : text;
  }
  if (typeof value === "string" && NUMBERS.test(column.dtype) && isCount && DIGITS.test(value.slice(0, 100))) return grouped(value);
  if (typeof value === "string" && column.dtype.startsWith("datetime")) {
    const text = value.replace("T", " ").slice(0, CELL_MAX);
    return column.hasTime ? text : text.replace(/ 00:00:00(\.0+)?$/, "");
  }
  const text = exactText(value, column);
  return text.length > CELL_MAX ? `${text.slice(0, CELL_MAX)}…` : text;
}

/** Whether the column's values stand to the right: by its type, or by what the first rows hold where there is none. */
export function isNumeric(column: Column, values: readonly unknown[]): boolean {
  if (column.dtype) return NUMBERS.test(column.dtype);
  const held = values.slice(0, 100).filter((value) => !isMissing(value) && value !== "");
  return held.length > 0 && held.every((value) => typeof value === "number" || (typeof value === "string" && value.length < 60 && DECIMAL.test(value)));
}

const words = new Intl.Collator("en", { numeric: true });

/** A number that can be compared exactly; null for what is none. */
function magnitude(value: unknown): number | bigint | null {
  if (typeof value === "number" || typeof value === "boolean") return Number(value);
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  if (typeof value !== "string" || value.length > 400) return null;
  if (DIGITS.test(value)) return BigInt(value.replace("+", ""));
  return DECIMAL.test(value) ? Number(value) : null;
}

const PART = "[+-]?(?:inf|(?:\\d+\\.?\\d*|\\.\\d+)(?:e[+-]?\\d{1,4})?)";
const COMPLEX = new RegExp(`^\\(?(?:(${PART})(?=[+-]))?(${PART})j\\)?$`);

/** The real and the imaginary part of a complex number as Python writes it; null for what is none. */
function complexOf(value: unknown): [number, number] | null {
  const match = typeof value === "string" && value.length < 100 ? COMPLEX.exec(value) : null;
  const part = (text = "0") => Number(magnitude(text.replace(/^\+/, "")));
  return match && [part(match[1]), part(match[2])];
}

const GROUPED = /^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$/;

/** Whether a text is written as no number is: a comma separates thousands, and nothing else. */
export const isOddComma = (text: string): boolean => text.includes(",") && !GROUPED.test(text.trim());

/** The text that a filter compares a value with, from what was typed: "1,500" is a number where the value is one. */
export function wantedBy(value: unknown, typed: string): string {
  const text = typed.trim();
  return magnitude(value) !== null && GROUPED.test(text) ? text.replaceAll(",", "") : text;
}

/** Numbers by size, complex ones by their real part first, moments and texts by their letters; numbers come before texts. Of
 * values that are there. */
export function compare(a: unknown, b: unknown): number {
  const [x, y] = [magnitude(a), magnitude(b)];
  if (x !== null && y !== null) return x < y ? -1 : x > y ? 1 : 0;
  if (x !== null || y !== null) return x !== null ? -1 : 1;
  const [c, d] = [complexOf(a), complexOf(b)];
  if (c && d) return Math.sign(c[0] - d[0]) || Math.sign(c[1] - d[1]) || 0;
  return words.compare(textOf(a, 500), textOf(b, 500));
}
