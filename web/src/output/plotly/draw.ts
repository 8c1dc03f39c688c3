// SPDX-License-Identifier: Apache-2.0
// Draws a figure inside of the frame. It was cleaned by the page; what plotly does with it stays in here.

interface Plotly {
  react(element: HTMLElement, data: unknown[], layout: object, config: object): Promise<unknown>;
  toImage(element: HTMLElement, how: { format: "png"; width: number; height: number; scale: number }): Promise<string>;
}

type Loose = Record<string, unknown>;
type Tell = (answer: Loose) => void;

const CONFIG = {
  responsive: true, displaylogo: false, displayModeBar: "hover", showLink: false, editable: false, staticPlot: false,
  plotlyServerURL: "", showSendToCloud: false, showEditInChartStudio: false, scrollZoom: false, doubleClick: "reset+autosize",
  modeBarButtonsToRemove: ["toImage", "sendDataToCloud", "editInChartStudio", "lasso2d", "select2d"],
};

let place: HTMLElement | null = null;
let shown: Loose | null = null;
let colours: Loose = {};

/** Runs plotly's own text, which the frame's policy allows by its sum; undefined when it is another. */
function plotlyOf(code: unknown): Plotly | undefined {
  const global = window as { Plotly?: Plotly };
  if (!global.Plotly && typeof code === "string") {
    const script = document.createElement("script");
    script.textContent = code;
    document.head.append(script);
  }
  return global.Plotly;
}

const isRecord = (value: unknown): value is Loose => typeof value === "object" && value !== null && !Array.isArray(value);
const textOf = (value: unknown, otherwise: string) => (typeof value === "string" ? value : otherwise);

/** The page's colours where the figure names none. */
function themed(layout: Loose, theme: Loose): Loose {
  const text = textOf(theme["text"], "#222");
  const line = textOf(theme["line"], "#ddd");
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true };
  const axes: Loose = { xaxis: { ...axis }, yaxis: { ...axis } }; // one each: plotly writes into them
  for (const [name, value] of Object.entries(layout)) if (/^[xy]axis/.test(name) && isRecord(value)) axes[name] = { ...axis, ...value };
  const { font, margin, ...rest } = layout;
  return {
    ...rest, ...axes,
    template: {}, // none: plotly's own default would bring its colours back
    autosize: true,
    font: { family: textOf(theme["font"], "sans-serif"), size: 13, ...(isRecord(font) ? font : {}), color: text },
    margin: isRecord(margin) ? margin : { l: 56, r: 24, t: layout["title"] ? 56 : 24, b: 48 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    colorway: layout["colorway"] ?? theme["palette"],
    hoverlabel: { bgcolor: textOf(theme["surface"], "#fff"), bordercolor: line, font: { color: text } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: textOf(theme["soft"], "#666"), activecolor: text },
  };
}

/** The same figure in other colours; before there is one, only the colours. */
export async function redraw(theme: Loose, tell: Tell): Promise<void> {
  colours = theme;
  if (shown) await draw(shown, null, tell);
}

export async function draw(figure: Loose, code: unknown, tell: Tell): Promise<void> {
  const plotly = plotlyOf(code);
  if (!plotly) return tell({ failed: "plotly did not start" });
  if (!place) {
    place = document.createElement("div");
    place.id = "plot";
    document.body.replaceChildren(place);
  }
  shown = figure;
  const { data, layout } = structuredClone(figure); // plotly writes into what it is given
  try {
    await plotly.react(place, Array.isArray(data) ? data : [], themed(isRecord(layout) ? layout : {}, colours), CONFIG);
    tell({ drawn: true });
  } catch (cause) {
    tell({ failed: cause instanceof Error ? cause.message.slice(0, 300) : "plotly gave up" });
  }
}

/** The figure as PNG, told as a data URL. */
export async function savePicture(tell: Tell): Promise<void> {
  const plotly = plotlyOf(null);
  if (!place || !plotly) return;
  const { width, height } = place.getBoundingClientRect();
  try {
    tell({ png: await plotly.toImage(place, { format: "png", width, height, scale: 2 }) });
  } catch {
    tell({ failed: "the picture could not be made" });
  }
}
