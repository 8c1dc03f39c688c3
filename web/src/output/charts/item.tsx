// SPDX-License-Identifier: Apache-2.0
// A chart of a run, whichever kind it is: the picture of a matplotlib figure with its interactive twin, a chart object, a
// plotly figure.
import { useMemo, useState } from "preact/hooks";
import { countOf, own, ownText } from "../checks";
import { ImageView } from "../image";
import { Choice, Notice } from "../parts";
import { PlotlyView } from "../plotly/view";
import { readFigure } from "./figure";
import { Malformed, readSpec } from "./spec";
import { ChartView } from "./view";

const LACKS_SHOWN = 6;
const FORMS = [{ value: "image", label: "Image" }, { value: "twin", label: "Interactive" }] as const;

/** The parts that the interactive form lacks, in one sentence. */
const lacksText = (lacks: readonly string[]) => `${lacks.slice(0, LACKS_SHOWN).join(", ")}${lacks.length > LACKS_SHOWN ? ` and ${lacks.length - LACKS_SHOWN} more` : ""}`;

function Figure({ chart }: { chart: unknown }) {
  const twin = useMemo(() => readFigure(own(chart, "data")), [chart]);
  const content = ownText(chart, "base64", 30_000_000);
  const hasImage = content !== "";
  const hasTwin = twin.charts.length > 0;
  const [form, setForm] = useState<"image" | "twin">(hasImage || !hasTwin ? "image" : "twin");
  const title = twin.title || twin.charts[0]?.title || "";
  const number = (countOf(own(chart, "index")) ?? 0) + 1;
  const picture = hasImage && (
    <ImageView mime={ownText(chart, "mime", 60) || "image/png"} content={content} alt={title ? `Figure: ${title}` : `Figure ${number}`} name={`figure-${number}`}
      scale={countOf(own(chart, "scale")) ?? 1} />
  );
  return (
    <div class="figure">
      {hasTwin && hasImage && <Choice legend="Show the figure as" options={FORMS} value={form} onChange={setForm} />}
      {form === "twin" ? (
        <>
          {twin.lacks.length > 0 && <Notice>The interactive form lacks {lacksText(twin.lacks)}. {hasImage ? (twin.missing > 0 ? "The image below shows all." : "The image shows all.") : ""}</Notice>}
          {twin.title && <p class="figure-title">{twin.title}</p>}
          <div class={twin.charts.length > 1 ? "figure-charts is-many" : "figure-charts"}>
            {twin.charts.map((part, i) => <ChartView key={i} chart={part} />)}
          </div>
          {twin.missing > 0 && picture}
        </>
      ) : hasImage ? (
        <>
          {picture}
          {hasTwin && twin.lacks.length > 0 && <p class="out-soft">The interactive form lacks {lacksText(twin.lacks)}.</p>}
        </>
      ) : (
        <Notice>The picture of this figure was too large to be sent.</Notice>
      )}
    </div>
  );
}

function Spec({ spec }: { spec: unknown }) {
  const read = useMemo(() => {
    try {
      return readSpec(spec);
    } catch (cause) {
      return cause instanceof Malformed ? cause.message : "it could not be read";
    }
  }, [spec]);
  if (typeof read === "string") return <Notice>Chart data is incomplete or malformed: {read}.</Notice>;
  return <ChartView chart={read} />;
}

export function ChartItem({ chart }: { chart: unknown }) {
  switch (own(chart, "kind")) {
    case "image":
      return <Figure chart={chart} />;
    case "spec":
      return <Spec spec={own(chart, "spec")} />;
    case "plotly":
      if (own(chart, "truncated") === true) return <Notice>This plotly figure was too large to be sent.</Notice>;
      return <PlotlyView figure={own(chart, "figure")} />;
    default:
      return <Notice>A chart of a kind that this page does not know.</Notice>;
  }
}
