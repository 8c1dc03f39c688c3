// SPDX-License-Identifier: Apache-2.0
// Where a run went wrong: the line of the cell that its traceback names.
import type { Text } from "@codemirror/state";
import type { RunError } from "../api/types";
import type { Output } from "../output/model";

export interface Mark {
  from: number;
  to: number;
  message: string;
}

const MESSAGE_MAX = 400;

export function lastError(output: Output | null): RunError | null {
  const item = output?.items.findLast((one) => one.kind === "error");
  return item?.kind === "error" ? item.error : null;
}

/** The line to underline; null where the error names none, or the text has been changed since it ran. */
export function markOf(error: RunError | null, doc: Text): Mark | null {
  if (!error || typeof error.line !== "number" || !(error.line >= 1 && error.line <= doc.lines)) return null;
  const line = doc.line(error.line);
  const text = line.text.trim();
  // A traceback quotes the line it means. Where it does not, the cell is no longer the one that ran.
  if (text === "" || !String(error.traceback).includes(text)) return null;
  const from = line.from + line.text.indexOf(text);
  const message = error.message ? `${error.type}: ${error.message}` : error.type;
  return { from, to: from + text.length, message: message.length > MESSAGE_MAX ? `${message.slice(0, MESSAGE_MAX)}…` : message };
}
