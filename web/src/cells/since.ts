// SPDX-License-Identifier: Apache-2.0
// Later changes of the files that runs made: the session's list of files as it is now, beside what later runs said of theirs.
import { signal, useComputed } from "@preact/signals";
import { useEffect } from "preact/hooks";
import * as calls from "../api/calls";
import type { FileEntry, RunRow } from "../api/types";
import type { Since } from "../output/files";
import type { Cell, Conversation } from "../state/conversation";
import { sessions } from "../state/feed";

const RUNS_MAX = 1000;

/** The session's files at one moment, and the runs that were over before it. */
export interface Workspace {
  session: string;
  files: ReadonlyMap<string, FileEntry>;
  isWhole: boolean; // no file is missing from the list
  runs: ReadonlyMap<string, number>; // by id: a later one has the higher number
}

/** Of the conversation that is shown; null: it is not known. */
export const workspace = signal<Workspace | null>(null);

export function workspaceOf(session: string, rows: readonly RunRow[], listed: { files: readonly FileEntry[]; next?: string }): Workspace {
  const over = rows.filter(({ verdict }) => verdict !== null); // the latest first
  return {
    session, files: new Map(listed.files.map((file) => [file.path, file])), isWhole: listed.next === undefined,
    runs: new Map(over.map((row, i) => [row.id, over.length - i])),
  };
}

/** The same bytes, as far as can be told without reading them: each state has its files with the times of their last change. */
const isSame = (one: FileEntry, other: FileEntry) => one.size === other.size && one.mtime_ms !== undefined && one.mtime_ms === other.mtime_ms;

interface Writer {
  number: number; // of its cell
  place: number; // of its run
  file: FileEntry;
}

/** The last run that left the file as it is now. Its cell may be undone here: a branch shares the files of its session. */
function writerOf(now: Workspace, cells: readonly Cell[], found: FileEntry): Writer | null {
  const writers = cells.flatMap((cell, i): Writer[] => {
    const output = cell.output.value;
    const place = now.runs.get(output?.run ?? "");
    const file = output?.files.find(({ path }) => path === found.path);
    return place !== undefined && file && isSame(file, found) ? [{ number: i + 1, place, file }] : [];
  });
  return writers.toSorted((a, b) => b.place - a.place)[0] ?? null;
}

/** The later change of a file that a run made; null: it is unchanged, or that is not known. */
export function sinceOf(now: Workspace, cells: readonly Cell[], run: string | null, file: FileEntry): Since | null {
  const place = now.runs.get(run ?? "");
  if (place === undefined) return null; // another session's, or it was not over when the files were listed
  const found = now.files.get(file.path);
  if (!found) return now.isWhole ? { kind: "removed", by: null, size: null } : null;
  if (isSame(file, found)) return null;
  const writer = writerOf(now, cells, found);
  if (writer?.file.sha256 && writer.file.sha256 === file.sha256) return null;
  if (writer) return { kind: writer.place > place ? "changed" : "back", by: writer.number, size: found.size };
  return { kind: found.size !== file.size ? "changed" : "unsure", by: null, size: found.size }; // by hand, or by an agent
}

/** Looks at the files again when the session has another state, as long as a cell shows any. */
export function useWorkspace(conversation: Conversation): void {
  const key = useComputed(() => {
    const session = sessions.value.get(conversation.session.value ?? "");
    if (!session || session.state === "asleep" || session.state === "lost" || session.state === "starting") return "";
    const hasFiles = conversation.cells.value.some(({ output: { value: output } }) => output && output.version.value >= 0 && output.files.length > 0);
    return hasFiles ? `${session.id} ${session.runs} ${session.head}` : "";
  }).value;
  useEffect(() => {
    const session = key.split(" ")[0]!;
    if (workspace.peek()?.session !== session) workspace.value = null;
    if (!session) return;
    let isGone = false;
    const look = async () => {
      const rows = await calls.listRuns({ session, limit: RUNS_MAX });
      const listed = await calls.listFiles(session);
      if (!isGone) workspace.value = workspaceOf(session, rows, listed);
    };
    look().catch(() => { if (!isGone) workspace.value = null; }); // without it nothing is said of the files
    return () => {
      isGone = true;
    };
  }, [key]);
}
