// SPDX-License-Identifier: Apache-2.0
// The end of the audit log: one line per run, newest first. It has no code and no output.
import { useEffect, useState } from "preact/hooks";
import { auditTail } from "../api/calls";
import type { AuditLine } from "../api/types";
import { nameOf } from "../agents/who";
import { visible } from "../panels/format";
import { Trouble } from "../panels/trouble";
import { onRun } from "../state/feed";
import { Button, Loading } from "../ui";

const LINES = 100;
const SHOWN = 20;
const REST_MS = 500; // after a run: a burst of them is one look

const text = (value: unknown) => (typeof value === "string" ? visible(value) : value === null || value === undefined ? "" : visible(JSON.stringify(value) ?? ""));

function timeOf(line: AuditLine): string {
  const at = new Date(line.time);
  return Number.isNaN(at.getTime()) ? text(line.time) : at.toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
}

export function Audit() {
  const [lines, setLines] = useState<readonly AuditLine[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isAll, setAll] = useState(false);
  const [tries, setTries] = useState(0);

  useEffect(() => {
    let isWanted = true;
    let timer: ReturnType<typeof setTimeout> | null = null;
    const load = () => {
      timer = null;
      auditTail(LINES).then(
        (list) => {
          if (!isWanted) return;
          setLines(list.toReversed());
          setError(null);
        },
        (cause: unknown) => isWanted && setError(cause instanceof Error ? cause : new Error(String(cause))),
      );
    };
    load();
    const stop = onRun((row) => {
      if (row.state === "over") timer ??= setTimeout(load, REST_MS);
    });
    return () => {
      isWanted = false;
      if (timer !== null) clearTimeout(timer);
      stop();
    };
  }, [tries]);

  if (!lines) return error ? <Trouble what="The audit log" error={error} onRetry={() => setTries(tries + 1)} /> : <Loading label="Reading the audit log" />;
  if (lines.length === 0) return <p class="status-note">Nothing has run yet.</p>;
  const shown = isAll ? lines : lines.slice(0, SHOWN);
  return (
    <>
      <div class="grid-scroll" tabIndex={0} role="region" aria-label="Audit log">
        <table class="grid">
          <thead><tr><th scope="col">Time</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">Policy</th><th scope="col">Verdict</th><th scope="col">Run</th></tr></thead>
          <tbody>
            {shown.map((line) => (
              <tr key={line.run}>
                <td>{timeOf(line)}</td>
                <td>{nameOf(line)}</td>
                <td>{text(line["op"])}</td>
                <td>{text(line.policy)}</td>
                <td class={line.verdict === "ok" ? "audit-good" : "audit-bad"}>{text(line.verdict)}{line["decided_by"] !== undefined && ` (by ${text(line["decided_by"])})`}</td>
                <td><code>{text(line.run).slice(0, 14)}</code></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {lines.length > SHOWN && <Button onClick={() => setAll(!isAll)}>{isAll ? "Show fewer" : `Show the last ${lines.length}`}</Button>}
    </>
  );
}
