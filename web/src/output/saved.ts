// SPDX-License-Identifier: Apache-2.0
// An output as it is kept beside its conversation, for when the run's own log is gone. At most 3 MiB: what does not fit
// is left out, and a notice stands in its place. Reading trusts nothing: the bytes may come from anywhere.
import { isRecord, own, ownList, ownText, countOf } from "./checks";
import { formatBytes, formatCount } from "./format";
import { Output, type Item } from "./model";
import { readEnding, readError, readFiles } from "./read";
import type { TextLine } from "./screen";

export const SAVED_MAX = 3 << 20;
const TEXT_MAX = 1 << 20; // bytes of all text together
const LINE_MAX = 64 << 10; // letters of one line
const OVERHEAD = 4096; // of the parts that are always there, beside files and the ending
const FORMAT = 1;

type Part = [TextLine["stream"], string];

const encoder = new TextEncoder();
const bytesOf = (json: string) => encoder.encode(json).length;

const cutLine = (line: TextLine): TextLine =>
  line.text.length <= LINE_MAX ? line : { ...line, text: `${line.text.slice(0, LINE_MAX)} [${formatCount(line.text.length - LINE_MAX)} letters were not kept]` };

/** Lines as parts of one stream each, at most so many bytes: the beginning, and the last fifth where some are left out. */
function packText(lines: readonly TextLine[], room: number): { parts: Part[]; left: number; used: number } {
  const size = (line: TextLine) => bytesOf(JSON.stringify(line.text)) + 2;
  const sizes = lines.map(size);
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
  const isWhole = total <= room;
  let head = 0;
  let used = 0;
  while (head < lines.length && used + sizes[head]! <= (isWhole ? room : room * 0.8)) used += sizes[head++]!;
  let tail = lines.length;
  while (tail > head && used + sizes[tail - 1]! <= room) used += sizes[--tail]!;
  const left = tail - head;
  const kept = left ? [...lines.slice(0, head), null, ...lines.slice(tail)] : lines;
  const parts: Part[] = [];
  let open: TextLine["stream"][] = [];
  for (const line of kept) {
    if (line === null) {
      parts.push(["stderr", `[${formatCount(left)} lines were not kept]\n`]);
      open = [];
    } else if (open[0] === line.stream) parts.at(-1)![1] += line.text + "\n";
    else {
      parts.push([line.stream, line.text + "\n"]);
      open = [line.stream];
    }
  }
  return { parts, left, used };
}

function packItem(item: Item, output: Output, room: { text: number; all: number }): unknown {
  if (item.kind === "text") {
    const lines = output.lines.slice(item.first, item.first + item.count).map(cutLine);
    const { parts, used } = packText(lines, Math.min(room.text, room.all));
    room.text -= used;
    room.all -= used;
    return { kind: "text", parts };
  }
  let bytes: number;
  try {
    bytes = bytesOf(JSON.stringify(item));
  } catch {
    return { kind: "notice", text: `A ${item.kind} was not kept: it is nested too deeply.` };
  }
  if (bytes > room.all) return { kind: "notice", text: `A ${item.kind} of ${formatBytes(bytes)} was not kept: it is too large.` };
  room.all -= bytes + 1;
  return item;
}

/** JSON of at most SAVED_MAX bytes. */
export function saveOutput(output: Output): string {
  const { run, seq, ending } = output;
  const head = JSON.stringify({ run, seq, ending });
  let files = output.files.slice(0, 1000);
  if (bytesOf(JSON.stringify(files)) > 256 << 10) files = files.slice(0, 50);
  const used = bytesOf(head) + bytesOf(JSON.stringify(files)) + OVERHEAD + output.items.length * 128;
  const room = { text: TEXT_MAX, all: SAVED_MAX - used };
  const items = output.items.map((item) => packItem(item, output, room));
  return JSON.stringify({ format: FORMAT, run, seq, ending, files, items });
}

function loadItem(output: Output, saved: unknown): void {
  switch (own(saved, "kind")) {
    case "text":
      for (const part of ownList(saved, "parts")) {
        if (!Array.isArray(part) || typeof part[1] !== "string") continue;
        output.addText(part[0] === "stderr" ? "stderr" : "stdout", part[1]);
      }
      break;
    case "display":
    case "result": {
      const bundle = own(saved, "bundle");
      if (isRecord(bundle)) output.add({ kind: own(saved, "kind") as "display" | "result", bundle }, bundle);
      break;
    }
    case "chart":
      output.add({ kind: "chart", chart: own(saved, "chart") }, own(saved, "chart"));
      break;
    case "table":
      output.add({ kind: "table", table: own(saved, "table") }, own(saved, "table"));
      break;
    case "error":
      output.add({ kind: "error", error: readError(own(saved, "error")) }, null);
      break;
    case "notice":
      output.add({ kind: "notice", text: ownText(saved, "text", 1000) }, null);
      break;
  }
}

/** A saved output; an output with a notice if it was not saved by this page. */
export function loadOutput(saved: unknown): Output {
  const run = ownText(saved, "run", 100);
  const output = new Output(/^run_[a-z0-9]+$/.test(run) ? run : null);
  output.isSaved = true;
  if (own(saved, "format") !== FORMAT) {
    output.add({ kind: "notice", text: "What was kept of this output cannot be read." }, null);
    return output;
  }
  output.seq = countOf(own(saved, "seq")) ?? 0;
  for (const item of ownList(saved, "items")) loadItem(output, item);
  output.files = readFiles(own(saved, "files"));
  if (isRecord(own(saved, "ending"))) output.ending = readEnding(own(saved, "ending"));
  return output;
}
