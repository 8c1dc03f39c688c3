// SPDX-License-Identifier: Apache-2.0
// A table that a session holds, asked page by page. The answers were made in the sandbox: they are checked like all else.
import * as calls from "../../api/calls";
import type { TableQuery } from "../../api/types";
import { countOf, numberOf, own, ownList } from "../checks";
import { takesValue, type Asker, type Query, type Summary } from "./query";
import { readTable, type Column } from "./table";

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

export function sessionAsker(session: string, name: string): Asker {
  let last: { of: string; answer: Promise<unknown> } | null = null; // one answer has the summaries of all columns
  return {
    page: async (query, offset, limit, signal) => {
      const page = readTable(await calls.readTable(session, name, { ...queryText(query), offset, limit }, signal), offset);
      if (typeof page === "string") throw new Error(`what the session answered is no table: ${page}`);
      return page;
    },
    summary: async (query, column: Column) => {
      const { filter, search } = queryText(query);
      const of = JSON.stringify([filter, search]);
      if (last?.of !== of) last = { of, answer: calls.tableSummary(session, name, { filter, search }) };
      const mine = last;
      const answer = await mine.answer.catch((cause: unknown) => {
        if (last === mine) last = null;
        throw cause;
      });
      const isIndex = column.key.startsWith("i");
      const found = ownList(answer, isIndex ? "index" : "columns")[Number(isIndex ? column.key.slice(1) : column.key)];
      return found === undefined ? null : readSummary(found);
    },
    csv: async (query) => (await calls.tableCsv(session, name, queryText(query))).blob(),
  };
}
