// SPDX-License-Identifier: Apache-2.0
// The variables of a session, each with a short look at it; what has rows opens as a table.
import { useEffect, useState } from "preact/hooks";
import { listVars, readTable } from "../api/calls";
import type { Variable } from "../api/types";
import { plural } from "../output/format";
import { asOfIn, asOfText, readTable as readPage, type Page } from "../output/tables/table";
import { TableView } from "../output/tables/view";
import type { Conversation } from "../state/conversation";
import { failed } from "../state/toasts";
import { Button, Dialog, EmptyState, IconButton, Loading } from "../ui";
import { IconRefresh, IconTable, IconVariable } from "../ui/icons";
import { bytes, visible } from "./format";
import { loadHistory, titleOf } from "./history";
import { useLoad } from "./load";
import { Trouble } from "./trouble";

const PAGE = 200;
const LINE_MAX = 200;
const FILTER_FROM = 12; // variables: fewer are found by looking

function shapeText({ type, shape, dtype, size }: Variable): string {
  if (!shape) return bytes(size);
  if (type === "DataFrame" && shape.length === 2) return `${plural(shape[0]!, "row")}, ${plural(shape[1]!, "column")}`;
  const sizes = shape.map((n) => n.toLocaleString());
  // A single number alone would read as the value.
  const count = sizes.length > 1 ? sizes.join(" × ") : (shape[0] ?? 1) === 1 ? "1 value" : `${sizes[0]} values`;
  return dtype === undefined ? count : `${count}, ${visible(dtype)}`;
}

const hasRows = (variable: Variable) =>
  ["DataFrame", "Series", "list", "dict", "tuple"].includes(variable.type) ||
  (variable.type === "ndarray" && (variable.shape?.length ?? 0) <= 2);

/** Whether a variable is described by its shape; a NumPy number has one too, but without sizes. */
const hasSizes = ({ shape, dtype, type }: Variable) => shape !== undefined && (type === "DataFrame" || type === "ndarray" || (shape.length > 0 && dtype !== undefined));

function Facts({ variable }: { variable: Variable }) {
  return <p class="var-facts"><IconTable size={16} /> {visible(variable.type)} · {shapeText(variable)}{variable.shape && ` · ${bytes(variable.size)}`}</p>;
}

/** A variable as the list had it; the note says of which state, "" for that of now. */
interface Listed {
  variable: Variable;
  note: string;
}

/** A variable's rows: the first of them now, the others as they come into sight. */
function Rows({ session, variable, note }: Listed & { session: string }) {
  const [table, setTable] = useState<Page | string | null>(null);

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
  if (typeof table === "string") return <Repr variable={variable} note={note} />;
  return (
    <>
      {table.asOf && <p class="panel-note">{note || asOfText("rows", table.asOf)}</p>}
      <TableView table={table} session={session} variable={variable.name} name={visible(variable.name)} />
    </>
  );
}

function Repr({ variable, note }: Listed) {
  return (
    <>
      {note && <p class="panel-note">{note}</p>}
      <pre class="repr" tabIndex={0}>{variable.repr}</pre>
    </>
  );
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

/** The timeline's title of a state; "": the timeline does not have it. */
async function titleOfState(conversation: Conversation, session: string, state: string): Promise<string> {
  const history = await loadHistory(conversation, session);
  const checkpoint = history.checkpoints.find(({ id }) => id === state);
  return checkpoint ? titleOf(conversation, history, checkpoint) : "";
}

/** The variables, and a sentence on the state that they are of; "": that of now. */
async function loadVars(conversation: Conversation, session: string) {
  const answer = await listVars(session);
  const asOf = asOfIn(answer);
  const title = asOf?.blockedBy ? await titleOfState(conversation, session, asOf.state).catch(() => "") : "";
  return { vars: answer.vars, note: asOf ? asOfText("variables", asOf, title) : "", hasMore: answer.next !== undefined };
}

function NoVariables({ note, onReload }: { note: string; onReload: () => void }) {
  if (note) {
    return (
      <EmptyState icon={IconVariable} title="No variables in this state">
        <p>{note}</p>
        <Button size="small" onClick={onReload}>Look again</Button>
      </EmptyState>
    );
  }
  return (
    <EmptyState icon={IconVariable} title="No variables yet">
      <p>What your code assigns shows here: run <code>x = 42</code> and look again.</p>
    </EmptyState>
  );
}

export function Variables({ conversation }: { conversation: Conversation }) {
  const session = conversation.session.value;
  const { data, error, isLoading, reload } = useLoad(session, "vars", (id) => loadVars(conversation, id));
  const [open, setOpen] = useState<Listed | null>(null);
  const [filter, setFilter] = useState("");

  if (session === null || (data && data.vars.length === 0)) return <NoVariables note={data?.note ?? ""} onReload={reload} />;
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
      {data.note && <p class="panel-note">{data.note}</p>}
      <ul class="vars" aria-label="Variables">
        {shown.map((variable) => <Row key={variable.name} variable={variable} onOpen={() => setOpen({ variable, note: data.note })} />)}
      </ul>
      {shown.length === 0 && <p class="panel-note">No variable is called that.</p>}
      {data.hasMore && <p class="panel-note">Only the first {data.vars.length} are shown.</p>}
      {open && (
        <Dialog title={visible(open.variable.name)} size="wide" onClose={() => setOpen(null)}
          actions={<Button tone="primary" onClick={() => setOpen(null)}>Done</Button>}>
          <Facts variable={open.variable} />
          {hasRows(open.variable) ? <Rows session={session} {...open} /> : <Repr {...open} />}
        </Dialog>
      )}
    </div>
  );
}
