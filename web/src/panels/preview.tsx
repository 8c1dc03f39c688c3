// SPDX-License-Identifier: Apache-2.0
// A look at a file without taking it out: images, tables, text. HTML and SVG are text here: nothing that a file holds
// becomes a part of the page.
import { useEffect, useState } from "preact/hooks";
import { readFile } from "../api/calls";
import type { FileEntry } from "../api/types";
import { checkPixels } from "../output/bytes";
import { formatCount } from "../output/format";
import { plainTable, type Table } from "../output/tables/table";
import { TableView } from "../output/tables/view";
import { Button, Dialog, Loading } from "../ui";
import { IconChart, IconDownload } from "../ui/icons";
import { decodeText, parseSheet } from "./csv";
import { readHead } from "./download";
import { bytes, shortPath, visible } from "./format";
import { hasStarter } from "./starter";

const TEXT_MAX = 256 * 1024;
const ROWS_MAX = 20_000; // of a CSV file; its beginning has no more
const COLUMNS_MAX = 1000;
const IMAGE_MAX = 32 * 1024 * 1024;
const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif"]);

type Look =
  | { kind: "image"; url: string }
  | { kind: "sheet"; table: Table; isCut: boolean }
  | { kind: "text"; text: string; isWhole: boolean }
  | { kind: "none"; why: string };

async function look(session: string, file: FileEntry, signal: AbortSignal): Promise<Look> {
  if (IMAGES.has(file.mime ?? "")) {
    if (file.size > IMAGE_MAX) return { kind: "none", why: "The picture is too large to show here." };
    const found = new Uint8Array(await (await readFile(session, file.path, signal)).arrayBuffer());
    try {
      checkPixels(found);
    } catch (cause) {
      return { kind: "none", why: `It cannot be shown: ${cause instanceof Error ? cause.message : String(cause)}.` };
    }
    return { kind: "image", url: URL.createObjectURL(new Blob([found], { type: file.mime ?? "" })) };
  }
  if (file.size === 0) return { kind: "none", why: "The file is empty." };
  const head = await readHead(session, file.path, TEXT_MAX, signal);
  const decoded = decodeText(head.bytes, head.isWhole);
  if (!decoded) return { kind: "none", why: "There is no preview of this kind of file." };
  if (/\.(csv|tsv|tab)$/i.test(file.path)) {
    const sheet = parseSheet(decoded.text, head.isWhole, { rows: ROWS_MAX, columns: COLUMNS_MAX });
    if (sheet.columns.length > 0) return { kind: "sheet", table: plainTable(sheet.columns, sheet.rows), isCut: sheet.isCut };
  }
  return { kind: "text", text: decoded.text, isWhole: head.isWhole };
}

function Image({ url, name }: { url: string; name: string }) {
  const [isBroken, setBroken] = useState(false);
  if (isBroken) return <p class="panel-note">It is no picture that can be shown, whatever its name says.</p>;
  return <img class="preview-image" src={url} alt={name} onError={() => setBroken(true)} />;
}

function Shown({ seen, name }: { seen: Look; name: string }) {
  switch (seen.kind) {
    case "image":
      return <Image url={seen.url} name={name} />;
    case "sheet":
      return (
        <TableView table={seen.table} name={name.replace(/\.\w+$/, "")}
          part={seen.isCut ? `The file has more: these are its first ${formatCount(seen.table.total)} rows; long fields and further columns are cut.` : undefined} />
      );
    case "text":
      return (
        <>
          <pre class="preview-text" tabIndex={0}>{seen.text}</pre>
          {!seen.isWhole && <p class="panel-note">This is its beginning ({bytes(TEXT_MAX)}).</p>}
        </>
      );
    case "none":
      return <p class="panel-note">{seen.why}</p>;
  }
}

interface PreviewProps {
  session: string;
  file: FileEntry;
  onClose: () => void;
  onDownload: () => void;
  onChart: () => void;
}

export function Preview({ session, file, onClose, onDownload, onChart }: PreviewProps) {
  const [seen, setSeen] = useState<Look | null>(null);
  const name = visible(shortPath(file.path));

  useEffect(() => {
    const controller = new AbortController();
    let url = "";
    look(session, file, controller.signal).then(
      (found) => {
        if (found.kind === "image") url = found.url;
        if (controller.signal.aborted && url) URL.revokeObjectURL(url);
        else setSeen(found);
      },
      (cause: unknown) => {
        if (!controller.signal.aborted) setSeen({ kind: "none", why: `It could not be read: ${cause instanceof Error ? cause.message : String(cause)}` });
      },
    );
    return () => {
      controller.abort();
      if (url) URL.revokeObjectURL(url);
    };
  }, [session, file.path, file.mtime_ms]);

  return (
    <Dialog title={name} size="wide" onClose={onClose} actions={
      <>
        {hasStarter(file.path) && <Button icon={IconChart} onClick={onChart}>Chart it</Button>}
        <Button tone="primary" icon={IconDownload} onClick={onDownload}>Download</Button>
      </>
    }>
      <p class="var-facts">{file.mime} · {bytes(file.size)}</p>
      {seen ? <Shown seen={seen} name={name} /> : <Loading label="Reading the file" />}
    </Dialog>
  );
}
