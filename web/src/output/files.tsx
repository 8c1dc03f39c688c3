// SPDX-License-Identifier: Apache-2.0
// Files that a run made or changed. The session has them as they are now: one that is another by now is said to be.
import { useEffect, useState } from "preact/hooks";
import * as calls from "../api/calls";
import { ApiError } from "../api/client";
import type { CellMark, FileEntry } from "../api/types";
import { visible } from "../panels/format";
import { failed, toast } from "../state/toasts";
import { formatBytes, formatCount } from "./format";
import { fileName, saveAs, Tool } from "./parts";

const SHOWN = 12;

/** Sums are not to be had everywhere: browsers have them on secure pages. */
async function sumOf(blob: Blob): Promise<string | null> {
  const sum = await globalThis.crypto?.subtle?.digest("SHA-256", await blob.arrayBuffer());
  return sum ? Array.from(new Uint8Array(sum), (byte) => byte.toString(16).padStart(2, "0")).join("") : null;
}

async function isAsTold(file: FileEntry, blob: Blob): Promise<boolean> {
  if (blob.size !== file.size) return false;
  const sum = file.sha256 ? await sumOf(blob) : null;
  return sum === null || sum === file.sha256;
}

/** The change of a file since its run. */
export interface Since {
  kind: "changed" | "back" | "removed" | "unsure"; // back: it is an earlier one; unsure: written again, with as many bytes
  by: number | null; // the cell that did it, where that is known
  size: number | null; // now
}

export type FindSince = (file: FileEntry) => Since | null;

const CHECK_MAX = 1 << 20; // bytes of a file that are read to be sure

/** The change of a file, after a look at its bytes where nothing else can tell. */
function useSince(file: FileEntry, session: string | null, since: Since | null): Since | null {
  const [same, setSame] = useState<boolean | null>(null);
  const isAsked = since?.kind === "unsure" && session !== null && file.size <= CHECK_MAX && file.sha256 !== undefined;
  useEffect(() => {
    setSame(null);
    if (!isAsked) return;
    const controller = new AbortController();
    const look = async () => {
      const sum = await sumOf(await (await calls.readFile(session, file.path, controller.signal)).blob());
      if (!controller.signal.aborted && sum !== null) setSame(sum === file.sha256);
    };
    look().catch(() => {}); // then nobody is sure
    return () => controller.abort();
  }, [isAsked, session, file]);
  if (since?.kind !== "unsure" || same === null) return since;
  return same ? null : { ...since, kind: "changed" };
}

function sinceText({ kind, by, size }: Since): string {
  if (kind === "removed") return "removed since";
  if (kind === "back") return `now as cell ${by} left it${size === null ? "" : `, ${formatBytes(size)}`}`;
  const what = kind === "unsure" ? "may have changed since" : "changed since";
  return `${what}${by === null ? "" : ` by cell ${by}`}${kind === "changed" && size !== null ? `, now ${formatBytes(size)}` : ""}`;
}

interface ChipProps {
  file: FileEntry;
  session: string | null;
  given: Since | null;
}

function FileChip({ file, session, given }: ChipProps) {
  const [isBusy, setBusy] = useState(false);
  const since = useSince(file, session, given);
  const path = visible(file.path.replace(/^\/workspace\//, ""));
  const shown = path.slice(0, 100);
  const download = async () => {
    if (!session) return;
    setBusy(true);
    try {
      const blob = await (await calls.readFile(session, file.path)).blob();
      saveAs(blob, fileName(file.path));
      if (since?.kind !== "changed" && since?.kind !== "back" && !(await isAsTold(file, blob))) toast(`${shown} has changed since this run: you have it as it is now, ${formatBytes(blob.size)}`);
    } catch (cause) {
      if (cause instanceof ApiError && cause.status === 404) toast(`${shown} is no longer in the session`);
      else failed(`download ${shown}`, cause);
    } finally {
      setBusy(false);
    }
  };
  const asItIs = since ? " as it is now" : "";
  return (
    <li class={since ? "file-chip is-other" : "file-chip"}>
      <span class="file-name" title={path}>{path}</span>
      <span class="out-soft">{formatBytes(file.size)}</span>
      {since && <span class="file-since">{sinceText(since)}</span>}
      {session && since?.kind !== "removed" && (
        <Tool label={isBusy ? "Loading…" : `Download${asItIs}`} name={`Download ${path}${asItIs}`} disabled={isBusy} onClick={() => void download()} />
      )}
    </li>
  );
}

interface FilesProps {
  files: readonly FileEntry[];
  session: string | null;
  mark?: CellMark | null;
  since?: FindSince | null; // null: nobody knows what became of them
}

export function FilesView({ files, session, mark = null, since = null }: FilesProps) {
  const [isAll, setAll] = useState(false);
  if (!files.length) return null;
  const shown = isAll ? files.slice(0, 1000) : files.slice(0, SHOWN);
  return (
    <div class="files">
      <ul aria-label="Files of this run">{shown.map((file) => <FileChip key={file.path} file={file} session={session} given={since?.(file) ?? null} />)}</ul>
      {mark && mark !== "stale" && !since && <p class="out-soft">The session has moved on since: a file may be gone, or another by now.</p>}
      {files.length > shown.length && !isAll && <Tool label={`Show all ${formatCount(files.length)} files`} onClick={() => setAll(true)} />}
    </div>
  );
}
