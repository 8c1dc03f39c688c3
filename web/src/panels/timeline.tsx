// SPDX-License-Identifier: Apache-2.0
// The states a session can go back to, newest first, as a small tree.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Checkpoint } from "../api/types";
import { titleOfKind } from "../output/verdict";
import type { Conversation } from "../state/conversation";
import { sessions } from "../state/feed";
import { Button, EmptyState, IconButton, Loading } from "../ui";
import { IconBranch, IconHistory, IconPin, IconRefresh, IconUndo } from "../ui/icons";
import { Ago } from "./ago";
import { Compare } from "./compare";
import { branchHere, goBack, keep } from "./deeds";
import { bytes, roomText, visible } from "./format";
import { failureOf, FILES_CHANGED, lineOf, loadHistory, titleOf, type History, type UndoneRun } from "./history";
import { useLoad } from "./load";
import { treeOf, type Node } from "./tree";
import { Trouble } from "./trouble";

const ROW_HEIGHT = 54; // as in panels.css
const LINE_HEIGHT = 30; // of a row that only says something
const LANE_WIDTH = 14;

type Row =
  | { kind: "state"; node: Node; isFailed: boolean }
  | { kind: "undone"; run: UndoneRun; lane: number }
  | { kind: "gap"; node: Node; count: number } // states between this one and its parent that are gone
  | { kind: "back"; toMs: number }; // the session was told to go to its head

/** States, undone runs and ways back in one list, newest first. An undone run is on the lane of the state that it began from;
 * where states are gone, a row below the one that came from them says how many. */
export function rowsOf(history: History): Row[] {
  const nodes = treeOf(history.checkpoints, history.session.head);
  const laneOf = new Map(nodes.map(({ checkpoint, lane }) => [checkpoint.id, lane]));
  const rows: { row: Row; at: number }[] = nodes.map((node) => ({
    row: { kind: "state", node, isFailed: failureOf(history, node.checkpoint) !== null }, at: node.checkpoint.created_ms,
  }));
  for (const run of history.undone) rows.push({ row: { kind: "undone", run, lane: laneOf.get(run.parent ?? "") ?? 0 }, at: run.endedMs });
  const toMs = history.session.went_back_ms;
  if (toMs !== undefined) rows.push({ row: { kind: "back", toMs }, at: toMs });
  return rows.toSorted((a, b) => b.at - a.at).flatMap(({ row }): Row[] => {
    const count = row.kind === "state" ? (row.node.checkpoint.not_kept ?? 0) : 0;
    return row.kind === "state" && count > 0 ? [row, { kind: "gap", node: row.node, count }] : [row];
  });
}

const heightOf = ({ kind }: Row) => (kind === "state" || kind === "undone" ? ROW_HEIGHT : LINE_HEIGHT);
const keyOf = (row: Row) => (row.kind === "undone" ? row.run.id : row.kind === "back" ? "back" : `${row.kind} ${row.node.checkpoint.id}`);

/** Lines from each state to the one it came from, drawn once beside the list. */
function Lanes({ rows }: { rows: readonly Row[] }) {
  const middles: number[] = [];
  let height = 0;
  for (const row of rows) {
    middles.push(height + heightOf(row) / 2);
    height += heightOf(row);
  }
  const rowOf = new Map(rows.flatMap((row, i) => (row.kind === "state" ? [[row.node.checkpoint.id, i] as const] : [])));
  const x = (lane: number) => 10 + lane * LANE_WIDTH;
  const y = (row: number) => middles[row]!;
  const lanes = 1 + Math.max(0, ...rows.map((row) => (row.kind === "state" ? row.node.lane : 0)));
  const wayOf = (node: Node, i: number): string => {
    const parent = rowOf.get(node.checkpoint.parent ?? "");
    const to = parent === undefined ? undefined : rows[parent];
    if (to?.kind === "state") return `M${x(node.lane)} ${y(i)}V${y(parent!) - ROW_HEIGHT / 2}Q${x(node.lane)} ${y(parent!)} ${x(to.node.lane)} ${y(parent!)}`;
    return node.checkpoint.not_kept ? `M${x(node.lane)} ${y(i)}V${y(i + 1) + LINE_HEIGHT / 2}` : ""; // those before it are gone
  };
  return (
    <svg class="lanes" width={20 + (lanes - 1) * LANE_WIDTH} height={height} aria-hidden="true" focusable="false">
      {rows.map((row, i) => {
        if (row.kind === "undone") return <path key={keyOf(row)} class="lane-undone" d={`M${x(row.lane) - 4} ${y(i) - 4}l8 8m0 -8l-8 8`} />;
        if (row.kind !== "state") return null;
        const { node } = row;
        const way = wayOf(node, i);
        return (
          <g key={keyOf(row)} class={node.isPast ? "lane-past" : "lane-left"}>
            {way && <path class={node.checkpoint.not_kept ? "lane-line lane-gap" : "lane-line"} d={way} />}
            <circle class={`${node.isHead ? "lane-head" : "lane-dot"}${row.isFailed ? " lane-failed" : ""}`} cx={x(node.lane)} cy={y(i)} r={node.isHead ? 5.5 : 4} />
          </g>
        );
      })}
    </svg>
  );
}

interface StateRowProps {
  conversation: Conversation;
  history: History;
  node: Node;
  isChosen: boolean;
  onChoose: (isChosen: boolean) => void;
}

function StateRow({ conversation, history, node, isChosen, onChoose }: StateRowProps) {
  const [busy, setBusy] = useState<"back" | "branch" | "keep" | null>(null);
  const { checkpoint, isHead } = node;
  const { id } = history.session;
  const isPortable = checkpoint.kind === "portable";
  const isAsleep = history.session.state === "asleep";
  const missing = (isPortable ? checkpoint.missing : checkpoint.lacks) ?? [];
  const room = roomText(checkpoint);
  const told = [ // what is missing comes first: the end of the line may be cut off
    ...(missing.length > 0 ? [`without ${missing.map((one) => visible(one.name)).join(", ")}`] : []),
    ...(checkpoint.files ? [checkpoint.files === "coming" ? "files are being copied" : "without files"] : []),
    ...(room ? [room] : []),
  ];
  const facts = [
    ...(told.length > 0 ? [told.join(" · ")] : []),
    ...(checkpoint.memory > 0 ? [`The session had ${bytes(checkpoint.memory)} of memory`] : []),
    ...missing.map((one) => visible(`${one.name}: ${one.why ?? ""}`)),
  ];
  const title = titleOf(conversation, history, checkpoint);
  const isRun = checkpoint.name === null && checkpoint.run !== null && title !== FILES_CHANGED;
  const failure = isRun ? failureOf(history, checkpoint) : null;
  const doing = (what: "back" | "branch" | "keep", deed: () => Promise<void>) => {
    setBusy(what);
    void deed().finally(() => setBusy(null));
  };
  return (
    <li class={isHead ? "state state-head" : "state"} aria-current={isHead ? "step" : undefined}>
      <div class="state-main">
        <p class="state-title">
          {checkpoint.name !== null && <IconPin size={14} />}
          <span class={isRun ? "state-code" : "state-name"} title={title}>{title}</span>
        </p>
        <p class="state-facts" title={facts.join("\n") || undefined}>
          {isHead && <strong>Now · </strong>}{failure && <span class="state-failed">{titleOfKind(failure)} · </span>}<Ago ms={checkpoint.created_ms} />
          {told.map((fact) => ` · ${fact}`)}
        </p>
      </div>
      {isHead && !isAsleep
        ? <IconButton size="small" icon={IconPin} label="Keep this state under a name" busy={busy === "keep"} onClick={() => doing("keep", () => keep(id))} />
        : <IconButton size="small" icon={IconUndo} label={`Go back to ${title}`} busy={busy === "back"} onClick={() => doing("back", () => goBack(id, history, checkpoint, title))} />}
      <IconButton size="small" icon={IconBranch} disabled={isPortable} label={`Branch here, from ${title}`} busy={busy === "branch"}
        onClick={() => doing("branch", () => branchHere(conversation, history, checkpoint))} />
      <input type="checkbox" class="state-choose" aria-label={`Compare ${title}`} title={isPortable ? "Go back to it to compare it" : "Compare"} checked={isChosen} disabled={isPortable}
        onChange={(event) => onChoose(event.currentTarget.checked)} />
    </li>
  );
}

function UndoneRow({ conversation, history, run }: { conversation: Conversation; history: History; run: UndoneRun }) {
  const title = visible(lineOf(conversation, history, run.id));
  return (
    <li class="state state-undone">
      <div class="state-main">
        <p class="state-title"><span class="state-code" title={title}>{title}</span></p>
        <p class="state-facts">{titleOfKind(run.verdict)}, {run.isTaken ? "undone by a later run" : "rolled back"} · <Ago ms={run.endedMs} /></p>
      </div>
    </li>
  );
}

/** A row that says what is between two states. */
function LineRow({ conversation, history, row }: { conversation: Conversation; history: History; row: Row & { kind: "gap" | "back" } }) {
  if (row.kind === "gap") return <li class="state-line">{row.count === 1 ? "1 state not kept" : `${row.count} states not kept`}</li>;
  const head = history.checkpoints.find(({ id }) => id === history.session.head);
  const title = head ? titleOf(conversation, history, head) : "an earlier state";
  return <li class="state-line" title={title}><IconUndo size={13} /> <span>Went back to {title}</span> · <Ago ms={row.toMs} /></li>;
}

export function Timeline({ conversation }: { conversation: Conversation }) {
  const session = conversation.session.value;
  const { data, error, isLoading, reload } = useLoad(session, "timeline", (id) => loadHistory(conversation, id));
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const onDisk = sessions.value.get(session ?? "")?.kept?.bytes ?? data?.session.kept?.bytes ?? 0;
  const wasOnDisk = useRef(onDisk);
  useEffect(() => { // a state is written a while after its run
    if (onDisk !== wasOnDisk.current) reload();
    wasOnDisk.current = onDisk;
  }, [onDisk]);

  if (session === null || (data && data.checkpoints.length === 0 && data.session.transactional)) {
    return (
      <EmptyState icon={IconHistory} title="No states yet">
        <p>After each run its state is kept here. You can go back to it, branch from it, or compare two.</p>
      </EmptyState>
    );
  }
  if (!data) return error ? <Trouble what="The timeline" error={error} onRetry={reload} /> : <Loading label="Reading the timeline" />;
  if (!data.session.transactional) {
    return <EmptyState icon={IconHistory} title="No states are kept"><p>This session was made without checkpoints.</p></EmptyState>;
  }

  const rows = rowsOf(data);
  const known = new Map(data.checkpoints.map((one) => [one.id, one]));
  const pair = chosen.flatMap((id) => known.get(id) ?? []);
  const choose = (one: Checkpoint, isChosen: boolean) =>
    setChosen(isChosen ? [...chosen.filter((id) => known.has(id)), one.id].slice(-2) : chosen.filter((id) => id !== one.id));
  return (
    <div class="panel-part">
      <div class="panel-bar">
        <span class="panel-count">{data.checkpoints.length === 1 ? "1 state" : `${data.checkpoints.length} states`}{onDisk > 0 && `, ${bytes(onDisk)} on disk`}</span>
        {pair.length > 0 && <Button size="small" tone="quiet" onClick={() => setChosen([])}>Clear comparison</Button>}
        <IconButton label="Look again" icon={IconRefresh} busy={isLoading} onClick={reload} />
      </div>
      {error && <Trouble what="The timeline" error={error} onRetry={reload} />}
      {data.session.kept?.why && <p class="panel-note">The present state is not saved: {visible(data.session.kept.why)}.</p>}
      {(data.session.kept?.dropped ?? 0) > 0 && (
        <p class="panel-note">{data.session.kept!.dropped === 1 ? "One older state" : `${data.session.kept!.dropped} older states`} went, for lack of room on disk.</p>
      )}
      {data.session.checkpoint_blocked_by && (
        <p class="panel-note">The present state is not kept: {visible(data.session.checkpoint_blocked_by)} cannot be in two states at once.</p>
      )}
      {pair.length > 0 && <Compare session={session} pair={pair} head={data.session.head} nameOf={(one) => titleOf(conversation, data, one)} />}
      <div class="timeline">
        <Lanes rows={rows} />
        <ol class="states" aria-label="States, newest first">
          {rows.map((row) => {
            if (row.kind === "undone") return <UndoneRow key={keyOf(row)} conversation={conversation} history={data} run={row.run} />;
            if (row.kind !== "state") return <LineRow key={keyOf(row)} conversation={conversation} history={data} row={row} />;
            const { checkpoint } = row.node;
            return (
              <StateRow key={keyOf(row)} conversation={conversation} history={data} node={row.node}
                isChosen={chosen.includes(checkpoint.id)} onChoose={(isChosen) => choose(checkpoint, isChosen)} />
            );
          })}
        </ol>
      </div>
    </div>
  );
}
