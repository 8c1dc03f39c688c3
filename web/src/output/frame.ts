// SPDX-License-Identifier: Apache-2.0
// Inside of the frame that shows HTML of a result, or a plotly figure. It has no origin, no network and no script but ours;
// it shows what the page hands it and says how high that is. It is one file without imports at run time: it stands in the
// document itself.
import { draw, redraw, savePicture } from "./plotly/draw";

const root = document.documentElement;

function tell(answer: Record<string, unknown>): void {
  parent.postMessage(answer, "*");
}

function tellHeight(): void {
  tell({ height: Math.ceil(root.getBoundingClientRect().height) });
}

/** Frames, plugins, forms' targets and links would lead the frame astray: they are taken out, and links are only text. */
const REMOVED = "script, link, meta, base, iframe, frame, object, embed, portal";
const FAR = new Set(["src", "srcset", "href", "xlink:href", "poster", "background", "data", "action", "formaction", "ping", "target"]);
const NEAR = /^\s*(?:#|data:image\/|blob:)/i;

/** Styles without what they would fetch. The policy refuses it anyhow, with a complaint in the console for each. */
function quietStyle(css: string): string {
  return css.replace(/@import[^;]*;?/gi, "").replace(/url\((?!\s*["']?(?:data:image\/|#))[^)]*\)?/gi, "none");
}

function cleanElement(element: Element): void {
  for (const { name, value } of [...element.attributes]) {
    if (name.startsWith("on") || (FAR.has(name) && !NEAR.test(value))) element.removeAttribute(name);
    else if (name === "style" && /url\(/i.test(value)) element.setAttribute("style", quietStyle(value));
    if (name === "href" && /^https?:/i.test(value)) element.setAttribute("title", value.slice(0, 500));
  }
  if (element.localName === "style") element.textContent = quietStyle(element.textContent ?? "");
}

/** HTML as it may stand here. No script of it would run and nothing would be fetched anyhow: that is the policy's work. */
function showHtml(html: string): void {
  const quiet = html
    .replace(/<(?:base|meta|link)\b[^>]*>?/gi, "")
    .replace(/<[a-z][^<>]*/gi, (tag) => tag.replace(/([\s"'/])on([a-z]+\s*=)/gi, "$1data-on-$2"));
  const parsed = new DOMParser().parseFromString(quiet, "text/html");
  for (const element of parsed.querySelectorAll(REMOVED)) element.remove();
  for (const element of parsed.querySelectorAll("*")) cleanElement(element);
  const styles = [...parsed.head.querySelectorAll("style")];
  document.body.replaceChildren(...styles, ...parsed.body.childNodes);
}

function applyTheme(theme: Record<string, unknown>): void {
  root.style.colorScheme = theme["isDark"] === true ? "dark" : "light";
  for (const name of ["text", "soft", "line", "surface", "sunken", "font"]) {
    const value = theme[name];
    if (typeof value === "string") root.style.setProperty(`--${name}`, value);
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

addEventListener("message", (event: MessageEvent<unknown>) => {
  if (event.source !== parent || !isRecord(event.data)) return;
  const { html, plot, code, save, theme } = event.data;
  if (isRecord(theme)) {
    applyTheme(theme);
    void redraw(theme, tell);
  }
  if (typeof html === "string") showHtml(html);
  if (isRecord(plot)) void draw(plot, code, tell);
  if (save === true) void savePicture(tell);
  tellHeight();
});
new ResizeObserver(tellHeight).observe(root);
tell({ ready: true });
