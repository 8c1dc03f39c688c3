// SPDX-License-Identifier: Apache-2.0
// The rest of a table that was shown: rows come from the session's variable that holds it, if one still does.
import * as calls from "../../api/calls";
import { compactJson } from "../checks";
import type { TableSource } from "./table";

const sameColumns = (a: readonly unknown[], b: readonly string[]) => a.length === b.length && a.every((name, i) => String(name) === b[i]);

/** The name of a variable that is this very table, null when there is none: same size, same columns, same first rows. */
async function findVariable(session: string, table: TableSource, signal: AbortSignal): Promise<string | null> {
  const { vars } = await calls.listVars(session);
  for (const variable of vars) {
    if (variable.shape?.[0] !== table.total || variable.shape[1] !== table.columns.length) continue;
    if (variable.columns && table.columns.length <= 100 && !sameColumns(variable.columns.slice(0, table.columns.length), table.columns)) continue;
    const { rows } = await calls.readTable(session, variable.name, 0, 5, signal);
    const sample = table.rows.slice(0, rows.length);
    if (compactJson(rows, 20_000) === compactJson(sample, 20_000)) return variable.name;
  }
  return null;
}

/** The same table with a way to its further rows. */
export function withSession(table: TableSource, session: string | null): TableSource {
  if (!session || table.rows.length >= table.total) return table;
  let name: Promise<string | null> | null = null;
  return {
    ...table,
    more: async (offset, limit, signal) => {
      name ??= findVariable(session, table, signal).catch((cause) => {
        name = null; // asked again the next time
        throw cause;
      });
      const found = await name;
      if (found === null) throw new Error("no variable of the session holds this table any more; run the cell again");
      return calls.readTable(session, found, offset, limit, signal);
    },
  };
}
