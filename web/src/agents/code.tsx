// SPDX-License-Identifier: Apache-2.0
// Code that a person is to judge: all of it, with line numbers, wrapped so that nothing hides to the right, and with
// every character that would not be seen, or would turn the order of what is, shown by its number.
import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { runCode } from "../api/calls";
import type { HeldRun } from "../api/types";
import { coloured } from "../cells/highlight";
import { bytes } from "../panels/format";
import { UNSEEN } from "../panels/unseen";
import { Button, Loading } from "../ui";
import "./agents.css";

const LINES_SHOWN = 500; // at first: the rest at a click, and nothing can be allowed before
const NUMBERED_MAX = 5000; // lines; above, they come as one piece
export const CODE_MAX = 1 << 20; // bytes; more than that nobody reads on a page

/** As `visible`, but lines and tabs stay. */
export function honest(code: string): { text: string; unseen: number } {
  let unseen = 0;
  const text = code.replace(/\r\n/g, "\n").replace(UNSEEN, (char) => {
    if (char === "\n" || char === "\t") return char;
    unseen++;
    return `‹${char.codePointAt(0)!.toString(16).padStart(4, "0")}›`;
  });
  return { text, unseen };
}

/** Coloured parts by line: a line that wraps keeps its number. Words of several lines were cut by the colouring. */
export function linesOf(parts: readonly (string | VNode)[]): (string | VNode)[][] {
  const rows: (string | VNode)[][] = [[]];
  for (const part of parts) {
    if (typeof part !== "string") {
      rows.at(-1)!.push(part);
      continue;
    }
    part.split("\n").forEach((piece, i) => {
      if (i > 0) rows.push([]);
      if (piece !== "") rows.at(-1)!.push(piece);
    });
  }
  return rows;
}

export type Whole = { code: string | null; error: string; retry: () => void };

/** The whole code of a run that waits: what came with the list, or fetched where that was cut. */
export function useWhole(run: HeldRun): Whole {
  const isCut = new TextEncoder().encode(run.code).length < run.code_size;
  const isTooLong = run.code_size > CODE_MAX;
  const [state, setState] = useState<{ code: string | null; error: string }>({
    code: isCut ? null : run.code,
    error: isTooLong ? `it has ${bytes(run.code_size)}, too much to judge on a page. Read it at /v1/runs/${run.id}/code; viv allow ${run.id} allows it` : "",
  });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (!isCut || isTooLong) return;
    let isWanted = true;
    runCode(run.id).then(
      (code) => isWanted && setState({ code, error: "" }),
      (cause: unknown) => isWanted && setState({ code: null, error: cause instanceof Error ? cause.message : String(cause) }),
    );
    return () => void (isWanted = false);
  }, [run.id, isCut, tries]);
  return { ...state, retry: () => setTries((n) => n + 1) };
}

interface CodeProps {
  whole: Whole;
  label: string;
  onAllShown: (isAll: boolean) => void;
}

export function CodeToJudge({ whole, label, onAllShown }: CodeProps) {
  const { code } = whole;
  const [isAll, setAll] = useState(false);
  const { text, unseen } = useMemo(() => honest(code ?? ""), [code]);
  const lines = useMemo(() => text.split("\n").length, [text]);
  const isCut = lines > LINES_SHOWN && !isAll;
  const shown = isCut ? text.split("\n", LINES_SHOWN).join("\n") : text;
  const isNumbered = isCut || lines <= NUMBERED_MAX;
  const rows = useMemo(() => (isNumbered ? linesOf(coloured(shown)) : []), [shown, isNumbered]);
  useEffect(() => onAllShown(code !== null && !isCut), [code, isCut]);

  if (code === null) {
    return whole.error
      ? <p class="judge-note" role="alert">The whole code cannot be shown: {whole.error} <Button size="small" onClick={whole.retry}>Try again</Button></p>
      : <Loading label="Reading the whole code" />;
  }
  return (
    <div class="judge">
      <div class="judge-scroll" tabIndex={0} role="group" aria-label={label}>
        {!isNumbered && <pre class="judge-plain">{shown}</pre>}
        {rows.map((row, i) => (
          <div key={i} class="judge-line">
            <span class="judge-number" aria-hidden="true">{i + 1}</span>
            <code class="judge-text">{row}</code>
          </div>
        ))}
      </div>
      <p class="judge-note">
        {lines === 1 ? "1 line" : `${lines.toLocaleString()} lines`}
        {unseen > 0 && <strong class="judge-warn"> · {unseen === 1 ? "1 character that would not be seen is" : `${unseen} characters that would not be seen are`} shown as ‹number›</strong>}
        {isCut && <Button size="small" onClick={() => setAll(true)}>Show all lines</Button>}
      </p>
    </div>
  );
}
