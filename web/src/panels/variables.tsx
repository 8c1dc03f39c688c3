// SPDX-License-Identifier: Apache-2.0
// The variables of a session, each with a short look at it; what has rows opens as a paged table.
import { useEffect, useState } from "preact/hooks";
import { listVars, readTable } from "../api/calls";
import type { TableData, Variable } from "../api/types";
import { failed } from "../state/toasts";
import { Button, Dialog, EmptyState, IconButton, Loading, Spinner, useSlow } from "../ui";
import { IconChevronLeft, IconChevronRight, IconRefresh, IconTable, IconVariable } from "../ui/icons";
import { bytes, visible } from "./format";
import { Grid } from "./grid";
import { useLoad } from "./load";
import { Trouble } from "./trouble";

const PAGE = 100;
const LINE_MAX = 200;
const FILTER_FROM = 12; // variables: fewer are found by looking

function shapeText(variable: Variable): string {
  if (!variable.shape) return bytes(variable.size);
  const unit = variable.type === "DataFrame" ? ["rows", "columns"] : null;
  return unit && variable.shape.length === 2
    ? `${variable.shape[0]!.toLocaleString()} ${unit[0]}, ${variable.shape[1]!.toLocaleString()} ${unit[1]}`
    : variable.shape.map((n) => n.toLocaleString()).join(" × ");
}

const hasRows = (variable: Variable) =>
  ["DataFrame", "Series", "list", "dict", "tuple"].includes(variable.type) ||
  (variable.type === "ndarray" && (variable.shape?.length ?? 0) <= 2);

function Pages({ session, variable }: { session: string; variable: Variable }) {
  const [offset, setOffset] = useState(0);
  const [page, setPage] = useState<{ table: TableData; first: number } | null>(null);
  const [isLoading, setLoading] = useState(true);
  const isSlow = useSlow(isLoading);

  useEffect(() => {
    const controller = new AbortController();
    setLoading(true);
    readTable(session, variable.name, offset, PAGE, controller.signal)
      .then((table) => setPage({ table, first: offset }), (cause: unknown) => failed(`show ${visible(variable.name)}`, cause))
      .finally(() => !controller.signal.aborted && setLoading(false));
    return () => controller.abort();
  }, [session, variable.name, offset]);

  if (!page) return isLoading ? <Loading label="Reading rows" /> : <Repr variable={variable} />;
  const { table, first } = page; // of the page that is shown: the next one may be on its way
  const total = table.total ?? table.rows.length;
  const last = Math.min(total, first + table.rows.length);
  return (
    <>
      <Grid label={`Rows of ${visible(variable.name)}`} columns={table.columns} rows={table.rows} first={first} />
      <div class="pages">
        <IconButton label="Previous page" icon={IconChevronLeft} disabled={first === 0} onClick={() => setOffset(Math.max(0, first - PAGE))} />
        <span aria-live="polite">{total === 0 ? "No rows" : `${first + 1} to ${last} of ${total.toLocaleString()}`}</span>
        <IconButton label="Next page" icon={IconChevronRight} disabled={last >= total} onClick={() => setOffset(first + PAGE)} />
        {isSlow && <Spinner label="Reading rows" />}
      </div>
    </>
  );
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
        <span class="var-line">{hasRows(variable) && variable.shape ? shapeText(variable) : visible(line)}</span>
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
          {hasRows(open) ? <Pages session={session} variable={open} /> : <Repr variable={open} />}
        </Dialog>
      )}
    </div>
  );
}
