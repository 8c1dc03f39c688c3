// SPDX-License-Identifier: Apache-2.0
// Markdown of notes, made safe to show. A note may come from a notebook of a stranger: what it says is shown, what it
// would do is taken out. Nothing is loaded from anywhere: pictures must be in the note itself. DOMPurify comes last: it
// parses in the page's own name, and the browser would report each thing that it finds there and the CSP forbids.
import DOMPurify from "dompurify";
import { Marked } from "marked";

const TAGS = [
  "a", "b", "blockquote", "br", "code", "del", "details", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img",
  "input", "kbd", "li", "ol", "p", "pre", "s", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td",
  "th", "thead", "tr", "u", "ul",
];
const ATTRIBUTES = ["align", "alt", "checked", "colspan", "disabled", "height", "href", "open", "rowspan", "src", "start", "title", "type", "width"];
const OURS = ["aria-label", "rel", "target"]; // set here, never by a note
const LINK = /^(?:https?:\/\/|mailto:)/i;
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,/i;
const TEXT_MAX = 500_000;
const WORK_MAX = 4_000_000;
const INLINE_PICTURE = /data:image\/[a-z]+;base64,[A-Za-z0-9+/=]+/g;

const HIDDEN = /<(script|style|noscript|template|iframe|textarea|title|xmp|noembed|noframes|plaintext)\b[^]*?(?:<\/\1\s*>|$)/gi;
const TAG = /<(\/?)([a-z][a-z0-9]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>|<!--[^]*?(?:-->|$)|[<>]/gi;
const ATTRIBUTE = /(?<![a-z-])([a-z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+))/gi;

const quoted = (text: string) => text.replace(/[<>"]/g, (letter) => ({ "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]!);

/** HTML within Markdown, written anew from what is on the lists. The gates behind this would do without it; but a browser
 * reports each handler and style that it meets while parsing, as if somebody had broken in. */
export function tamed(html: string): string {
  return html.replace(HIDDEN, "").replace(TAG, (whole, slash: string, name: string | undefined, rest: string) => {
    if (whole === "<" || whole === ">") return quoted(whole);
    const tag = name?.toLowerCase() ?? "";
    if (!TAGS.includes(tag)) return "";
    if (slash) return `</${tag}>`;
    const kept = [...rest.matchAll(ATTRIBUTE)].filter(([, attribute]) => ATTRIBUTES.includes(attribute!.toLowerCase()));
    return `<${[tag, ...kept.map(([, attribute, a, b, c]) => `${attribute}="${quoted(a ?? b ?? c ?? "")}"`)].join(" ")}>`;
  });
}

const marked = new Marked({ gfm: true, breaks: false, async: false, renderer: { html: ({ text }) => tamed(text) } });
const purifier = DOMPurify(window);

function settleLink(link: Element): void {
  if (LINK.test(link.getAttribute("href") ?? "")) {
    link.setAttribute("target", "_blank");
    link.setAttribute("rel", "noopener noreferrer");
  } else {
    link.removeAttribute("href");
  }
}

function settlePicture(picture: Element): void {
  if (PICTURE.test(picture.getAttribute("src") ?? "")) return;
  const alt = picture.getAttribute("alt") || "no description";
  picture.replaceWith(picture.ownerDocument.createTextNode(`[picture not shown: ${alt}]`));
}

/** A task list's box, which marked makes: to look at, with a name for those who hear it. */
function settleBox(box: Element): void {
  if (box.getAttribute("type") !== "checkbox") return box.remove();
  box.setAttribute("disabled", "");
  box.setAttribute("aria-label", box.hasAttribute("checked") ? "done" : "to do");
}

/** The first gate, and the narrower one: whatever is on no list goes. */
function settle(element: Element): void {
  const tag = element.tagName.toLowerCase();
  if (!TAGS.includes(tag)) return element.remove();
  for (const { name } of [...element.attributes]) if (!ATTRIBUTES.includes(name)) element.removeAttribute(name);
  if (tag !== "img") element.removeAttribute("src");
  if (tag === "a") settleLink(element);
  else element.removeAttribute("href");
  if (tag === "img") settlePicture(element);
  if (tag === "input") settleBox(element);
}

/** Whether marked would keep the page busy: within one paragraph it compares every mark with every other, and every end of a word
 * with its beginning. Pictures in the text cost nothing. */
export function isTooMuch(text: string): boolean {
  let work = 0;
  for (const paragraph of text.replace(INLINE_PICTURE, "").split(/\n[ \t]*\n/)) {
    work += (paragraph.match(/[_*~`[<>]/g)?.length ?? 0) ** 2;
    for (const word of paragraph.split(/\s/)) work += word.length ** 2 / 10;
    if (work > WORK_MAX) return true;
  }
  return false;
}

/** Plain text, for markdown that would take too long or cannot be parsed. */
function plainHtml(text: string): string {
  const box = document.createElement("div");
  box.append(document.createElement("pre"));
  box.firstElementChild!.textContent = text;
  return box.innerHTML;
}

function parsed(text: string): string {
  if (isTooMuch(text)) return plainHtml(text);
  try {
    return marked.parse(text) as string;
  } catch {
    return plainHtml(text); // quotes within quotes, deeper than the stack
  }
}

/** Markup that is safe to set: two gates after it was made, each of which would do. */
export function markdownHtml(text: string): string {
  const template = document.createElement("template"); // no script runs and nothing loads in there
  template.innerHTML = parsed(text.slice(0, TEXT_MAX));
  for (const element of template.content.querySelectorAll("*")) settle(element);
  return purifier.sanitize(template.innerHTML, {
    ALLOWED_TAGS: TAGS, ALLOWED_ATTR: [...ATTRIBUTES, ...OURS], ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false, RETURN_TRUSTED_TYPE: false,
  });
}
