// SPDX-License-Identifier: Apache-2.0
// The variables of a session, each with a short look at it; what has rows opens as a table.
import { useEffect, useState } from "preact/hooks";
import { listVars, readTable } from "../api/calls";
import type { Variable } from "../api/types";
import { readTable as readPage, type Table } from "../output/tables/table";
import { TableView } from "../output/tables/view";
import { failed } from "../state/toasts";
import { Button, Dialog, EmptyState, IconButton, Loading } from "../ui";
import { IconRefresh, IconTable, IconVariable } from "../ui/icons";
import { bytes, visible } from "./format";
import { useLoad } from "./load";
import { Trouble } from "./trouble";

const PAGE = 200;
const LINE_MAX = 200;
const FILTER_FROM = 12; // variables: fewer are found by looking

function shapeText({ type, shape, dtype, size }: Variable): string {
  if (!shape) return bytes(size);
  const sizes = shape.map((n) => n.toLocaleString());
  if (type === "DataFrame" && sizes.length === 2) return `${sizes[0]} rows, ${sizes[1]} columns`;
  // A single number alone would read as the value.
  const count = sizes.length > 1 ? sizes.join(" × ") : (shape[0] ?? 1) === 1 ? "1 value" : `${sizes[0]} values`;
  return dtype === undefined ? count : `${count}, ${visible(dtype)}`;
}

const hasRows = (variable: Variable) =>
  ["DataFrame", "Series", "list", "dict", "tuple"].includes(variable.type) ||
  (variable.type === "ndarray" && (variable.shape?.length ?? 0) <= 2);

/** What has a shape is told by it; a number of NumPy's has one too, of no sizes. */
const hasSizes = ({ shape, dtype, type }: Variable) => shape !== undefined && (type === "DataFrame" || type === "ndarray" || (shape.length > 0 && dtype !== undefined));

/** A variable's rows: the first of them now, the others as they come into sight. */
function Rows({ session, variable }: { session: string; variable: Variable }) {
  const [table, setTable] = useState<Table | string | null>(null);

  useEffect(() => {
    const controller = new AbortController();
    readTable(session, variable.name, { offset: 0, limit: PAGE }, controller.signal).then(
      (answer) => setTable(readPage(answer)),
      (cause: unknown) => {
        if (controller.signal.aborted) return;
        failed(`show ${visible(variable.name)}`, cause);
        setTable("its rows could not be read");
      },
    );
    return () => controller.abort();
  }, [session, variable.name]);

  if (table === null) return <Loading label="Reading rows" />;
  if (typeof table === "string") return <Repr variable={variable} />;
  return <TableView table={table} session={session} variable={variable.name} name={visible(variable.name)} />;
}

function Repr({ variable }: { variable: Variable }) {
  return <pre class="repr" tabIndex={0}>{variable.repr}</pre>;
}

function Row({ variable, onOpen }: { variable: Variable; onOpen: () => void }) {
  const line = variable.repr.split("\n", 1)[0]!.slice(0, LINE_MAX);
  return (
    <li class="var">
      <button type="button" class="var-button" onClick={onOpen}>
        <span class="unseen">Show </span>
        <span class="var-head">
          <span class="var-name">{visible(variable.name)}</span>
          <span class="var-type">{visible(variable.type)}</span>
        </span>
        <span class="var-line">{hasSizes(variable) ? shapeText(variable) : visible(line)}</span>
      </button>
    </li>
  );
}

async function loadVars(session: string) {
  const { vars, as_of, next } = await listVars(session);
  return { vars, isOld: as_of !== undefined, hasMore: next !== undefined };
}

export function Variables({ session }: { session: string | null }) {
  const { data, error, isLoading, reload } = useLoad(session, "vars", loadVars);
  const [open, setOpen] = useState<Variable | null>(null);
  const [filter, setFilter] = useState("");

  if (session === null || (data && data.vars.length === 0)) {
    return (
      <EmptyState icon={IconVariable} title="No variables yet">
        <p>What your code assigns shows here: run <code>x = 42</code> and look again.</p>
      </EmptyState>
    );
  }
  if (!data) return error ? <Trouble what="The variables" error={error} onRetry={reload} /> : <Loading label="Looking at the variables" />;

  const wanted = filter.trim().toLowerCase();
  const shown = data.vars.filter((one) => one.name.toLowerCase().includes(wanted) || one.type.toLowerCase().includes(wanted));
  return (
    <div class="panel-part">
      <div class="panel-bar">
        {data.vars.length >= FILTER_FROM ? (
          <input class="input" type="search" aria-label="Filter variables" placeholder="Filter" value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)} />
        ) : <span class="panel-count">{data.vars.length === 1 ? "1 variable" : `${data.vars.length} variables`}</span>}
        <IconButton label="Look again" icon={IconRefresh} busy={isLoading} onClick={reload} />
      </div>
      {error && <Trouble what="The variables" error={error} onRetry={reload} />}
      {data.isOld && <p class="panel-note">A run is on: these are the variables of before it.</p>}
      <ul class="vars" aria-label="Variables">
        {shown.map((variable) => <Row key={variable.name} variable={variable} onOpen={() => setOpen(variable)} />)}
      </ul>
      {shown.length === 0 && <p class="panel-note">No variable is called that.</p>}
      {data.hasMore && <p class="panel-note">Only the first {data.vars.length} are shown.</p>}
      {open && (
        <Dialog title={visible(open.name)} size="wide" onClose={() => setOpen(null)}
          actions={<Button tone="primary" onClick={() => setOpen(null)}>Done</Button>}>
          <p class="var-facts"><IconTable size={16} /> {visible(open.type)} · {shapeText(open)}{open.shape && ` · ${bytes(open.size)}`}</p>
          {hasRows(open) ? <Rows session={session} variable={open} /> : <Repr variable={open} />}
        </Dialog>
      )}
    </div>
  );
}
