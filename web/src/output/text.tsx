// SPDX-License-Identifier: Apache-2.0
// Text of a run. A little is plain text that can be selected and searched; much is a virtual list, of which only the rows in
// sight exist. While the run goes on the box follows the end, until the reader scrolls up.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { plainOf, spansOf, TYPED_CLASS, type Span } from "./ansi";
import { formatCount, plural } from "./format";
import { copyText, saveAs, Tool } from "./parts";
import { Rows, rowSpans } from "./rows";
import type { TextLine } from "./screen";

const PLAIN_LINES = 300;
const PLAIN_LETTERS = 100_000;
const CAP_ROWS = 22; // of a box that was not asked to show all
const ROW_HEIGHT = 20; // px; the same as in output.css
const SPARE_ROWS = 40; // above and below what is in sight
const COPY_MAX = 20_000_000;

interface Props {
  lines: readonly TextLine[];
  from?: number;
  count?: number;
  version?: number; // another one: a line has changed, though there are as many as before
  isLive?: boolean;
  name?: string; // of the file it is saved as
}

const Spans = ({ spans }: { spans: readonly Span[] }) => (
  <>
    {spans.map(({ text, classes }, i) =>
      classes === TYPED_CLASS ? <kbd key={i} class={classes} title="Typed here">{text}</kbd> : classes ? <span key={i} class={classes}>{text}</span> : text,
    )}
  </>
);

function isPlain(lines: readonly TextLine[], from: number, count: number): boolean {
  if (count > PLAIN_LINES) return false;
  let letters = 0;
  for (let i = from; i < from + count; i++) letters += lines[i]!.text.length;
  return letters <= PLAIN_LETTERS;
}

/** `version` is not read: a component whose props are the same is not drawn again. */
interface LinesProps {
  lines: readonly TextLine[];
  from: number;
  count: number;
  version: number;
}

function PlainLines({ lines, from, count }: LinesProps) {
  return (
    <div class="text-plain">
      {lines.slice(from, from + count).map((line, i) => (
        <div key={i} class={line.stream === "stderr" ? "text-line is-stderr" : "text-line"}>
          {line.text ? <Spans spans={spansOf(line.text)} /> : "\n"}
        </div>
      ))}
    </div>
  );
}

/** Which rows are in sight, and how many letters fit in one. */
function useWindow(box: { current: HTMLDivElement | null }, isOn: boolean) {
  const [top, setTop] = useState(0);
  const [size, setSize] = useState({ columns: 100, rows: CAP_ROWS });
  useLayoutEffect(() => {
    const element = box.current;
    if (!isOn || !element) return;
    const probe = document.createElement("span");
    probe.className = "text-probe";
    probe.textContent = "0".repeat(100);
    element.append(probe);
    const letter = probe.getBoundingClientRect().width / 100 || 8;
    probe.remove();
    const measure = () => {
      const columns = Math.max(20, Math.floor((element.clientWidth - 24) / letter));
      const rows = Math.ceil(element.clientHeight / ROW_HEIGHT) || CAP_ROWS;
      setSize((old) => (old.columns === columns && old.rows === rows ? old : { columns, rows }));
    };
    const scrolled = () => setTop(Math.floor(element.scrollTop / ROW_HEIGHT / 10) * 10);
    measure();
    scrolled();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", scrolled, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", scrolled);
    };
  }, [isOn]);
  return { top, ...size };
}

function VirtualLines({ lines, from, count, box }: LinesProps & { box: { current: HTMLDivElement | null } }) {
  const { top, columns, rows: height } = useWindow(box, true);
  const index = useRef<Rows | null>(null);
  if (index.current?.columns !== columns) index.current = new Rows(columns);
  const rows = index.current;
  rows.sync(lines, from, count);
  const first = Math.max(0, Math.min(top, rows.count - height) - SPARE_ROWS);
  const last = Math.min(rows.count, Math.max(top, 0) + height + SPARE_ROWS + 10);
  const shown = [];
  let { line, part } = rows.at(first);
  for (let row = first; row < last; row++) {
    const text = lines[from + line];
    if (!text) break;
    shown.push(
      <div key={row} class={text.stream === "stderr" ? "text-row is-stderr" : "text-row"}>
        <Spans spans={rowSpans(text, part, columns)} />
      </div>,
    );
    const next = rows.at(row + 1);
    [line, part] = [next.line, next.part];
  }
  return (
    <div class="text-all" style={{ height: `${rows.count * ROW_HEIGHT}px` }}>
      <div class="text-window" style={{ transform: `translateY(${first * ROW_HEIGHT}px)` }}>{shown}</div>
    </div>
  );
}

/** Keeps the end in sight while text comes, unless the reader has gone up. */
function useFollow(box: { current: HTMLDivElement | null }, isLive: boolean): void {
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const note = () => (isAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - 8);
    element.addEventListener("scroll", note, { passive: true });
    return () => element.removeEventListener("scroll", note);
  }, []);
  useLayoutEffect(() => {
    if (isLive && isAtEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
}

function wholeText(lines: readonly TextLine[], from: number, count: number): string {
  const parts: string[] = [];
  let letters = 0;
  for (let i = from; i < from + count && letters < COPY_MAX; i++) {
    const text = plainOf(lines[i]!.text);
    parts.push(text);
    letters += text.length;
  }
  return parts.join("\n") + "\n";
}

export function TextView({ lines, from = 0, count = lines.length - from, version = 0, isLive = false, name = "output.txt" }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [isAll, setAll] = useState(false);
  const [isTall, setTall] = useState(false);
  const isSmall = isPlain(lines, from, count);
  useFollow(box, isLive);
  useLayoutEffect(() => {
    if (box.current && !isAll) setTall(box.current.scrollHeight > CAP_ROWS * ROW_HEIGHT + 24);
  });
  const text = () => wholeText(lines, from, count);
  return (
    <div class="text">
      <div ref={box} class={`text-box${isAll ? (isSmall ? " is-all" : " is-most") : ""}`} role="log" aria-live="off" aria-label="Text output" tabIndex={isTall || !isSmall ? 0 : undefined}>
        {isSmall
          ? <PlainLines lines={lines} from={from} count={count} version={version} />
          : <VirtualLines lines={lines} from={from} count={count} version={version} box={box} />}
      </div>
      {(isTall || isAll) && (
        <div class="out-tools">
          <span class="out-soft">{plural(count, "line")}</span>
          <Tool label={isAll ? "Show less" : "Show all"} name={isAll ? "Show less" : `Show all ${formatCount(count)} lines`} onClick={() => setAll(!isAll)} />
          <Tool label="Copy" name="Copy text output" onClick={() => void copyText(text())} />
          <Tool label="Save" name="Save text output" onClick={() => saveAs(text(), name)} />
        </div>
      )}
    </div>
  );
}
