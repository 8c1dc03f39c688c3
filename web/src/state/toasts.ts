// SPDX-License-Identifier: Apache-2.0
// Short messages at the edge of the page. Each goes by itself, a failure later than the rest, but not while it is read:
// under the pointer, or with the focus.
import { signal } from "@preact/signals";
import { ApiError } from "../api/client";

export interface Toast {
  id: number;
  tone: "info" | "good" | "bad";
  text: string;
  remedy: string;
  action: ToastAction | null;
}

export interface ToastAction {
  label: string; // as in "Undo"
  run: () => void;
}

const SHOWN_MS = 5000;
const SHOWN_WITH_ACTION_MS = 10_000;
const FAILURE_SHOWN_MS = 30_000;
const TOASTS_MAX = 5;

export const toasts = signal<Toast[]>([]);
let lastId = 0;
const timers = new Map<number, ReturnType<typeof setTimeout>>();

/** The message stays while it is read. */
export function holdToast(id: number): void {
  clearTimeout(timers.get(id));
  timers.delete(id);
}

/** Its time begins, or begins again. */
export function releaseToast({ id, tone, action }: Toast): void {
  holdToast(id);
  timers.set(id, setTimeout(() => closeToast(id), tone === "bad" ? FAILURE_SHOWN_MS : action ? SHOWN_WITH_ACTION_MS : SHOWN_MS));
}

export function closeToast(id: number): void {
  holdToast(id);
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function toast(text: string, tone: Toast["tone"] = "info", remedy = "", action: ToastAction | null = null): number {
  const id = ++lastId;
  const others = toasts.value.filter((other) => other.action || other.text !== text); // said again, not said twice
  const made = { id, tone, text, remedy, action };
  toasts.value = [...others, made].slice(-TOASTS_MAX);
  releaseToast(made);
  return id;
}

const here = new Set<number>();

/** Of the open conversation alone: it goes when another one is opened. */
export function toastHere(...said: Parameters<typeof toast>): void {
  here.add(toast(...said));
}

export function closeHere(): void {
  here.forEach(closeToast);
  here.clear();
}

/** Says what failed, on what, and what to do: `what` is the deed, as in "rename the conversation". */
export function failed(what: string, cause: unknown): void {
  if (cause instanceof DOMException && cause.name === "AbortError") return;
  const message = cause instanceof Error ? cause.message : String(cause);
  toast(`Could not ${what}: ${message}`, "bad", cause instanceof ApiError ? cause.remedy : "");
}
