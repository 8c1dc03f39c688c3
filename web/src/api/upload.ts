// SPDX-License-Identifier: Apache-2.0
// A file on its way to a session. fetch() does not tell how much of a body has been sent; XMLHttpRequest does.
import { filePath } from "./calls";
import { ApiError, errorFrom, headersOf, reachability } from "./client";
import type { FileEntry } from "./types";

export interface UploadOptions {
  onSent: (bytes: number) => void;
  signal: AbortSignal;
}

export function uploadFile(session: string, path: string, body: Blob, options: UploadOptions): Promise<FileEntry> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    const finish = (act: () => void) => {
      options.signal.removeEventListener("abort", abort);
      act();
    };
    request.upload.addEventListener("progress", (event) => options.onSent(event.loaded));
    request.addEventListener("load", () =>
      finish(() => {
        reachability.report(true);
        try {
          const answer: unknown = JSON.parse(request.responseText);
          if (request.status < 300) resolve(answer as FileEntry);
          else reject(errorFrom(request.status, answer));
        } catch {
          reject(errorFrom(request.status, null));
        }
      }),
    );
    request.addEventListener("error", () =>
      finish(() => reject(new ApiError(0, "away", "the connection broke while the file was sent", "is the daemon still running?"))),
    );
    request.addEventListener("abort", () => finish(() => reject(new DOMException("called off", "AbortError"))));
    request.open("PUT", filePath(session, path));
    for (const [name, value] of Object.entries(headersOf({}))) request.setRequestHeader(name, value);
    if (options.signal.aborted) return reject(new DOMException("called off", "AbortError"));
    options.signal.addEventListener("abort", abort);
    request.send(body);
  });
}
