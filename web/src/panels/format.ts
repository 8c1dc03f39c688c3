// SPDX-License-Identifier: Apache-2.0
// Numbers, times and names as people read them.
import type { Checkpoint } from "../api/types";
import { UNSEEN } from "./unseen";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** 1536 -> "1.5 KiB". */
export function bytes(count: number): string {
  if (!Number.isFinite(count) || count < 0) return "?";
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** The room that a state takes on disk; of one that is not there, what its session had in memory. */
export function roomText({ kind, memory, bytes: disk }: Checkpoint): string {
  if (kind === "portable" || disk) return `${bytes(disk ?? 0)} on disk`;
  return memory > 0 ? `${bytes(memory)} of memory` : "";
}

/** "just now", "5 min ago", "3 h ago", and a date for what is older than a day. */
export function ago(thenMs: number, nowMs = Date.now()): string {
  const seconds = Math.round((nowMs - thenMs) / 1000);
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(thenMs).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** The rest of a time, as a clock that runs down: "4:05", "2 h 3 min", "1 d 4 h". */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

/** Text that code or a client chose, on one line: what cannot be seen is shown by its number. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (char) => {
    if (char === "\n") return "⏎";
    if (char === "\t") return "⇥";
    return `‹${char.codePointAt(0)!.toString(16).padStart(4, "0")}›`;
  });
}

/** A literal that Python reads as exactly this text. JSON's escapes are Python's, too; what does not show is escaped, so
 * that code which people are to read cannot read otherwise than it runs. */
export function pythonText(text: string): string {
  return JSON.stringify(text).replace(/[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u007f-\u009f]/gu, (char) =>
    char.length === 1
      ? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`
      : `\\U${char.codePointAt(0)!.toString(16).padStart(8, "0")}`,
  );
}

/** The path below /workspace. */
export function shortPath(path: string): string {
  return path.replace(/^\/workspace\//, "");
}
