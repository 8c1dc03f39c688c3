// SPDX-License-Identifier: Apache-2.0
// Inside of the frame that shows HTML of a result, or a plotly figure. It has no origin, no network and no script but ours;
// it shows what the page hands it and says how high that is. It is one file without imports at run time: it stands in the
// document itself.
import { draw, savePicture } from "./plotly/draw";

const root = document.documentElement;

function tell(answer: Record<string, unknown>): void {
  parent.postMessage(answer, "*");
}

function tellHeight(): void {
  tell({ height: Math.ceil(root.getBoundingClientRect().height) });
}

/** HTML as it may stand here. No script of it would run anyhow; links would lead the frame astray, so they are only text. */
function showHtml(html: string): void {
  // Handlers are refused by the policy, with a complaint in the console for each; taken out here they make none.
  const quiet = html.replace(/<[a-z][^<>]*/gi, (tag) => tag.replace(/([\s"'/])on([a-z]+\s*=)/gi, "$1data-on-$2"));
  const parsed = new DOMParser().parseFromString(quiet, "text/html");
  for (const element of parsed.querySelectorAll("script, link, meta, base, iframe, frame, object, embed, portal")) element.remove();
  for (const link of parsed.querySelectorAll("a, area, form")) {
    const target = link.getAttribute("href");
    for (const name of ["href", "xlink:href", "action", "target", "ping"]) link.removeAttribute(name);
    if (target && /^https?:/i.test(target)) link.setAttribute("title", target.slice(0, 500));
  }
  for (const element of parsed.querySelectorAll("*")) {
    for (const { name, value } of [...element.attributes]) {
      const isFar = (name === "src" || name === "srcset" || name === "poster") && !/^\s*(data:image\/|blob:)/i.test(value);
      if (isFar || name.startsWith("on")) element.removeAttribute(name);
    }
  }
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
  if (isRecord(theme)) applyTheme(theme);
  if (typeof html === "string") showHtml(html);
  if (isRecord(plot)) void draw(plot, code, isRecord(theme) ? theme : {}, tell);
  else if (save === true) void savePicture(tell);
  else tellHeight();
});
new ResizeObserver(tellHeight).observe(root);
tell({ ready: true });
