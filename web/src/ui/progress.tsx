// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";

/** Turns while something goes on; what goes on is said by the text beside it, or by `label`. */
export function Spinner({ size = 16, label }: { size?: number; label?: string }) {
  return (
    <svg class="spinner" width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="2"
      stroke-linecap="round" role={label ? "img" : undefined} aria-label={label} aria-hidden={label ? undefined : "true"} focusable="false">
      <circle cx="8" cy="8" r="6" opacity="0.25" />
      <path d="M14 8a6 6 0 0 0-6-6" />
    </svg>
  );
}

/** A bar from 0 to 1; without a value it says only that something goes on. */
export function Progress({ value, label, tone = "accent" }: { value?: number; label: string; tone?: "accent" | "warn" | "bad" }) {
  const bar = useRef<HTMLDivElement>(null);
  const part = value === undefined ? undefined : Math.max(0, Math.min(1, value));
  useEffect(() => bar.current?.style.setProperty("--part", String(part ?? 0)), [part]);
  return (
    <div class={`progress progress-${tone}`} role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100}
      aria-valuenow={part === undefined ? undefined : Math.round(part * 100)}>
      <div ref={bar} class={part === undefined ? "progress-bar progress-unknown" : "progress-bar"} />
    </div>
  );
}

/** True once `busy` has lasted for 300 ms: a spinner that only flashes says less than none. */
export function useSlow(busy: boolean, afterMs = 300): boolean {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    if (!busy) {
      setSlow(false);
      return;
    }
    const timer = setTimeout(() => setSlow(true), afterMs);
    return () => clearTimeout(timer);
  }, [busy, afterMs]);
  return busy && isSlow;
}

/** Fills a place whose content is on its way; silent for the first 300 ms. */
export function Loading({ label }: { label: string }) {
  const isSlow = useSlow(true);
  return <div class="loading" role="status">{isSlow && <><Spinner /> <span>{label}</span></>}</div>;
}
