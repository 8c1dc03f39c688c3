// SPDX-License-Identifier: Apache-2.0
// An exception, folded: what it is, and the line of the cell it came from. All of the traceback is one click away.
import { useState } from "preact/hooks";
import type { RunError } from "../api/types";
import { plainOf } from "./ansi";
import { copyText, Tool } from "./parts";

const LINES_MAX = 4000;
const OWN = /^ {2}File "<(?:cell (\d+)|an earlier cell)>", line (\d+)(?:, in (.{1,200}))?/;
const ANY_CELL = /^([ |]*File )"<cell (\d+)>"(, line (\d+).*)$/;
const SHOWN_CELL = /^[ |]*File "<(cell \d+|an earlier cell)>"/;
const IN_MESSAGE = /\(<cell (\d+)>, line (\d+)\)$/;

/** Where a line of code stands on the page: the number of the cell that has it there now, or null. */
export type FindCell = (line: number, text: string) => number | null;

/** The session counts its runs, the page its cells: the names in a traceback become the page's. The outermost frame is
 * the run's own; code of earlier runs is found by the line that the traceback quotes. */
export function renumber(traceback: string, own: number | undefined, find: FindCell): string {
  const lines = traceback.split("\n");
  const first = lines.map((text) => ANY_CELL.exec(text)?.[2]).find((number) => number !== undefined);
  if (own === undefined || first === undefined) return traceback;
  return lines.map((text, i) => {
    const match = ANY_CELL.exec(text);
    if (!match) return text;
    const [, before, number, after, line] = match;
    const quoted = (lines[i + 1] ?? "").replace(/^[ |]*/, "").trim();
    const place = number === first ? own : find(Number(line), quoted);
    return `${before}"<${place === null ? "an earlier cell" : `cell ${place}`}>"${after}`;
  }).join("\n");
}

/** The message of a SyntaxError ends with its place: it is named as the traceback names it. `told`: the traceback as it came;
 * `shown`: the same lines, renumbered. */
export function renumberMessage(message: string, told: string, shown: string): string {
  const names = shown.split("\n").map((text) => SHOWN_CELL.exec(text)?.[1]);
  const frames = told.split("\n").map((text) => ANY_CELL.exec(text));
  return message.replace(IN_MESSAGE, (whole, number: string, line: string) => {
    const name = names[frames.findIndex((frame) => frame?.[2] === number && frame[4] === line)];
    return name === undefined ? whole : `(<${name}>, line ${line})`;
  });
}

export interface Place {
  cell: number | null; // null: of an earlier run, whose cell is not there any more
  line: number;
  within: string; // the function, "" at the top of the cell
  source: string[]; // the line of code, and what is pointed at
}

/** Where in the cell it went wrong: the last frame of the cell's own code. */
export function placeOf(traceback: string): Place | null {
  const lines = traceback.split("\n");
  let place: Place | null = null;
  for (let i = 0; i < lines.length; i++) {
    const match = OWN.exec(lines[i]!);
    if (!match) continue;
    const source: string[] = [];
    for (let j = i + 1; j < lines.length && source.length < 3 && /^ {4}/.test(lines[j]!); j++) source.push(lines[j]!.slice(4));
    const [, cell, line, within = ""] = match;
    place = { cell: cell === undefined ? null : Number(cell), line: Number(line), within: within === "<module>" ? "" : within, source };
  }
  return place;
}

/** The traceback by lines; those of the cell's own frames are marked. */
function markedLines(traceback: string): { text: string; isOwn: boolean }[] {
  let isOwn = false;
  return traceback.split("\n").slice(0, LINES_MAX).map((text) => {
    if (/^ {2}\S/.test(text)) isOwn = OWN.test(text);
    else if (!/^ {4}/.test(text)) isOwn = false;
    return { text: plainOf(text), isOwn };
  });
}

interface Props {
  error: RunError;
  cell: number | undefined; // its number on the page
  find: FindCell;
}

export function TracebackView({ error, cell, find }: Props) {
  const [isOpen, setOpen] = useState(false);
  const told = error.traceback.replace(/\n+$/, "");
  const traceback = renumber(told, cell, find);
  const message = renumberMessage(error.message, told, traceback);
  const place = placeOf(traceback);
  const elsewhere = !place || cell === undefined || place.cell === cell ? "" : place.cell === null ? "an earlier cell, " : `cell ${place.cell}, `;
  const hasMore = traceback.includes("\n");
  return (
    <div class="traceback">
      <p class="traceback-head">
        <strong>{error.type}</strong>
        {message && <span class="traceback-message">: {message.slice(0, 2000).split("\n").map(plainOf).join("\n")}</span>}
      </p>
      {place && !isOpen && (
        <div class="traceback-place">
          <span class="out-soft">{elsewhere}line {place.line}{place.within && ` in ${place.within}`}</span>
          {place.source.length > 0 && <pre tabIndex={0} aria-label={`Line ${place.line} of the cell`}>{place.source.map(plainOf).join("\n")}</pre>}
        </div>
      )}
      {isOpen && (
        <pre class="traceback-all" tabIndex={0} aria-label="Traceback">
          {markedLines(traceback).map(({ text, isOwn }, i) => (
            <span key={i} class={isOwn ? "is-own" : ""}>{text}{"\n"}</span>
          ))}
        </pre>
      )}
      {hasMore && (
        <div class="out-tools">
          <button type="button" class="out-tool" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? "Hide traceback" : "Show traceback"}
          </button>
          <Tool label="Copy" name="Copy traceback" onClick={() => void copyText(traceback)} />
        </div>
      )}
    </div>
  );
}
