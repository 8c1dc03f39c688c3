// SPDX-License-Identifier: Apache-2.0
// How long ago something was, in as few letters as a list has room for.
import { signal } from "@preact/signals";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function shortAgo(ms: number, now = Date.now()): string {
  const age = Math.max(0, now - ms);
  if (age < MINUTE) return "now";
  if (age < HOUR) return `${Math.floor(age / MINUTE)} min`;
  if (age < DAY) return `${Math.floor(age / HOUR)} h`;
  if (age < 7 * DAY) return `${Math.floor(age / DAY)} d`;
  const date = new Date(ms);
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return date.toLocaleDateString("en", { month: "short", day: "numeric", year: isThisYear ? undefined : "numeric" });
}

/** The time, told once a minute: what says how long ago something was reads it, and stays true. */
export const minute = signal(Date.now());
setInterval(() => (minute.value = Date.now()), MINUTE);
