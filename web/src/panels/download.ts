// SPDX-License-Identifier: Apache-2.0
// Bytes of a session's file: to the disk of the person, or the first of them to look at.
import { readFile } from "../api/calls";

/** Saves it under its own name. A link cannot carry the token, so the bytes come by fetch. */
export async function downloadFile(session: string, path: string): Promise<void> {
  const blob = await (await readFile(session, path)).blob();
  const url = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = path.split("/").at(-1) ?? "file";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export interface Head {
  bytes: Uint8Array;
  isWhole: boolean;
}

/** The first bytes of it; the rest is not fetched. */
export async function readHead(session: string, path: string, most: number, signal: AbortSignal): Promise<Head> {
  const stop = new AbortController();
  const giveUp = () => stop.abort();
  signal.addEventListener("abort", giveUp);
  try {
    const response = await readFile(session, path, stop.signal);
    const reader = response.body!.getReader();
    const parts: Uint8Array[] = [];
    let size = 0;
    let isWhole = false;
    while (size <= most) {
      const { done, value } = await reader.read();
      if (done) {
        isWhole = true;
        break;
      }
      parts.push(value);
      size += value.length;
    }
    const bytes = new Uint8Array(Math.min(size, most));
    let at = 0;
    for (const part of parts) {
      const piece = part.subarray(0, bytes.length - at);
      bytes.set(piece, at);
      at += piece.length;
    }
    if (!isWhole) void reader.cancel().catch(() => {});
    return { bytes, isWhole };
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
