// SPDX-License-Identifier: Apache-2.0
// A chart as a picture to keep: what is on the canvas now, below its title and its legend.
import type { ECharts } from "./engine";
import type { Theme } from "./theme";

const SCALE = 2;
const EDGE = 16;
const LINE = 22;
const MARK = 11;

export interface Heading {
  title: string;
  names: readonly { name: string; colour: string }[]; // of what is shown
}

type Context = CanvasRenderingContext2D;

/** Where each name goes, from the left, in as many lines as it takes. */
function placesOf(context: Context, names: Heading["names"], width: number): { x: number; line: number }[] {
  let [x, line] = [EDGE, 0];
  return names.map(({ name }) => {
    const wide = MARK + 6 + context.measureText(name).width + 16;
    if (x > EDGE && x + wide > width - EDGE) [x, line] = [EDGE, line + 1];
    const place = { x, line };
    x += wide;
    return place;
  });
}

export function pictureOf(chart: ECharts, { title, names }: Heading, theme: Theme): HTMLCanvasElement {
  const drawn = chart.renderToCanvas({ pixelRatio: SCALE, backgroundColor: theme.surface });
  const picture = document.createElement("canvas");
  const context = picture.getContext("2d")!;
  const width = drawn.width / SCALE;
  const font = (more: string) => `${more} 13px ${theme.font}`;
  context.font = font("");
  const places = placesOf(context, names, width);
  const top = (title ? LINE : 0) + (places.length ? (places.at(-1)!.line + 1) * LINE : 0);
  const head = top ? top + EDGE : 0;
  picture.width = drawn.width;
  picture.height = drawn.height + head * SCALE;
  context.scale(SCALE, SCALE);
  context.fillStyle = theme.surface;
  context.fillRect(0, 0, width, head);
  context.textBaseline = "middle";
  context.fillStyle = theme.text;
  context.font = font("bold");
  if (title) context.fillText(title, EDGE, EDGE / 2 + LINE / 2, width - 2 * EDGE);
  context.font = font("");
  names.forEach(({ name, colour }, i) => {
    const { x, line } = places[i]!;
    const y = EDGE / 2 + (title ? LINE : 0) + line * LINE + LINE / 2;
    context.fillStyle = colour;
    context.fillRect(x, y - MARK / 2, MARK, MARK);
    context.fillStyle = theme.text;
    context.fillText(name, x + MARK + 6, y, width - 2 * EDGE);
  });
  context.drawImage(drawn, 0, head, width, drawn.height / SCALE);
  return picture;
}
