// SPDX-License-Identifier: Apache-2.0
// The phase of a cell: waiting, held, running and for how long.
import { useEffect, useState } from "preact/hooks";
import type { Who } from "../api/types";
import type { Output } from "../output/model";
import type { Cell } from "../state/conversation";
import { runs } from "../state/feed";
import { aheadMs } from "../state/self";
import { Spinner } from "../ui";
import { IconAgent, IconClock, IconHand } from "../ui/icons";
import { liveOf } from "./live";

const TICK_MS = 200;

export function elapsedText(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${Math.floor(seconds) % 60} s`;
}

/** When the run began, by this browser's clock: from the daemon's row of it, which a page that was loaded anew has as well. */
export function begunAt(output: Output): number | null {
  const row = runs.value.find(({ id }) => id === output.run);
  return row?.state === "running" ? row.begun_ms - aheadMs.value : null;
}

/** Counts up by itself; not read out, or a screen reader would count along. */
function Elapsed({ output }: { output: Output | null }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  void output?.version.value;
  const begun = output && begunAt(output);
  return begun ? <span class="phase-time" aria-hidden="true">{elapsedText(now - begun)}</span> : null;
}

export function Phase({ cell }: { cell: Cell }) {
  const { isStopping, notice } = liveOf(cell);
  const phase = cell.phase.value;
  if (isStopping.value) return <p class="phase"><Spinner size={13} /> Stopping…</p>;
  if (phase === "waiting") return <p class="phase"><IconClock size={13} /> Waiting for its turn</p>;
  if (phase === "held") {
    return (
      <p class="phase phase-held">
        <IconHand size={13} /> Waiting for a person to allow it <a href="#/approvals">See approvals</a>
      </p>
    );
  }
  if (phase === "running") return <p class="phase phase-running"><Spinner size={13} /> Running <Elapsed output={cell.output.value} /></p>;
  return notice.value ? <p class="phase phase-notice">{notice.value}</p> : null;
}

export const nameOf = (who: Who): string => who.client ?? who.token ?? who.peer ?? "";

/** The maker of a run that this page did not start, by its own claim. */
export function WhoBadge({ who }: { who: Who }) {
  const name = nameOf(who);
  const told = [`Made by ${name}`, `through ${who.via}`, who.token ? `with the token ${who.token}` : "", `from ${who.peer}`];
  return (
    <span class="who" title={told.filter(Boolean).join(", ")}>
      <IconAgent size={13} /> <span class="who-name">{name}</span> <span class="who-via">{who.via}</span>
    </span>
  );
}
