// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { imageBlob } from "../bytes";
import { own } from "../checks";
import { FrameView } from "../frame-view";
import { Notice, saveAs, Tool } from "../parts";
import { ChartView } from "../charts/view";
import { boxesOf } from "./boxes";
import { cleanFigure } from "./clean";
import { plotlySource } from "./source";

const HEIGHT = 420;

/** A plotly figure. */
export function PlotlyView({ figure }: { figure: unknown }) {
  const boxes = useMemo(() => boxesOf(figure), [figure]);
  return boxes ? <ChartView chart={boxes} /> : <Framed figure={figure} />;
}

/** Drawn by plotly inside of the frame. */
function Framed({ figure }: { figure: unknown }) {
  const clean = useMemo(() => cleanFigure(figure), [figure]);
  const [code, setCode] = useState<string | null>(null);
  const message = useMemo(() => (clean && code ? { plot: { data: clean.data, layout: clean.layout }, code } : null), [clean, code]);
  const ask = useRef<((question: Record<string, unknown>) => void) | null>(null);
  const [state, setState] = useState<"loading" | "drawn" | { failed: string }>("loading");
  const onAnswer = useCallback((answer: unknown) => {
    const png = own(answer, "png");
    const failed = own(answer, "failed");
    if (own(answer, "drawn") === true) setState("drawn");
    else if (typeof failed === "string") setState({ failed: failed.slice(0, 300) });
    else if (typeof png === "string" && png.startsWith("data:image/png;base64,")) {
      try {
        saveAs(imageBlob("image/png", png.slice("data:image/png;base64,".length)), "figure.png");
      } catch {
        setState({ failed: "the picture that came back is none" });
      }
    }
  }, []);
  useEffect(() => {
    let isGone = false;
    plotlySource().then(
      (text) => !isGone && setCode(text),
      (cause: unknown) => !isGone && setState({ failed: `plotly did not load: ${cause instanceof Error ? cause.message : String(cause)}` }),
    );
    return () => {
      isGone = true;
    };
  }, []);
  if (!clean) return <Notice>This plotly figure could not be shown: it has no list of traces.</Notice>;
  const missing = clean.missing.length > 0 && (
    <Notice>
      This page draws scatter, line, area, bar, pie, histogram and box traces of plotly; {clean.missing.slice(0, 5).join(", ")} is left out.
    </Notice>
  );
  if (clean.data.length === 0) return missing || <Notice>This plotly figure is empty.</Notice>;
  return (
    <figure class="chart" aria-label={`Plotly figure${clean.title ? `: ${clean.title}` : ""}`}>
      {missing}
      {clean.isCut && <Notice>This figure has more points than this page draws; only the first are shown.</Notice>}
      {typeof state === "object" && <Notice>This plotly figure could not be drawn: {state.failed}</Notice>}
      {state === "loading" && <p class="out-soft" role="status">Drawing…</p>}
      <FrameView title={`Plotly figure${clean.title ? `: ${clean.title}` : ""}`} message={message} height={HEIGHT} onAnswer={onAnswer} ask={ask} />
      <div class="out-tools">
        <Tool label="Save as PNG" disabled={state !== "drawn"} onClick={() => ask.current?.({ save: true })} />
      </div>
    </figure>
  );
}
