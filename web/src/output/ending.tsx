// SPDX-License-Identifier: Apache-2.0
// How a run ended: in words where it went wrong, always with what it used of what it may.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { CellMark } from "../api/types";
import { IconCheck } from "../ui/icons";
import { formatBytes, formatMs } from "./format";
import type { Ending } from "./read";
import { tellHealed } from "./remedy";
import { tellState, tellVerdict, type NumberOf } from "./verdict";

const NEAR = 0.7; // of a limit: from there on it is worth a look

function Meter({ label, value, limit, text, limitText }: { label: string; value: number; limit: number | undefined; text: string; limitText: string }) {
  const share = limit ? Math.min(1, value / limit) : 0;
  const tone = share >= 0.9 ? "is-bad" : share >= NEAR ? "is-warn" : "";
  return (
    <div class="meter" title={limit ? `${label}: ${text} of ${limitText}` : `${label}: ${text}`}>
      <span class="meter-label">{label}</span>
      {limit !== undefined && (
        <span class={`meter-bar ${tone}`} role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={limit}
          aria-valuenow={Math.min(value, limit)} aria-valuetext={`${text} of ${limitText}`}>
          <span style={{ width: `${Math.max(share * 100, value > 0 ? 2 : 0)}%` }} />
        </span>
      )}
      <span class="meter-text">{text}</span>
    </div>
  );
}

export function Resources({ ending }: { ending: Ending }) {
  const { wall_ms, cpu_ms, peak_memory } = ending.usage;
  const { timeout_ms, memory, cpus } = ending.allowed;
  const cpuLimit = timeout_ms && timeout_ms * (cpus ?? 1);
  return (
    <div class="meters">
      <Meter label="Time" value={wall_ms} limit={timeout_ms} text={formatMs(wall_ms)} limitText={formatMs(timeout_ms ?? 0)} />
      <Meter label="CPU" value={cpu_ms} limit={cpuLimit} text={formatMs(cpu_ms)} limitText={formatMs(cpuLimit ?? 0)} />
      <Meter label="Memory" value={peak_memory} limit={memory} text={formatBytes(peak_memory)} limitText={formatBytes(memory ?? 0)} />
    </div>
  );
}

/** More facts about the run, for those who want them. */
function Details({ ending, run }: { ending: Ending; run: string | null }) {
  const rows: [string, string][] = [
    ["Run", run ?? "unknown"],
    ["Checkpoint", ending.checkpoint ?? "none"],
    ["Waited", formatMs(ending.usage.queue_ms)],
    ["Output", formatBytes(ending.usage.output_bytes)],
    ["Walls", ending.walls.join(", ") || "none"],
  ];
  return (
    <dl class="ending-details">
      {rows.map(([name, text]) => <div key={name}><dt>{name}</dt><dd>{text}</dd></div>)}
    </dl>
  );
}

const CUT: readonly (readonly [keyof Ending["truncated"], string])[] = [
  ["stdout", "Some of stdout is left out: it is above the run's output limit."],
  ["stderr", "Some of stderr is left out: it is above the run's output limit."],
  ["result", "A result or a form of it is left out: it was too large to be sent."],
  ["files", "Not all files were taken: there are too many, or some are too large."],
  ["events", "Not all events were kept: there were too many."],
];

const MARKS: Readonly<Record<CellMark, readonly [title: string, sentence: string]>> = {
  undone: ["Undone", "The session went back to before this run: what it set is gone. Run the cell again to have it."],
  restarted: ["Undone", "The session was restarted after this run: what it set is gone. Run the cell again to have it."],
  rolled_back: ["Undone", "A later run failed or was stopped, and the session went back to before this one: what it set is gone. To have it, run the cell again, or go to its state if the timeline has one."],
  ended: ["Undone", "The session of this run has ended, and a new one goes on: what it set is gone. Run the cell again to have it."],
  apart: ["Not in this branch", "This branch begins without this run: what it set is not here. Run the cell again to have it."],
  stale: ["May be stale", "A cell above, whose variables this one uses, has run since. Run this one again to be sure."],
};

/** Whether a run that went well has used so much that it should be seen. */
function isTight({ usage, allowed: { timeout_ms = Infinity, memory = Infinity } }: Ending): boolean {
  return usage.wall_ms >= NEAR * timeout_ms || usage.peak_memory >= NEAR * memory;
}

/** A sentence of the daemon's, as it stands in the page: its runs are cells here. */
function inCells(note: string, numberOf: NumberOf = () => null): string {
  const text = note.replace(/\brun_[a-z0-9]+/g, (run) => {
    const number = numberOf(run);
    return number === null ? "an earlier run" : `cell ${number}`;
  });
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

interface Props {
  ending: Ending;
  run: string | null;
  mark: CellMark | null;
  isEdited: boolean;
  isSaved: boolean; // the state after it is on disk by now
  numberOf: NumberOf | undefined;
  deeds: ComponentChildren;
}

/** In front of an output so long that its ending is out of sight. */
export function EndingAhead({ ending }: { ending: Ending }) {
  const told = tellVerdict(ending.verdict);
  return (
    <p class={`ending ending-ahead is-${told.tone}`}>
      <span class="ending-badge">{told.title}</span> <span class="out-soft">after the output below</span>
    </p>
  );
}

export function EndingView({ ending, run, mark, isEdited, isSaved, numberOf, deeds }: Props) {
  const [isOpen, setOpen] = useState(false);
  const told = tellVerdict(ending.verdict);
  const state = tellState(ending.state, ending, numberOf);
  const isHealed = ending.verdict.remedy_key === "damaged" && ending.state === "rolled_back";
  const remedy = isHealed ? tellHealed(ending.undone.length) : told.remedy;
  const cuts = CUT.filter(([name]) => ending.truncated[name]);
  const isOk = ending.verdict.kind === "ok";
  const isPlain = isOk || (ending.verdict.kind === "exception" && !remedy && !state); // the traceback says it all
  const isUncounted = ending.verdict.kind === "backend" && ending.usage.wall_ms === 0; // it never began, or nobody saw its end
  const isQuiet = isOk && !mark && !isTight(ending);
  return (
    <div class={`ending is-${told.tone}${isPlain ? " is-plain" : ""}${isQuiet ? " is-quiet" : ""}`}>
      <div class="ending-line">
        {isQuiet
          ? <span class="ending-quiet"><IconCheck size={13} /> {told.title} in {formatMs(ending.usage.wall_ms)}</span>
          : !(isOk && mark && mark !== "stale") && <span class="ending-badge">{told.title}</span>}
        {mark && <span class="ending-badge is-back">{MARKS[mark][0]}</span>}
        {isEdited && <span class="out-soft" title="The code has been changed since this run">Edited since</span>}
        {ending.state === "rolled_back" && <span class="ending-badge is-back">Rolled back</span>}
        {ending.state === "lost" && <span class="ending-badge is-back">Session lost</span>}
        {(!isQuiet || isOpen) && !isUncounted && <Resources ending={ending} />}
        <button type="button" class="out-tool ending-more" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>Details</button>
      </div>
      {isOpen && <Details ending={ending} run={run} />}
      {!isOk && told.sentence && ending.verdict.kind !== "exception" && <p>{told.sentence}</p>}
      {mark && <p class="out-soft">{MARKS[mark][1]}</p>}
      {told.message && <p class="out-soft">{told.message}</p>}
      {remedy && <p class="ending-remedy"><span>What to do:</span> {remedy}</p>}
      {deeds}
      {state && <p class="ending-state">{state}</p>}
      {[ending.note, isSaved ? "" : ending.unsaved].map((note) => note && <p key={note} class="ending-state">{inCells(note, numberOf)}</p>)}
      {cuts.map(([name, text]) => <p key={name} class="out-soft">{text}</p>)}
      {ending.missing.length > 0 && <p class="out-soft">Not there, though asked for: {ending.missing.slice(0, 20).join(", ")}</p>}
      {ending.skipped && (!mark || mark === "stale") && <p class="out-soft">No checkpoint after this run: {ending.skipped}. A failure later goes back to the one before.</p>}
    </div>
  );
}
