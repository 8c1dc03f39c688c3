// SPDX-License-Identifier: Apache-2.0
// The latest runs of everybody, newest first: what agents are doing, and have done.
import { useState } from "preact/hooks";
import type { RunRow } from "../api/types";
import { formatMs } from "../output/format";
import { titleOfKind } from "../output/verdict";
import { runs } from "../state/feed";
import { go } from "../state/route";
import { Button, EmptyState, Switch } from "../ui";
import { IconActivity } from "../ui/icons";
import { Ago } from "../panels/ago";
import { visible } from "../panels/format";
import { RunDialog } from "./run_dialog";
import { isPage, WhoLine } from "./who";

const PAGE = 30;

const PHASES = { held: "Waits for approval", waiting: "Waits", running: "Running", over: "" } as const;

function Outcome({ row }: { row: RunRow }) {
  if (row.state !== "over") return <span class={`outcome outcome-${row.state}`}>{PHASES[row.state]}</span>;
  const took = row.wall_ms ? ` · ${formatMs(row.wall_ms)}` : ""; // one that was refused took no time
  return <span class={row.verdict === "ok" ? "outcome outcome-good" : "outcome outcome-bad"}>{titleOfKind(row.verdict ?? "")}{took}</span>;
}

function Row({ row, onOpen }: { row: RunRow; onOpen: () => void }) {
  const line = visible(row.line ?? "") || "A run";
  return (
    <li class="act">
      <button type="button" class="act-button" onClick={onOpen}>
        <span class="act-line"><code>{line}</code></span>
        <span class="act-facts"><WhoLine who={row.who} /> · <Ago ms={row.begun_ms} /></span>
      </button>
      <Outcome row={row} />
    </li>
  );
}

/** Runs as a list: one of a session leads to it, one without opens here. */
export function Acts({ rows }: { rows: readonly RunRow[] }) {
  const [open, setOpen] = useState<RunRow | null>(null);
  const show = (row: RunRow) => {
    if (row.session !== null && row.state !== "held") go(`#/s/${row.session}`);
    else setOpen(row);
  };
  return (
    <>
      <ul class="acts" aria-label="Runs, newest first">
        {rows.map((row) => <Row key={row.id} row={row} onOpen={() => show(row)} />)}
      </ul>
      {open && <RunDialog row={open} onClose={() => setOpen(null)} />}
    </>
  );
}

/** Runs that did not come from a page, newest first. */
export const agentRuns = () => runs.value.filter((row) => !isPage(row.who));

export function Activity() {
  const [isOthers, setOthers] = useState(true);
  const [count, setCount] = useState(PAGE);
  const all = isOthers ? agentRuns() : runs.value;
  return (
    <section class="activity" aria-labelledby="activity-title">
      <header class="activity-head">
        <h2 id="activity-title">Activity</h2>
        <Switch label="Hide what pages ran" checked={isOthers} onChange={setOthers} />
      </header>
      {all.length === 0 ? (
        <EmptyState icon={IconActivity} title="No agent has run anything yet">
          <p>Runs that come over HTTP or MCP show here as they happen, with who made them.</p>
        </EmptyState>
      ) : (
        <Acts rows={all.slice(0, count)} />
      )}
      {all.length > count && <Button onClick={() => setCount(count + PAGE)}>Show more</Button>}
    </section>
  );
}
