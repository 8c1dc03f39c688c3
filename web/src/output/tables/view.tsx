// SPDX-License-Identifier: Apache-2.0
// A table, wherever one is shown: in cells, in the variables panel, of a CSV file, behind a chart. The code that draws it comes
// with the first table.
import { useEffect, useMemo, useState } from "preact/hooks";
import { Notice } from "../parts";
import type { ExplorerProps } from "./explorer";
import { sessionAsker } from "./session";
import type { Table } from "./table";

type Code = typeof import("./explorer");

interface Props {
  table: Table;
  session?: string | null; // who has the whole of it
  variable?: string; // by this name; else by the table's handle
  name?: string;
  part?: string;
}

let code: Code | null = null; // once it is here, no table waits for it

export function TableView({ table, session = null, variable, name = "table", part }: Props) {
  const [loaded, setLoaded] = useState<Code | string | null>(code);
  useEffect(() => {
    if (loaded) return;
    let isLeft = false;
    import("./explorer").then(
      (found) => {
        code = found;
        if (!isLeft) setLoaded(found);
      },
      (cause: unknown) => !isLeft && setLoaded(cause instanceof Error ? cause.message : String(cause)),
    );
    return () => {
      isLeft = true;
    };
  }, []);
  const held = variable ?? table.handle;
  const asker = useMemo(() => (session && held ? sessionAsker(session, held, table) : null), [session, held, table]);
  if (typeof loaded === "string") return <Notice>This table could not be shown: {loaded}.</Notice>;
  if (!loaded) return <p class="out-soft" role="status">Loading…</p>;
  const props: ExplorerProps = { table, asker, session, name, ...(part ? { part } : {}) };
  return <loaded.Explorer {...props} />;
}
