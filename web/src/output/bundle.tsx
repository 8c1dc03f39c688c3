// SPDX-License-Identifier: Apache-2.0
// A value in the forms it came in: the richest is shown, the others are one click away.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Bundle } from "../api/types";
import { isImageMime } from "./bytes";
import { countOf, isRecord, own, ownList, ownText, textOf } from "./checks";
import { formatCount, plural } from "./format";
import { HtmlView } from "./frame-view";
import { ImageView } from "./image";
import { JsonView } from "./json";
import { Choice, Notice } from "./parts";
import { PlotlyView } from "./plotly/view";
import { TextView } from "./text";
import { isTable, readTable } from "./tables/table";
import { TableView } from "./tables/view";

type FormName = "plotly" | "table" | "tables" | "image" | "html" | "markdown" | "json" | "latex" | "text" | "code" | "other";

interface Form {
  value: FormName;
  label: string;
  mime: string;
}

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"];
const ARRAY = "application/vnd.vivarium.array+json";
const INEXACT = "application/vnd.vivarium.inexact+json"; // the JSON has other values than Python: null for inf
const SHORT_TEXT = 240; // a value whose text is this short is shown as its text, though it has a tree
const HTML_MAX = 16_000_000;
const TABLES_MAX = 8; // of one value; more are shown as their text

const isText = (bundle: Bundle, mime: string) => typeof own(bundle, mime) === "string";

type Part = [name: string, value: unknown];

function partsOf(value: unknown): Part[] {
  if (Array.isArray(value)) return value.map((part, i): Part => [`${i + 1} of ${value.length}`, part]);
  return isRecord(value) ? Object.entries(value) : [];
}

/** A list, a tuple or a dict of frames, and few of them. */
function isTables(value: unknown): boolean {
  const parts = partsOf(value);
  return parts.length > 0 && parts.length <= TABLES_MAX && parts.every(([, part]) => isTable(part));
}

/** A list or an object that is worth a tree: its text alone would be long. An array's text is made to be read, and a
 * frame's: as a tree it would be the fields by which it came. */
function wantsTree(bundle: Bundle): boolean {
  if (own(bundle, ARRAY) !== undefined) return false;
  const value = own(bundle, "application/json");
  if (partsOf(value).some(([, part]) => isTable(part)) || (!Array.isArray(value) && !isRecord(value))) return false;
  const text = own(bundle, "text/plain");
  return typeof text !== "string" || text.length > SHORT_TEXT || text.includes("\n");
}

/** The forms that can be shown, richest first. */
export function formsOf(bundle: Bundle): Form[] {
  const forms: Form[] = [];
  const put = (value: FormName, label: string, mime: string) => forms.push({ value, label, mime });
  const plotly = Object.keys(bundle).find((mime) => mime.startsWith("application/vnd.plotly.") && mime.endsWith("+json"));
  if (plotly) put("plotly", "Figure", plotly);
  if (isTable(own(bundle, "application/json"))) put("table", "Table", "application/json");
  else if (isTables(own(bundle, "application/json"))) put("tables", "Tables", "application/json");
  const image = IMAGES.find((mime) => isText(bundle, mime));
  if (image) put("image", "Image", image);
  if (isText(bundle, "text/html")) put("html", "HTML", "text/html");
  if (isText(bundle, "text/markdown")) put("markdown", "Markdown", "text/markdown");
  if (isText(bundle, "text/latex")) put("latex", "LaTeX", "text/latex");
  const isTree = !forms.length && wantsTree(bundle);
  const isExact = own(bundle, INEXACT) === undefined;
  if (isTree && isExact) put("json", "Tree", "application/json");
  if (isText(bundle, "application/javascript")) put("code", "JavaScript", "application/javascript");
  if (isText(bundle, "text/plain")) put("text", "Text", "text/plain");
  if ((!forms.length || own(bundle, ARRAY) !== undefined || (isTree && !isExact)) && own(bundle, "application/json") !== undefined) {
    put("json", isExact ? "Tree" : "JSON", "application/json");
  }
  if (!forms.length) put("other", "Other", Object.keys(bundle)[0] ?? "");
  return forms;
}

/** The type and shape of an array, which its text does not say: "float64, 3 × 4". */
function arrayText(bundle: Bundle): string {
  const facts = own(bundle, ARRAY);
  const shape = ownList(facts, "shape").slice(0, 32).map(countOf).filter((size) => size !== null);
  const sizes = shape.length === 1 ? plural(shape[0]!, "value") : shape.map(formatCount).join(" × ");
  return [ownText(facts, "dtype", 80), sizes].filter(Boolean).join(", ");
}

function PlainText({ text }: { text: string }) {
  const lines = useMemo(() => text.replace(/\n$/, "").split("\n").map((line) => ({ stream: "stdout" as const, text: line })), [text]);
  return <TextView lines={lines} name="result.txt" />;
}

/** Markdown goes where HTML goes: into the frame. */
function Markdown({ text }: { text: string }) {
  const [html, setHtml] = useState<string | null>(null);
  useEffect(() => {
    let isGone = false;
    import("marked").then(
      ({ marked }) => !isGone && setHtml(marked.parse(text.slice(0, 1_000_000), { async: false })),
      () => !isGone && setHtml(null),
    );
    return () => {
      isGone = true;
    };
  }, [text]);
  return html === null ? <PlainText text={text} /> : <HtmlView key={html} html={html} />;
}

function Table({ value, session }: { value: unknown; session: string | null }) {
  const table = useMemo(() => readTable(value), [value]);
  if (typeof table === "string") return <Notice>This table could not be shown: {table}.</Notice>;
  return <TableView table={table} session={session} />;
}

function Tables({ value, session }: { value: unknown; session: string | null }) {
  return partsOf(value).map(([name, part]) => (
    <section key={name} aria-label={`Table ${textOf(name, 80)}`}>
      <p class="out-soft">{textOf(name, 80)}</p>
      <Table value={part} session={session} />
    </section>
  ));
}

function Shown({ bundle, form, session }: { bundle: Bundle; form: Form; session: string | null }) {
  const value = own(bundle, form.mime);
  const text = typeof value === "string" ? value : textOf(value, 100_000);
  switch (form.value) {
    case "plotly":
      return <PlotlyView figure={value} />;
    case "table":
      return <Table value={value} session={session} />;
    case "tables":
      return <Tables value={value} session={session} />;
    case "image":
      return isImageMime(form.mime) ? <ImageView mime={form.mime} content={text} alt="Picture that the code made" /> : null;
    case "html":
      return text.length > HTML_MAX ? <Notice>This HTML is too large to be shown.</Notice> : <HtmlView html={text} />;
    case "markdown":
      return <Markdown text={text} />;
    case "json":
      return <JsonView value={value} />;
    case "code":
      return <><p class="out-soft">JavaScript of a result is shown, never run.</p><PlainText text={text} /></>;
    case "latex":
    case "text":
      return <PlainText text={text} />;
    case "other":
      return <Notice tone="info">A value of type {textOf(form.mime, 80) || "nothing"}, which this page cannot show.</Notice>;
  }
}

export function BundleView({ bundle, session }: { bundle: Bundle; session: string | null }) {
  const forms = useMemo(() => formsOf(bundle), [bundle]);
  const [chosen, setChosen] = useState<FormName | null>(null);
  const form = forms.find(({ value }) => value === chosen) ?? forms[0]!;
  const facts = form.value === "text" ? arrayText(bundle) : "";
  return (
    <div class={facts ? "bundle is-array" : "bundle"}>
      {forms.length > 1 && <Choice legend="Show the value as" options={forms} value={form.value} onChange={setChosen} />}
      {facts && <p class="out-soft">{facts}</p>}
      <Shown bundle={bundle} form={form} session={session} />
    </div>
  );
}

export const TableItem = Table;
