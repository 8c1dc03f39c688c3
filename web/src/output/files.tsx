// SPDX-License-Identifier: Apache-2.0
// Files that a run made or changed. The session has them as they are now: one that is another by now is said to be.
import { useState } from "preact/hooks";
import * as calls from "../api/calls";
import { ApiError } from "../api/client";
import type { CellMark, FileEntry } from "../api/types";
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

function FileChip({ file, session }: { file: FileEntry; session: string | null }) {
  const [isBusy, setBusy] = useState(false);
  const path = file.path.replace(/^\/workspace\//, "");
  const shown = path.slice(0, 100);
  const download = async () => {
    if (!session) return;
    setBusy(true);
    try {
      const blob = await (await calls.readFile(session, file.path)).blob();
      saveAs(blob, fileName(path));
      if (!(await isAsTold(file, blob))) toast(`${shown} has changed since this run: you have it as it is now, ${formatBytes(blob.size)}`);
    } catch (cause) {
      if (cause instanceof ApiError && cause.status === 404) toast(`${shown} is no longer in the session`);
      else failed(`download ${shown}`, cause);
    } finally {
      setBusy(false);
    }
  };
  return (
    <li class="file-chip">
      <span class="file-name" title={path}>{path}</span>
      <span class="out-soft">{formatBytes(file.size)}</span>
      {session && <Tool label={isBusy ? "Loading…" : "Download"} name={`Download ${path}`} disabled={isBusy} onClick={() => void download()} />}
    </li>
  );
}

export function FilesView({ files, session, mark = null }: { files: readonly FileEntry[]; session: string | null; mark?: CellMark | null }) {
  const [isAll, setAll] = useState(false);
  if (!files.length) return null;
  const shown = isAll ? files.slice(0, 1000) : files.slice(0, SHOWN);
  return (
    <div class="files">
      <ul aria-label="Files of this run">{shown.map((file) => <FileChip key={file.path} file={file} session={session} />)}</ul>
      {mark && mark !== "stale" && <p class="out-soft">The session has moved on since: a file may be gone, or another by now.</p>}
      {files.length > shown.length && !isAll && <Tool label={`Show all ${formatCount(files.length)} files`} onClick={() => setAll(true)} />}
    </div>
  );
}
