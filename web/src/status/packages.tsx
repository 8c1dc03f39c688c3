// SPDX-License-Identifier: Apache-2.0
// The Pythons that code can run in, and what is installed in each.
import { useEffect, useId, useState } from "preact/hooks";
import { packages } from "../api/calls";
import type { Status } from "../api/types";
import { Trouble } from "../panels/trouble";
import { visible } from "../panels/format";
import { preloadText } from "../state/runtimes";
import { Loading } from "../ui";

const PRELOADS_SHOWN = 8;

export function Runtimes({ runtimes }: { runtimes: Status["runtimes"] }) {
  return (
    <ul class="facts">
      {runtimes.map((runtime) => (
        <li key={runtime.name} class="fact">
          <p class="fact-head"><strong>{visible(runtime.name)}</strong></p>
          <p class="fact-what">
            {runtime.preload.length === 0 ? "Plain Python: imports load when asked for." : `Loaded already: ${preloadText(runtime.preload, PRELOADS_SHOWN)}.`}
          </p>
        </li>
      ))}
    </ul>
  );
}

interface Package {
  name: string;
  version: string;
}

export function Packages({ runtimes }: { runtimes: Status["runtimes"] }) {
  const [runtime, setRuntime] = useState(runtimes[0]?.name ?? "");
  const [filter, setFilter] = useState("");
  const [list, setList] = useState<readonly Package[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [tries, setTries] = useState(0);
  const [runtimeId, filterId] = [useId(), useId()];

  useEffect(() => {
    let isWanted = true;
    setList(null);
    setError(null);
    packages(runtime).then(
      (answer) => isWanted && setList(answer.packages),
      (cause: unknown) => isWanted && setError(cause instanceof Error ? cause : new Error(String(cause))),
    );
    return () => void (isWanted = false);
  }, [runtime, tries]);

  const wanted = filter.trim().toLowerCase();
  const shown = (list ?? []).filter((one) => one.name.toLowerCase().includes(wanted));
  return (
    <>
      <div class="package-bar">
        <label class="unseen" for={runtimeId}>Runtime</label>
        <select id={runtimeId} class="input" value={runtime} onChange={(event) => setRuntime(event.currentTarget.value)}>
          {runtimes.map((one) => <option key={one.name} value={one.name}>{visible(one.name)}</option>)}
        </select>
        <label class="unseen" for={filterId}>Find a package</label>
        <input id={filterId} class="input" type="search" placeholder="Find a package" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
      </div>
      {error && <Trouble what="The packages" error={error} onRetry={() => setTries(tries + 1)} />}
      {!list && !error && <Loading label="Reading the packages" />}
      {list && <p class="status-note" aria-live="polite">{shown.length === list.length ? `${list.length} packages` : `${shown.length} of ${list.length} packages`}</p>}
      {list && (
        <ul class="packages" tabIndex={0} aria-label="Packages">
          {shown.map((one) => <li key={one.name}><span>{visible(one.name)}</span> <span class="package-version">{visible(one.version)}</span></li>)}
        </ul>
      )}
    </>
  );
}
