// SPDX-License-Identifier: Apache-2.0
// A run that belongs to no conversation: its code and what it showed.
import { useEffect, useState } from "preact/hooks";
import { runCode, runEventsSoFar } from "../api/calls";
import type { RunRow } from "../api/types";
import { Source } from "../cells/highlight";
import { Output } from "../output/model";
import { OutputView } from "../output/view";
import { Dialog, Loading } from "../ui";
import { WhoLine } from "./who";

const LOOK_MS = 1000; // between two looks: the one stream of the tab belongs to the cells

/** Reads what there is, and again until the run is over. */
async function read(output: Output, run: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !output.isOver) {
    for await (const event of runEventsSoFar(run, output.seq, signal)) output.apply(event);
    if (!output.isOver) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

export function RunDialog({ row, onClose }: { row: RunRow; onClose: () => void }) {
  const [code, setCode] = useState<string | null>(null);
  const [output] = useState(() => new Output(row.id));
  const [trouble, setTrouble] = useState("");

  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    runCode(row.id).then((text) => !signal.aborted && setCode(text), () => !signal.aborted && setCode(row.line ?? ""));
    read(output, row.id, signal).catch((cause: unknown) => {
      if (!signal.aborted) setTrouble(cause instanceof Error ? cause.message : String(cause));
    });
    return () => controller.abort();
  }, [row.id]);

  return (
    <Dialog title="Run" size="wide" onClose={onClose}>
      <p class="var-facts"><WhoLine who={row.who} /></p>
      {code === null ? <Loading label="Reading the code" /> : <pre class="repr" tabIndex={0}><Source source={code} /></pre>}
      {trouble && <p class="judge-note" role="alert">What it showed could not be read: {trouble}</p>}
      <OutputView output={output} session={null} />
    </Dialog>
  );
}
