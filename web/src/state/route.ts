// SPDX-License-Identifier: Apache-2.0
// Where the page is: `#/c/ID`, `#/s/SESSION`, `#/approvals`, `#/status`, `#/settings`, or the welcome.
import { signal } from "@preact/signals";

export type Route =
  | { page: "welcome" | "approvals" | "status" | "settings" }
  | { page: "conversation"; id: string }
  | { page: "session"; id: string };

export function parseRoute(hash: string): Route {
  const [, first = "", second = ""] = hash.split("/");
  if (first === "c" && /^cnv_[a-z0-9]+$/.test(second)) return { page: "conversation", id: second };
  if (first === "s" && /^ses_[a-z0-9]+$/.test(second)) return { page: "session", id: second };
  if (first === "approvals" || first === "status" || first === "settings") return { page: first };
  return { page: "welcome" };
}

export const route = signal<Route>(parseRoute(location.hash));
addEventListener("hashchange", () => (route.value = parseRoute(location.hash)));

/** The browser tells of a new address a moment later; what is shown must not lag behind what was asked. */
export function go(hash: string): void {
  location.hash = hash;
  route.value = parseRoute(hash);
}
