// SPDX-License-Identifier: Apache-2.0
// Numbers for people.

const whole = new Intl.NumberFormat("en-US");

export const formatCount = (count: number) => whole.format(count);

/** `1 line`, `2 lines`. */
export const plural = (count: number, word: string) => `${formatCount(count)} ${word}${count === 1 ? "" : "s"}`;

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return plural(Math.round(bytes), "byte");
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 99.5 ? Math.round(value) : Number(value.toFixed(1))} ${units[unit]}`;
}

export function formatMs(ms: number): string {
  if (ms < 0.95) return "<1 ms";
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${Number((ms / 1000).toFixed(ms < 9_995 ? 2 : 1))} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return hours % 24 ? `${Math.floor(hours / 24)} d ${hours % 24} h` : `${hours / 24} d`;
}

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** A limit as the daemon writes it (`120s`), as this page does (`2 min`); anything else as it is. */
export function formatSpan(text: string): string {
  const [, count, unit] = /^(\d{1,12})(h|m|s|ms)$/.exec(text) ?? [];
  return unit ? formatMs(Number(count) * UNIT_MS[unit]!) : text;
}

const DIGITS_MAX = 15; // of a decimal that a double holds for certain; further ones are noise
const decimals = new Intl.NumberFormat("en-US", { maximumSignificantDigits: DIGITS_MAX });

/** A number with the digits that it has. */
export function formatNumber(value: number): string {
  if (Number.isSafeInteger(value)) return whole.format(value);
  const size = Math.abs(value);
  if (size < 1e15 && size >= 1e-4) return decimals.format(value);
  return Number(value.toPrecision(DIGITS_MAX)).toExponential();
}
