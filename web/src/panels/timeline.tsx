// SPDX-License-Identifier: Apache-2.0
// The states a session can go back to, newest first, as a small tree.
import { useState } from "preact/hooks";
import type { Checkpoint } from "../api/types";
import { titleOfKind } from "../output/verdict";
import type { Conversation } from "../state/conversation";
import { Button, EmptyState, IconButton, Loading } from "../ui";
import { IconBranch, IconHistory, IconPin, IconRefresh, IconUndo } from "../ui/icons";
import { Compare } from "./compare";
import { branchHere, goBack, keep } from "./deeds";
import { ago, bytes, visible } from "./format";
import { failureOf, FILES_CHANGED, lineOf, loadHistory, titleOf, type History, type UndoneRun } from "./history";
import { useLoad } from "./load";
import { treeOf, type Node } from "./tree";
import { Trouble } from "./trouble";

const ROW_HEIGHT = 54; // as in panels.css
const LANE_WIDTH = 14;

type Row = { kind: "state"; node: Node; isFailed: boolean } | { kind: "undone"; run: UndoneRun; lane: number };

/** States and undone runs in one list, newest first. An undone run is on the lane of the state that it began from. */
export function rowsOf(history: History): Row[] {
  const nodes = treeOf(history.checkpoints, history.session.head);
  const laneOf = new Map(nodes.map(({ checkpoint, lane }) => [checkpoint.id, lane]));
  const states = nodes.map((node) => ({
    kind: "state" as const, node, isFailed: failureOf(history, node.checkpoint) !== null, at: node.checkpoint.created_ms,
  }));
  const undone = history.undone.map((run) => ({ kind: "undone" as const, run, lane: laneOf.get(run.parent ?? "") ?? 0, at: run.begunMs }));
  return [...states, ...undone].toSorted((a, b) => b.at - a.at);
}

/** Lines from each state to the one it came from. Drawn once beside the list, whose rows are all of one height. */
function Lanes({ rows }: { rows: readonly Row[] }) {
  const rowOf = new Map(rows.flatMap((row, i) => (row.kind === "state" ? [[row.node.checkpoint.id, i] as const] : [])));
  const x = (lane: number) => 10 + lane * LANE_WIDTH;
  const y = (row: number) => row * ROW_HEIGHT + ROW_HEIGHT / 2;
  const lanes = 1 + Math.max(0, ...rows.map((row) => (row.kind === "state" ? row.node.lane : 0)));
  return (
    <svg class="lanes" width={20 + (lanes - 1) * LANE_WIDTH} height={rows.length * ROW_HEIGHT} aria-hidden="true" focusable="false">
      {rows.map((row, i) => {
        if (row.kind === "undone") return <path key={row.run.id} class="lane-undone" d={`M${x(row.lane) - 4} ${y(i) - 4}l8 8m0 -8l-8 8`} />;
        const { node } = row;
        const parent = node.checkpoint.parent === null ? undefined : rowOf.get(node.checkpoint.parent);
        const to = parent === undefined ? undefined : rows[parent];
        const end = to?.kind === "state" ? { x: x(to.node.lane), y: y(parent!) } : null;
        return (
          <g key={node.checkpoint.id} class={node.isPast ? "lane-past" : "lane-left"}>
            {end && <path class="lane-line" d={`M${x(node.lane)} ${y(i)}V${end.y - ROW_HEIGHT / 2}Q${x(node.lane)} ${end.y} ${end.x} ${end.y}`} />}
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
  const missing = checkpoint.missing ?? [];
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
        <p class="state-facts" title={isPortable && missing.length > 0 ? missing.map((one) => visible(`${one.name}: ${one.why ?? ""}`)).join("\n") : undefined}>
          {isHead && <strong>Now · </strong>}{failure && <span class="state-failed">{titleOfKind(failure)} · </span>}{ago(checkpoint.created_ms)}
          {isPortable ? ` · on disk, ${bytes(checkpoint.bytes ?? 0)}` : checkpoint.memory > 0 && ` · ${bytes(checkpoint.memory)}`}
          {isPortable && missing.length > 0 && ` · without ${missing.map((one) => visible(one.name)).join(", ")}`}
          {checkpoint.files === "skipped" && " · without files"}
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
        <p class="state-facts">{titleOfKind(run.verdict)}, rolled back · {ago(run.begunMs)}</p>
      </div>
    </li>
  );
}

export function Timeline({ conversation }: { conversation: Conversation }) {
  const session = conversation.session.value;
  const { data, error, isLoading, reload } = useLoad(session, "timeline", (id) => loadHistory(conversation, id));
  const [chosen, setChosen] = useState<readonly string[]>([]);

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
        <span class="panel-count">{data.checkpoints.length === 1 ? "1 state" : `${data.checkpoints.length} states`}</span>
        {pair.length > 0 && <Button size="small" tone="quiet" onClick={() => setChosen([])}>Clear comparison</Button>}
        <IconButton label="Look again" icon={IconRefresh} busy={isLoading} onClick={reload} />
      </div>
      {error && <Trouble what="The timeline" error={error} onRetry={reload} />}
      {data.session.kept?.why && <p class="panel-note">The present state is not on disk: {visible(data.session.kept.why)}.</p>}
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
          {rows.map((row) => row.kind === "undone"
            ? <UndoneRow key={row.run.id} conversation={conversation} history={data} run={row.run} />
            : <StateRow key={row.node.checkpoint.id} conversation={conversation} history={data} node={row.node}
                isChosen={chosen.includes(row.node.checkpoint.id)} onChoose={(isChosen) => choose(row.node.checkpoint, isChosen)} />)}
        </ol>
      </div>
    </div>
  );
}
