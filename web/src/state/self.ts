// SPDX-License-Identifier: Apache-2.0
// Whom the daemon takes us for. Somebody who oversees sees sessions of others, and may run nothing in them.
import { signal } from "@preact/signals";
import * as calls from "../api/calls";
import type { Session, Status } from "../api/types";
import { onReload } from "./feed";

export const self = signal<NonNullable<Status["caller"]> | null>(null); // null: not known yet

/** How far the daemon's clock is ahead of this browser's: they may be two machines. */
export const aheadMs = signal(0);

/** A session that we may look at and not touch. */
export function isOthers(session: Session | undefined): boolean {
  return session?.token !== undefined && self.value !== null && session.token !== self.value.token;
}

/** Call once. */
export function watchSelf(): void {
  onReload(() => {
    // Where it cannot be asked, the daemon itself refuses what we may not.
    calls.status().then(({ caller, started_ms, uptime_ms }) => {
      self.value = caller ?? null;
      aheadMs.value = started_ms + uptime_ms - Date.now() || 0;
    }, () => {});
  });
}
