// SPDX-License-Identifier: Apache-2.0
// The banner above every page while the daemon is away, or does not know who asks.
import { useEffect, useId, useState } from "preact/hooks";
import { connection, restartFeed, retryAtMs, retryNow } from "../state/feed";
import { change, settings } from "../state/settings";
import { Button, useSlow } from "../ui";
import { IconLock, IconRefresh, IconWarning } from "../ui/icons";

/** Whole seconds until then, counted down. */
function useSecondsTo(ms: number | null): number | null {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (ms === null) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [ms]);
  return ms === null ? null : Math.max(1, Math.ceil((ms - now) / 1000));
}

function Away({ isTrying }: { isTrying: boolean }) {
  const seconds = useSecondsTo(retryAtMs.value);
  return (
    <div class="banner banner-warn">
      <IconWarning size={16} />
      <p class="banner-text">
        <strong role="alert">The daemon does not answer.</strong>{" "}
        <span aria-hidden="true">{isTrying || seconds === null ? "Trying again…" : `Trying again in ${seconds} s.`}</span>{" "}
        <span class="banner-more">What you type is kept here, and saved when it is back.</span>
      </p>
      <Button size="small" icon={IconRefresh} busy={isTrying} onClick={retryNow}>Retry</Button>
    </div>
  );
}

function AskToken() {
  const [token, setToken] = useState("");
  const id = useId();
  const hadOne = settings.value.token !== "";
  const use = (event: Event) => {
    event.preventDefault();
    if (!token.trim()) return;
    change({ token: token.trim() });
    restartFeed();
  };
  return (
    <form class="banner banner-info" onSubmit={use}>
      <IconLock size={16} />
      <p class="banner-text" role="alert">
        <strong>{hadOne ? "The daemon does not know this token." : "This daemon asks for a token."}</strong>{" "}
        <span class="banner-more">Whoever runs it makes one with <code>viv token new</code>. It stays in this browser.</span>
      </p>
      <label class="unseen" for={id}>Access token</label>
      <input id={id} class="input banner-field" type="password" autocomplete="off" placeholder="Token" value={token}
        onInput={(event) => setToken(event.currentTarget.value)} />
      <Button size="small" tone="primary" type="submit">Use it</Button>
    </form>
  );
}

export function Banner() {
  const state = connection.value;
  // A try that succeeds at once, as most do after a restart, must not flash the banner away and back.
  const [wasAway, setWasAway] = useState(false);
  useEffect(() => {
    if (state === "away") setWasAway(true);
    if (state === "on" || state === "unauthorized") setWasAway(false);
  }, [state]);
  const isSlow = useSlow(state === "connecting", 1500);
  if (state === "unauthorized") return <AskToken />;
  if (state === "away" || wasAway) return <Away isTrying={state === "connecting"} />;
  if (isSlow) return <p class="banner banner-info" role="status">Connecting to the daemon…</p>;
  return null;
}
