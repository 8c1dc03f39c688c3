// SPDX-License-Identifier: Apache-2.0
// Files on their way into a conversation's session: one after the other, each with its progress, each may be called off.
// A file that is there already is replaced only when the person says so.
import { signal, type Signal } from "@preact/signals";
import { listFiles, status } from "../api/calls";
import { ApiError } from "../api/client";
import { uploadFile } from "../api/upload";
import type { Conversation } from "../state/conversation";
import { ensureSession } from "../state/session";
import { nameIt } from "../state/title";
import { toast } from "../state/toasts";
import { decodeText } from "./csv";
import { bytes, visible } from "./format";
import { sessionChanged } from "./load";
import { hasStarter, SAMPLE_BYTES, starterCell, workbookCell } from "./starter";

export type UploadState =
  | { at: "waiting" }
  | { at: "asks" } // it is there already: replace, keep both, or not
  | { at: "sending"; sent: number }
  | { at: "done"; starter: string | null; note: string } // `note`: why it is of little use, as it is
  | { at: "failed"; message: string; remedy: string };

export class Upload {
  readonly state: Signal<UploadState> = signal({ at: "waiting" });
  readonly abort = new AbortController();
  answer: ((answer: "replace" | "both" | "no") => void) | null = null;

  constructor(
    readonly conversation: Conversation,
    readonly file: File,
    public path: string,
  ) {}
}

/** Newest last; those of all conversations. */
export const uploads = signal<readonly Upload[]>([]);

const NAME_BYTES_MAX = 255;
const UPLOADS_MAX = 200; // at once: a folder of thousands is better packed first

export function closeUpload(upload: Upload): void {
  upload.abort.abort();
  upload.answer?.("no");
  uploads.value = uploads.value.filter((other) => other !== upload);
}

/** Where a file of the browser goes: its path below the folder that was chosen, or its name. */
export function pathOf(file: File): string {
  const path = (file.webkitRelativePath || file.name).replace(/\\/g, "_");
  const parts = path.split("/").filter((part) => part !== "" && part !== "." && part !== "..");
  return parts.length > 0 ? parts.join("/") : "file";
}

/** `sales.csv` -> `sales (1).csv`, the first that is free. */
export function freePath(path: string, taken: ReadonlySet<string>): string {
  const slash = path.lastIndexOf("/") + 1;
  const dot = path.lastIndexOf(".");
  const split = dot > slash ? dot : path.length;
  for (let i = 1; ; i++) {
    const other = `${path.slice(0, split)} (${i})${path.slice(split)}`;
    if (!taken.has(other)) return other;
  }
}

async function bodyLimit(): Promise<number> {
  const { limits } = await status();
  const body = (limits as { body?: unknown } | undefined)?.body;
  return typeof body === "number" ? body : Infinity;
}

async function takenPaths(session: string): Promise<Set<string>> {
  const { files } = await listFiles(session);
  return new Set(files.map((file) => file.path.replace(/^\/workspace\//, "")));
}

function check(upload: Upload, limit: number): void {
  const { file, path } = upload;
  const long = path.split("/").find((part) => new TextEncoder().encode(part).length > NAME_BYTES_MAX);
  if (long !== undefined) throw new Error(`its name is longer than ${NAME_BYTES_MAX} bytes`);
  if (file.size > limit) {
    throw new ApiError(413, "too_large", `it has ${bytes(file.size)}; the daemon takes ${bytes(limit)} at most`,
      "raise limits.body in the daemon's config, or split the file");
  }
}

/** The first cell for it, from its first bytes, or why there is none. Reading them also tells a folder from a file. */
async function starterOf(upload: Upload): Promise<{ starter: string | null; note: string }> {
  const { file, path } = upload;
  let head: Uint8Array;
  try {
    head = new Uint8Array(await file.slice(0, SAMPLE_BYTES).arrayBuffer());
  } catch {
    throw new Error("it is a folder, or the browser may not read it");
  }
  if (file.size === 0) return { starter: null, note: "The file is empty" };
  const note = (what: string) => `${bytes(file.size)} that are ${what}: it cannot be read as ${path.split(".").at(-1)!.toUpperCase()}`;
  const workbook = workbookCell(path);
  if (workbook) return head[0] === 0x50 && head[1] === 0x4b ? { starter: workbook, note: "" } : { starter: null, note: note("no workbook") }; // "PK": a zip
  if (!hasStarter(path)) return { starter: null, note: "" };
  const isWhole = file.size <= SAMPLE_BYTES;
  const decoded = decodeText(head, isWhole);
  if (!decoded) return { starter: null, note: note("not text") };
  if (isWhole && decoded.text.trim() === "") return { starter: null, note: "The file has nothing but blanks in it" };
  return { starter: starterCell(path, { ...decoded, size: file.size, isWhole }), note: "" };
}

function askWhatToDo(upload: Upload): Promise<"replace" | "both" | "no"> {
  return new Promise((resolve) => {
    upload.answer = (answer) => {
      upload.answer = null;
      resolve(answer);
    };
    upload.state.value = { at: "asks" };
  });
}

async function send(upload: Upload, session: string, taken: Set<string>): Promise<void> {
  let offer = await starterOf(upload);
  if (taken.has(upload.path)) {
    const answer = await askWhatToDo(upload);
    if (answer === "no") return closeUpload(upload);
    if (answer === "both") {
      upload.path = freePath(upload.path, taken);
      offer = await starterOf(upload); // it names the path
    }
  }
  upload.state.value = { at: "sending", sent: 0 };
  await uploadFile(session, upload.path, upload.file, {
    onSent: (sent) => (upload.state.value = { at: "sending", sent }),
    signal: upload.abort.signal,
  });
  taken.add(upload.path);
  upload.state.value = { at: "done", ...offer };
}

async function sendAll(conversation: Conversation, batch: readonly Upload[]): Promise<void> {
  const session = await ensureSession(conversation);
  const [limit, taken] = await Promise.all([bodyLimit(), takenPaths(session)]);
  for (const upload of batch) {
    if (upload.abort.signal.aborted) continue;
    try {
      check(upload, limit);
      await send(upload, session, taken);
    } catch (cause) {
      fail(upload, cause);
    }
    sessionChanged(session);
  }
}

function fail(upload: Upload, cause: unknown): void {
  if (upload.abort.signal.aborted) return;
  const message = cause instanceof Error ? cause.message : String(cause);
  upload.state.value = { at: "failed", message, remedy: cause instanceof ApiError ? cause.remedy : "" };
}

const queues = new WeakMap<Conversation, Promise<void>>();

/** Uploads them into the conversation's session, which is made if there is none. Failures are shown, none is thrown. */
export function uploadFiles(conversation: Conversation, files: Iterable<File>): Promise<void> {
  const all = [...files];
  if (all.length === 0) return Promise.resolve();
  if (!conversation.sandbox.peek()) {
    toast("Running code is off in this conversation, so there is nowhere to put a file", "info", "Turn on \"Run code\" in the header");
    return Promise.resolve();
  }
  if (all.length > UPLOADS_MAX) {
    toast(`Only the first ${UPLOADS_MAX} of ${all.length} files are uploaded`, "info", "pack them into one archive to send them all");
  }
  const batch = all.slice(0, UPLOADS_MAX).map((file) => new Upload(conversation, file, pathOf(file)));
  uploads.value = [...uploads.value, ...batch];
  nameIt(conversation, batch[0]!.path.split("/").at(-1)!);
  const before = queues.get(conversation) ?? Promise.resolve();
  const mine = before
    .then(() => sendAll(conversation, batch))
    .catch((cause: unknown) => batch.forEach((upload) => fail(upload, cause)));
  queues.set(conversation, mine);
  return mine;
}

/** The names for people: what cannot be seen in them is shown. */
export function nameOf(upload: Upload): string {
  return visible(upload.path);
}
