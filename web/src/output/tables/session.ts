// SPDX-License-Identifier: Apache-2.0
// A table that a session holds, asked page by page. The answers were made in the sandbox: they are checked like all else.
import * as calls from "../../api/calls";
import { ApiError } from "../../api/client";
import type { TableQuery } from "../../api/types";
import { visible } from "../../panels/format";
import { countOf, numberOf, own, ownList } from "../checks";
import { ALL, Changed, takesValue, type Asker, type Query, type Summary } from "./query";
import { readTable, type Column, type Page, type Table } from "./table";

const BINS_MAX = 100;
const TOP_MAX = 20;

/** The question as the daemon wants it. */
export function queryText(query: Query): TableQuery {
  return {
    sort: query.sort ? `${query.sort.key}:${query.sort.isDown ? "desc" : "asc"}` : undefined,
    filter: query.filters.length
      ? JSON.stringify(query.filters.map(({ key, op, value }) => ({ column: key, op, ...(takesValue(op) ? { value, typed: true } : {}) })))
      : undefined,
    search: query.search || undefined,
  };
}

export function readSummary(value: unknown): Summary {
  const histogram = own(value, "histogram");
  const edges = ownList(histogram, "edges").slice(0, BINS_MAX + 1);
  const counts = ownList(histogram, "counts").slice(0, BINS_MAX).map((count) => countOf(count) ?? 0);
  return {
    count: countOf(own(value, "count")) ?? 0,
    missing: countOf(own(value, "missing")) ?? 0,
    distinct: countOf(own(value, "distinct")),
    min: own(value, "min"),
    max: own(value, "max"),
    mean: numberOf(own(value, "mean")),
    histogram: counts.length && edges.length === counts.length + 1 ? { edges, counts } : null,
    top: ownList(value, "top").slice(0, TOP_MAX).map((one) => ({ value: own(one, "value"), count: countOf(own(one, "count")) ?? 0 })),
  };
}

/** Whether a page is of another table than `shown`. The columns of a list of dicts grow with the rows that are looked at. */
const isOther = (shown: Table, page: Page) =>
  page.isChanged || page.total !== shown.total || shown.columns.some(({ name }, i) => page.columns[i]?.name !== name);

/** Asks for the table `shown`, which the session has as a variable or, without a name, by a handle. */
export function sessionAsker(session: string, name: string, shown: Table): Asker {
  let last: { of: string; answer: Promise<unknown> } | null = null; // one answer has the summaries of all columns
  const changed = () => new Changed(name.startsWith("~")
    ? "this frame has changed since it was shown: run the cell again to see all of it"
    : `${visible(name)} has changed since it was shown: open it again to see all of it`);

  const ask = async (query: Query, offset: number, limit: number, signal?: AbortSignal) => {
    const page = readTable(await calls.readTable(session, name, { ...queryText(query), offset, limit }, signal), offset);
    if (typeof page === "string") throw new Error(`what the session answered is no table: ${page}`);
    if (isOther(shown, page)) throw changed();
    return page;
  };
  return {
    page: (query, offset, limit, signal) => ask(query, offset, limit, signal).catch(async (cause: unknown) => {
      // A column that is there no more is refused before the answer can say that the frame has changed.
      const isRefused = cause instanceof ApiError && cause.status === 400;
      const now = isRefused ? await ask(ALL, 0, 1, signal).catch((why: unknown) => why) : null;
      throw now instanceof Changed ? now : cause;
    }),
    summary: async (query, column: Column) => {
      const { filter, search } = queryText(query);
      const of = JSON.stringify([filter, search]);
      if (last?.of !== of) last = { of, answer: calls.tableSummary(session, name, { filter, search }) };
      const mine = last;
      const answer = await mine.answer.catch((cause: unknown) => {
        if (last === mine) last = null;
        throw cause;
      });
      if (own(answer, "changed") === true) throw changed();
      const isIndex = column.key.startsWith("i");
      const found = ownList(answer, isIndex ? "index" : "columns")[Number(isIndex ? column.key.slice(1) : column.key)];
      return found === undefined ? null : readSummary(found);
    },
    csv: async (query) => {
      await ask(ALL, 0, 1); // the file itself does not say whether the frame has changed
      return (await calls.tableCsv(session, name, queryText(query))).blob();
    },
  };
}
