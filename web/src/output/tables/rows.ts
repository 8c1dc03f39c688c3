// SPDX-License-Identifier: Apache-2.0
// The rows behind a table that is shown: those at hand, and those that the session is asked for as they come into sight.
import { useEffect, useMemo, useReducer } from "preact/hooks";
import { ApiError } from "../../api/client";
import { heldRows } from "./held";
import { Changed, isAll, isFiltered, type Asker, type Query } from "./query";
import type { AsOf, Row, Table } from "./table";

const BLOCK = 200; // rows that are asked for at once
const KEPT_MAX = 40_000; // rows of answers; above, those out of sight are asked for again

export interface Rows {
  count: number; // rows that pass; 0 until that is known
  isCounted: boolean; // false: the first answer is on its way
  at: (position: number) => Row | undefined; // undefined: on its way
  need: (first: number, last: number) => void;
  isBusy: boolean;
  isWhole: boolean; // false: only the rows at hand are asked
  why: string; // the session cannot be asked, in its words; "" when it can, or when there is none
  isLost: boolean; // ... and never will be: it holds the table no more
  isChanged: boolean; // ... because it holds another one by now
  asOf: AsOf | null; // of the answers; null: they are of now, or there are none yet
  refusal: string; // of the question itself
  retry: () => void;
}

/** Answers to one question. */
class Answers {
  readonly rows = new Map<number, Row>();
  count: number | null = null; // null: not known yet
  asOf: AsOf | null = null;
  refusal = ""; // the question was not understood, or nobody answered
  stop: AbortController | null = null;
  asked: readonly [number, number] = [0, 0];

  constructor(readonly asker: Asker | null, readonly query: Query) {}
}

/** Whether the session has the table no more, as opposed to a question that it does not understand. */
const isGone = (cause: unknown) => cause instanceof ApiError && cause.status !== 400 && !cause.isAway;

export function useRows(table: Table, asker: Asker | null, query: Query): Rows {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const gone = useMemo(() => ({ why: "", isLost: false, isChanged: false }), [table, asker]); // why the session is not asked any more
  const isHeld = asker === null || gone.why !== "";
  const answers = useMemo(() => new Answers(asker, query), [table, asker, query, isHeld]);
  const held = useMemo(() => (isHeld && !isAll(query) ? heldRows(table, query) : table.rows), [table, query, isHeld]);
  useEffect(() => () => answers.stop?.abort(), [answers]);

  const isPlain = isAll(query);
  const count = isHeld ? held.length : (answers.count ?? (isFiltered(query) ? 0 : table.total));
  const isCounted = isHeld || answers.count !== null || !isFiltered(query);
  const at = (position: number) => answers.rows.get(position) ?? (isHeld || isPlain ? held[position] : undefined);

  const fail = (cause: unknown) => {
    const text = cause instanceof Error ? cause.message : String(cause);
    answers.refusal = text;
    if (cause instanceof Changed) Object.assign(gone, { why: text, isLost: true, isChanged: true });
    else if (isGone(cause)) Object.assign(gone, { why: text, isLost: (cause as ApiError).status === 404 });
  };

  const ask = (first: number) => {
    if (!answers.asker) return;
    const stop = (answers.stop = new AbortController());
    answers.asked = [first, first + BLOCK];
    answers.asker.page(query, first, BLOCK, stop.signal).then(
      (page) => {
        if (answers.rows.size > KEPT_MAX) answers.rows.clear();
        page.rows.forEach((row, i) => answers.rows.set(first + i, row));
        answers.count = page.rows.length ? page.matched : Math.min(page.matched, first); // an empty page ends the table
        answers.asOf = page.asOf;
        answers.refusal = "";
      },
      (cause: unknown) => !stop.signal.aborted && fail(cause),
    ).finally(() => {
      if (answers.stop === stop) answers.stop = null;
      if (!stop.signal.aborted) draw(0);
    });
  };

  const need = (first: number, last: number) => {
    if (isHeld || answers.refusal) return;
    let from = Math.max(0, first);
    const end = answers.count === null && !isPlain ? from + 1 : Math.min(last + 1, count);
    while (from < end && at(from)) from++;
    if (from >= end) return;
    if (answers.stop) {
      if (from >= answers.asked[0] && from < answers.asked[1]) return; // it is on its way
      answers.stop.abort();
    }
    ask(from);
  };

  return {
    count, isCounted, at, need, isBusy: answers.stop !== null, asOf: answers.asOf, refusal: isHeld ? "" : answers.refusal,
    isWhole: !isHeld || table.rows.length >= table.total, why: gone.why, isLost: gone.isLost, isChanged: gone.isChanged,
    retry: () => {
      gone.why = answers.refusal = "";
      draw(0);
    },
  };
}
