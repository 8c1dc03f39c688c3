// SPDX-License-Identifier: Apache-2.0
// An exception, folded: what it is, and the line of the cell it came from. All of the traceback is one click away.
import { useState } from "preact/hooks";
import type { RunError } from "../api/types";
import { plainOf } from "./ansi";
import { copyText, Tool } from "./parts";

const LINES_MAX = 4000;
const CELL = /^ {2}File "<cell \d+>", line (\d+)(?:, in (.{1,200}))?/;

export interface Place {
  line: number;
  within: string; // the function, "" at the top of the cell
  source: string[]; // the line of code, and what is pointed at
}

/** Where in the cell it went wrong: the last frame of the cell's own code. */
export function placeOf(traceback: string): Place | null {
  const lines = traceback.split("\n");
  let place: Place | null = null;
  for (let i = 0; i < lines.length; i++) {
    const match = CELL.exec(lines[i]!);
    if (!match) continue;
    const source: string[] = [];
    for (let j = i + 1; j < lines.length && source.length < 3 && /^ {4}/.test(lines[j]!); j++) source.push(lines[j]!.slice(4));
    place = { line: Number(match[1]), within: match[2] === "<module>" ? "" : (match[2] ?? ""), source };
  }
  return place;
}

/** The traceback by lines; those of the cell's own frames are marked. */
function markedLines(traceback: string): { text: string; isOwn: boolean }[] {
  let isOwn = false;
  return traceback.split("\n").slice(0, LINES_MAX).map((text) => {
    if (/^ {2}\S/.test(text)) isOwn = CELL.test(text);
    else if (!/^ {4}/.test(text)) isOwn = false;
    return { text: plainOf(text), isOwn };
  });
}

export function TracebackView({ error }: { error: RunError }) {
  const [isOpen, setOpen] = useState(false);
  const traceback = error.traceback.replace(/\n+$/, "");
  const place = placeOf(traceback);
  const hasMore = traceback.includes("\n");
  return (
    <div class="traceback">
      <p class="traceback-head">
        <strong>{error.type}</strong>
        {error.message && <span class="traceback-message">: {plainOf(error.message.slice(0, 2000))}</span>}
      </p>
      {place && !isOpen && (
        <div class="traceback-place">
          <span class="out-soft">line {place.line}{place.within && ` in ${place.within}`}</span>
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
