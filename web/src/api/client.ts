// SPDX-License-Identifier: Apache-2.0
// One way to the daemon: adds who we are, turns every failure into an ApiError with a sentence for people.
import type { ErrorBody } from "./types";

export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: the daemon was not reached
    readonly kind: string,
    message: string,
    readonly remedy: string = "",
    readonly field: string = "",
  ) {
    super(message);
  }

  get isAway(): boolean {
    return this.status === 0;
  }
}

/** The caller's token and key: set by state/settings.ts, read at every call. */
export const identity: { token: string; approveKey: string } = { token: "", approveKey: "" };

/** Told of every call that reached the daemon or did not: state/connection.ts listens. */
export const reachability: { report: (reached: boolean) => void } = { report: () => {} };

export interface CallOptions {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  json?: unknown;
  body?: BodyInit;
  query?: Record<string, string | number | boolean | undefined>;
  accept?: string;
  signal?: AbortSignal;
}

export function urlOf(path: string, query: CallOptions["query"] = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

export function headersOf(options: CallOptions): Record<string, string> {
  const headers: Record<string, string> = { "Vivarium-Client": "page" };
  if (identity.token) headers["Authorization"] = `Bearer ${identity.token}`;
  if (identity.approveKey) headers["Vivarium-Approve"] = identity.approveKey;
  if (options.json !== undefined) headers["Content-Type"] = "application/json";
  if (options.accept) headers["Accept"] = options.accept;
  return headers;
}

/** The error that an answer's body tells of; one without a word is told as such. */
export function errorFrom(status: number, body: unknown): ApiError {
  const error = (body as ErrorBody | null)?.error;
  if (typeof error?.message !== "string") return new ApiError(status, "internal", `the daemon answered ${status} without saying why`);
  return new ApiError(status, error.kind, error.message, error.remedy, error.field);
}

async function errorOf(response: Response): Promise<ApiError> {
  return errorFrom(response.status, await response.json().catch(() => null));
}

/** The raw answer; an ApiError for anything but a success. */
export async function call(path: string, options: CallOptions = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(urlOf(path, options.query), {
      method: options.method ?? (options.json !== undefined || options.body !== undefined ? "POST" : "GET"),
      headers: headersOf(options),
      body: options.json !== undefined ? JSON.stringify(options.json) : options.body,
      signal: options.signal,
      keepalive: options.method === "DELETE", // what was deleted stays so, though the page is left at once
      cache: "no-store",
    });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    reachability.report(false);
    throw new ApiError(0, "away", "the daemon does not answer", "is it still running?");
  }
  reachability.report(true);
  if (!response.ok) throw await errorOf(response);
  return response;
}

export async function callJson<T>(path: string, options: CallOptions = {}): Promise<T> {
  const response = await call(path, options);
  return (await response.json()) as T;
}

/** Lines of NDJSON as they come. Ends when the daemon ends the stream; throws when the connection breaks. */
export async function* stream<T>(path: string, options: CallOptions = {}): AsyncGenerator<T> {
  const response = await call(path, { accept: "application/x-ndjson", ...options });
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parts: string[] = []; // of a line that has not ended: joined once, so that a long line costs its length once
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      let from = 0;
      for (let end = value.indexOf("\n"); end >= 0; end = value.indexOf("\n", from)) {
        parts.push(value.slice(from, end));
        const line = parts.length === 1 ? parts[0]! : parts.join("");
        parts.length = 0;
        from = end + 1;
        if (line) yield JSON.parse(line) as T;
      }
      if (from < value.length) parts.push(value.slice(from));
    }
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    reachability.report(false);
    throw new ApiError(0, "away", "the connection to the daemon broke", "is it still running?");
  } finally {
    reader.cancel().catch(() => {});
  }
}
