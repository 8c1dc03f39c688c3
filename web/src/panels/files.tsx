// SPDX-License-Identifier: Apache-2.0
// The files of a session: bring in, look at, take out, remove.
import { useRef, useState } from "preact/hooks";
import { listFiles, removeFile } from "../api/calls";
import type { FileEntry } from "../api/types";
import type { Conversation } from "../state/conversation";
import { failed, toast } from "../state/toasts";
import { askConfirm, Button, EmptyState, IconButton, Loading, Menu } from "../ui";
import { IconChart, IconDownload, IconEye, IconFile, IconFolder, IconImage, IconRefresh, IconTable, IconTrash, IconUpload } from "../ui/icons";
import { Ago } from "./ago";
import { decodeText } from "./csv";
import { downloadFile, readHead } from "./download";
import { DropZone } from "./drop";
import { bytes, shortPath, visible } from "./format";
import { insertAndRun } from "./insert";
import { sessionChanged, useLoad } from "./load";
import { Preview } from "./preview";
import { hasStarter, SAMPLE_BYTES, starterCell, workbookCell } from "./starter";
import { Trouble } from "./trouble";
import { uploadFiles } from "./upload";

const SHOWN_MAX = 500;

function iconOf(file: FileEntry) {
  if (file.mime?.startsWith("image/")) return IconImage;
  return hasStarter(file.path) || workbookCell(file.path) ? IconTable : IconFile;
}

async function download(session: string, file: FileEntry): Promise<void> {
  try {
    await downloadFile(session, file.path);
  } catch (cause) {
    failed(`download ${visible(shortPath(file.path))}`, cause);
  }
}

async function remove(session: string, file: FileEntry): Promise<void> {
  const name = visible(shortPath(file.path));
  const isSure = await askConfirm({
    title: `Delete ${name}?`, text: "Code that reads it will no longer find it.", action: "Delete", tone: "danger",
  });
  if (!isSure) return;
  try {
    await removeFile(session, file.path);
    sessionChanged(session);
  } catch (cause) {
    failed(`delete ${name}`, cause);
  }
}

/** Inserts and runs the first cell for a file that is in the session. */
export async function chartFile(conversation: Conversation, session: string, file: FileEntry): Promise<void> {
  const path = shortPath(file.path);
  try {
    const head = await readHead(session, file.path, SAMPLE_BYTES, new AbortController().signal);
    const decoded = decodeText(head.bytes, head.isWhole);
    const code = decoded && starterCell(path, { ...decoded, size: file.size, isWhole: head.isWhole });
    if (code === null) toast(`${visible(path)} holds no text that could be a table`, "info");
    else await insertAndRun(conversation, code);
  } catch (cause) {
    failed(`read ${visible(path)}`, cause);
  }
}

interface RowProps {
  conversation: Conversation;
  session: string;
  file: FileEntry;
  onOpen: () => void;
}

function Row({ conversation, session, file, onOpen }: RowProps) {
  const path = shortPath(file.path);
  const slash = path.lastIndexOf("/") + 1;
  const name = visible(path);
  const Icon = iconOf(file);
  const workbook = workbookCell(path);
  return (
    <li class="file">
      <button type="button" class="file-button" title={name} onClick={onOpen}>
        <Icon size={16} />
        <span class="file-main">
          <span class="unseen">Preview </span>
          <span class="file-name">
            {slash > 0 && <span class="file-folder">{visible(path.slice(0, slash))}</span>}
            {visible(path.slice(slash))}
          </span>
          <span class="file-facts">{bytes(file.size)}{file.mtime_ms !== undefined && <> · <Ago ms={file.mtime_ms} /></>}</span>
        </span>
      </button>
      <IconButton size="small" icon={IconDownload} label={`Download ${name}`} onClick={() => void download(session, file)} />
      <Menu size="small" label={`More for ${name}`} items={[
        { label: "Preview", icon: IconEye, run: onOpen },
        ...(hasStarter(file.path) ? [{ label: "Chart it", icon: IconChart, run: () => void chartFile(conversation, session, file) }] : []),
        ...(workbook ? [{ label: "Read it", icon: IconTable, run: () => void insertAndRun(conversation, workbook) }] : []),
        "line",
        { label: "Delete", icon: IconTrash, tone: "danger", run: () => void remove(session, file) },
      ]} />
    </li>
  );
}

function UploadButton({ conversation }: { conversation: Conversation }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button size="small" icon={IconUpload} onClick={() => input.current!.click()}>Upload</Button>
      <input ref={input} type="file" multiple class="unseen" aria-label="Upload files" tabIndex={-1}
        onChange={(event) => {
          void uploadFiles(conversation, event.currentTarget.files ?? []);
          event.currentTarget.value = ""; // the same file may be chosen again
        }} />
    </>
  );
}

async function loadFiles(session: string) {
  const { files, next } = await listFiles(session);
  return { files, hasMore: next !== undefined };
}

export function Files({ conversation }: { conversation: Conversation }) {
  const session = conversation.session.value;
  const { data, error, isLoading, reload } = useLoad(session, "files", loadFiles);
  const [open, setOpen] = useState<FileEntry | null>(null);
  const files = data?.files ?? [];

  return (
    <DropZone class="panel-part" onFiles={(dropped) => void uploadFiles(conversation, dropped)}>
      <div class="panel-bar">
        <UploadButton conversation={conversation} />
        <span class="panel-count">{files.length > 0 && bytes(files.reduce((sum, file) => sum + file.size, 0))}</span>
        <IconButton label="Look again" icon={IconRefresh} busy={isLoading && session !== null} disabled={session === null} onClick={reload} />
      </div>
      {error && <Trouble what="The files" error={error} onRetry={reload} />}
      {!data && session !== null && !error && <Loading label="Looking at the files" />}
      {(session === null || (data && files.length === 0)) && (
        <EmptyState icon={IconFolder} title="No files yet">
          <p>Drop files here, or upload them. Code finds them by name, as in <code>open("sales.csv")</code>, and what it writes shows here.</p>
        </EmptyState>
      )}
      {session !== null && files.length > 0 && (
        <ul class="files" aria-label="Files">
          {files.slice(0, SHOWN_MAX).map((file) => (
            <Row key={file.path} conversation={conversation} session={session} file={file} onOpen={() => setOpen(file)} />
          ))}
        </ul>
      )}
      {(data?.hasMore || files.length > SHOWN_MAX) && <p class="panel-note">Only the first {Math.min(files.length, SHOWN_MAX)} files are shown.</p>}
      {open && session !== null && (
        <Preview session={session} file={open} onClose={() => setOpen(null)} onDownload={() => void download(session, open)}
          onChart={() => { setOpen(null); void chartFile(conversation, session, open); }} />
      )}
    </DropZone>
  );
}
