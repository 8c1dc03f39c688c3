// SPDX-License-Identifier: Apache-2.0
// Files that a run made or changed.
import { useState } from "preact/hooks";
import * as calls from "../api/calls";
import type { FileEntry } from "../api/types";
import { failed } from "../state/toasts";
import { formatBytes, formatCount } from "./format";
import { fileName, saveAs, Tool } from "./parts";

const SHOWN = 12;

function FileChip({ file, session }: { file: FileEntry; session: string | null }) {
  const [isBusy, setBusy] = useState(false);
  const path = file.path.replace(/^\/workspace\//, "");
  const download = async () => {
    if (!session) return;
    setBusy(true);
    try {
      saveAs(await (await calls.readFile(session, file.path)).blob(), fileName(path));
    } catch (cause) {
      failed(`download ${path.slice(0, 100)}`, cause);
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

export function FilesView({ files, session }: { files: readonly FileEntry[]; session: string | null }) {
  const [isAll, setAll] = useState(false);
  if (!files.length) return null;
  const shown = isAll ? files.slice(0, 1000) : files.slice(0, SHOWN);
  return (
    <div class="files">
      <ul aria-label="Files of this run">{shown.map((file) => <FileChip key={file.path} file={file} session={session} />)}</ul>
      {files.length > shown.length && !isAll && <Tool label={`Show all ${formatCount(files.length)} files`} onClick={() => setAll(true)} />}
    </div>
  );
}
