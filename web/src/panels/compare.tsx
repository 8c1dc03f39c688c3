// SPDX-License-Identifier: Apache-2.0
// Which variables differ between two states, or between one and the present.
import { diff } from "../api/calls";
import type { Checkpoint, Diff } from "../api/types";
import { Loading } from "../ui";
import { visible } from "./format";
import { useLoad } from "./load";
import { Trouble } from "./trouble";

const NAMES_MAX = 200;

function Names({ label, names, class: name }: { label: string; names: readonly string[]; class: string }) {
  if (names.length === 0) return null;
  return (
    <div class={`diff-group ${name}`}>
      <h4>{label} <span class="diff-count">{names.length}</span></h4>
      <ul aria-label={label}>{names.slice(0, NAMES_MAX).map((one) => <li key={one}>{visible(one)}</li>)}</ul>
      {names.length > NAMES_MAX && <p class="panel-note">and {names.length - NAMES_MAX} more</p>}
    </div>
  );
}

interface CompareProps {
  session: string;
  pair: readonly Checkpoint[]; // one or two, in any order
  head: string | null;
  nameOf: (checkpoint: Checkpoint) => string;
}

export function Compare({ session, pair, head, nameOf }: CompareProps) {
  const [from, to] = pair.toSorted((a, b) => a.created_ms - b.created_ms);
  const { data, error, reload } = useLoad<Diff>(session, `diff ${from!.id} ${to?.id ?? ""}`, (id) => diff(id, from!.id, to?.id));
  const isSame = data && data.added.length + data.removed.length + data.changed.length === 0;
  return (
    <section class="diff" aria-label="Comparison" aria-live="polite">
      <p class="diff-head">From <strong>{nameOf(from!)}</strong> to <strong>{to ? nameOf(to) : "now"}</strong></p>
      {!to && from!.id !== head && <p class="panel-note">Choose a second state to compare two.</p>}
      {error && <Trouble what="The comparison" error={error} onRetry={reload} />}
      {!data && !error && <Loading label="Comparing" />}
      {isSame && <p class="panel-note">No variable differs.</p>}
      {data && (
        <>
          <Names label="Added" names={data.added} class="diff-added" />
          <Names label="Removed" names={data.removed} class="diff-removed" />
          <Names label="Changed" names={data.changed} class="diff-changed" />
        </>
      )}
    </section>
  );
}
