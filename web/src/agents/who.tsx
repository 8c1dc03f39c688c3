// SPDX-License-Identifier: Apache-2.0
// Who made a run. The token is proved; what a client calls itself is only said, and is shown as such.
import type { Who } from "../api/types";
import { IconAgent, IconPerson } from "../ui/icons";
import { visible } from "../panels/format";

const DOORS: Record<string, string> = { http: "HTTP", mcp: "MCP", atlas: "Atlas", elitea: "ELITEA" };

export const doorOf = (who: Who) => DOORS[who.via] ?? who.via;

/** A short name: what it calls itself, else its token, else where it comes from. */
export function nameOf(who: Who): string {
  if (who.client === "page") return who.token ? visible(who.token) : "This page";
  return visible(who.client ?? who.token ?? (who.peer === "unix" ? "A local program" : who.peer));
}

export function WhoLine({ who }: { who: Who }) {
  const isPage = who.client === "page";
  return (
    <span class="who-line">
      {isPage ? <IconPerson size={14} /> : <IconAgent size={14} />}
      {who.client !== null && <span class="who-claim" title="What the client calls itself; nobody has checked that">“{visible(who.client)}”</span>}
      {who.token !== null && <span class="who-token">token {visible(who.token)}</span>}
      <span class="who-way">{doorOf(who)} from {who.peer === "unix" ? "the local socket" : visible(who.peer)}</span>
    </span>
  );
}
