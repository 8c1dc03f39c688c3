// SPDX-License-Identifier: Apache-2.0
// The parts of this daemon and how they fare: walls, backends, runtimes, pools, metrics, and the end of its audit log.
import { useEffect, useState } from "preact/hooks";
import { status } from "../api/calls";
import type { Pool, Status } from "../api/types";
import { bytes, visible } from "../panels/format";
import { formatMs } from "../output/format";
import { Trouble } from "../panels/trouble";
import { onReload } from "../state/feed";
import { Loading } from "../ui";
import { Audit } from "../status/audit";
import { Packages, Runtimes } from "../status/packages";
import { RightNow } from "../status/right_now";
import { Section } from "../status/section";
import { Backends, Walls } from "../status/walls";
import "../panels/panels.css";
import "../status/status.css";

const LOOK_MS = 5000;

function Pools({ pools }: { pools: readonly Pool[] }) {
  return (
    <div class="grid-scroll" tabIndex={0} role="region" aria-label="Sandboxes of each runtime">
      <table class="grid">
        <thead><tr><th scope="col">Runtime</th><th scope="col">Ready</th><th scope="col">Being made</th><th scope="col">To keep</th><th scope="col">Memory of each</th></tr></thead>
        <tbody>
          {pools.map((pool) => (
            <tr key={`${pool.runtime} ${pool.memory}`}>
              <td>{visible(pool.runtime)}</td><td class="grid-figure">{pool.ready}</td><td class="grid-figure">{pool.coming}</td>
              <td class="grid-figure">{pool.keep}</td><td class="grid-figure">{bytes(pool.memory)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {pools.filter((pool) => pool.why).map((pool) => <p key={pool.runtime} class="status-note">{visible(pool.runtime)}: {visible(pool.why!)}</p>)}
    </div>
  );
}

function Facts({ about }: { about: Status }) {
  const sandboxes = about.sandboxes ?? about.pools.reduce((total, pool) => total + pool.ready, 0);
  return (
    <dl class="status-facts">
      <div><dt>Version</dt><dd>{visible(about.version)}</dd></div>
      <div><dt>Up for</dt><dd>{formatMs(Math.round(about.uptime_ms / 1000) * 1000)}</dd></div>
      <div><dt>Backend</dt><dd>{visible(about.backend)}</dd></div>
      <div><dt>Live sandboxes</dt><dd>{sandboxes}</dd></div>
      {about.config && <div><dt>Configuration</dt><dd><code>{visible(about.config)}</code></dd></div>}
    </dl>
  );
}

/** Asked again now and then while somebody looks, and when the daemon is back. */
function useStatus() {
  const [about, setAbout] = useState<Status | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let isWanted = true;
    const load = () => {
      if (document.hidden) return;
      status().then(
        (answer) => {
          if (!isWanted) return;
          setAbout(answer);
          setError(null);
        },
        (cause: unknown) => isWanted && setError(cause instanceof Error ? cause : new Error(String(cause))),
      );
    };
    load();
    const timer = setInterval(load, LOOK_MS);
    const stop = onReload(load);
    return () => {
      isWanted = false;
      clearInterval(timer);
      stop();
    };
  }, [tries]);
  return { about, error, retry: () => setTries((n) => n + 1) };
}

export function StatusPage() {
  const { about, error, retry } = useStatus();
  return (
    <div class="status">
      <h1>Status</h1>
      {error && <Trouble what="The status" error={error} onRetry={retry} />}
      {!about && !error && <Loading label="Asking the daemon" />}
      {about && (
        <>
          <Facts about={about} />
          <Section title="Right now" note="Since this page was opened; at most the last three minutes."><RightNow /></Section>
          <Section title="Walls" note="What stands between code in a sandbox and this machine."><Walls facts={about.wall_facts} names={about.walls} /></Section>
          <Section title="Backends" note="What runs code; the strongest that is available is used."><Backends backends={about.backends} active={about.backend} /></Section>
          <Section title="Pools" note="Sandboxes made ahead, so that a run starts at once."><Pools pools={about.pools} /></Section>
          <Section title="Runtimes"><Runtimes runtimes={about.runtimes} /></Section>
          <Section title="Packages"><Packages runtimes={about.runtimes} /></Section>
          <Section title="Audit" note="One line per run: who, what, and how it ended. Neither code nor output."><Audit /></Section>
        </>
      )}
    </div>
  );
}
