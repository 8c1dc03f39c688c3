// SPDX-License-Identifier: Apache-2.0
// The title of a conversation that nobody named: its first cell or its first file.
import type { Conversation } from "./conversation";

export const UNTITLED = "Untitled";
const LETTERS_MAX = 48;

function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const letters = [...line];
  return letters.length > LETTERS_MAX ? `${letters.slice(0, LETTERS_MAX - 1).join("").trimEnd()}…` : line;
}

const linesOf = (source: string) => source.split("\n").map((line) => line.trim()).filter((line) => /[\p{L}\p{N}]/u.test(line));

/** The first line that does something, else the first line. */
export function deedOfCode(source: string): string {
  const lines = linesOf(source);
  return lines.find((line) => !/^(?:import\b|from\b|@|#|%|!)/.test(line)) ?? lines[0] ?? "";
}

/** The first comment or docstring, else the first line that does something, else the first line. */
export function titleOfCode(source: string): string {
  const first = linesOf(source)[0] ?? "";
  const said = /^#+!?\s*(.*)$/.exec(first) ?? /^[rRuU]?(?:"""|''')\s*(.+?)\s*(?:"""|''')?$/.exec(first);
  return shorten((said ? said[1]! : deedOfCode(source)).replace(/[:;,({[\\]+$/, ""));
}

export function titleOfNote(source: string): string {
  const first = source.split("\n").find((line) => /[\p{L}\p{N}]/u.test(line)) ?? "";
  return shorten(first.replace(/^[\s#>*+-]+/, "").replace(/[*_`]/g, ""));
}

/** From its first cell that has a text. */
function titleOf(conversation: Conversation): string {
  for (const { kind, source } of conversation.cells.peek()) {
    const title = kind.peek() === "code" ? titleOfCode(source.peek()) : titleOfNote(source.peek());
    if (title) return title;
  }
  return "";
}

/** Call when something begins in it: a name that a person gave stays. */
export function nameIt(conversation: Conversation, file?: string): void {
  if (conversation.name.peek() !== UNTITLED) return;
  const name = file === undefined ? titleOf(conversation) : shorten(file);
  if (!name) return;
  conversation.name.value = name;
  conversation.touch();
}
