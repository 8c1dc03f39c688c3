// SPDX-License-Identifier: Apache-2.0
// The daemon's work, drawn as it happens; asked every two seconds while somebody looks.
import { useEffect, useRef, useState } from "preact/hooks";
import { metrics } from "../api/calls";
import { Trouble } from "../panels/trouble";
import { gauges, Trail } from "./metrics";
import { Spark } from "./spark";

const LOOK_MS = 2000;

export function RightNow() {
  const trail = useRef(new Trail());
  const [, setCount] = useState(0);
  const [error, setError] = useState<Error | null>(null);

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isWanted = true;
    const look = async () => {
      clearTimeout(timer);
      if (!document.hidden) {
        try {
          trail.current.add(await metrics(), performance.now());
          if (isWanted) setError(null);
        } catch (cause) {
          if (isWanted) setError(cause instanceof Error ? cause : new Error(String(cause)));
        }
        if (isWanted) setCount((n) => n + 1);
      }
      if (isWanted && !document.hidden) timer = setTimeout(() => void look(), LOOK_MS);
    };
    const onVisible = () => void (!document.hidden && look());
    document.addEventListener("visibilitychange", onVisible);
    void look();
    return () => {
      isWanted = false;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, []);

  return (
    <>
      {error && <Trouble what="The metrics" error={error} onRetry={() => setError(null)} />}
      <div class="sparks">{gauges.map((gauge, i) => <Spark key={gauge.name} name={gauge.name} points={trail.current.points[i]!} unit={gauge.unit} />)}</div>
    </>
  );
}
