// SPDX-License-Identifier: Apache-2.0
// The maker of a run. The token is proved; a client's name for itself is a claim, and is shown as one.
import type { Who } from "../api/types";
import { IconAgent, IconPerson } from "../ui/icons";
import { visible } from "../panels/format";

const DOORS: Record<string, string> = { http: "HTTP", mcp: "MCP", atlas: "Atlas", elitea: "ELITEA" };

/** The known facts about the maker of a run. Runs from before this version have fewer. */
export interface Known {
  token: string;
  client: string;
  way: string; // how and from where it came
}

export function knownOf(who: Partial<Who> | null | undefined): Known {
  const door = who?.via ? (DOORS[who.via] ?? who.via) : "";
  const from = who?.peer === "unix" ? "the local socket" : (who?.peer ?? "");
  return {
    token: visible(who?.token ?? ""),
    client: visible(who?.client ?? ""),
    way: visible(door && from ? `${door} from ${from}` : door || from),
  };
}

export const isPage = (who: Partial<Who> | null | undefined) => who?.client === "page";

/** A short name: what it calls itself, else its token, else where it comes from. */
export function nameOf(who: Partial<Who> | null | undefined): string {
  const { token, client } = knownOf(who);
  if (isPage(who)) return token || "This page";
  return client || token || (who?.peer === "unix" ? "A local program" : visible(who?.peer ?? "") || "Somebody");
}

/** The asker, as told to the person who decides: proved facts come first, and a claim is called one. */
export function askerOf(who: Partial<Who> | null | undefined): string {
  const { token, client } = knownOf(who);
  if (token) return `Token ${token}`;
  return client ? `A program that calls itself “${client}”` : nameOf(who);
}

export function WhoLine({ who }: { who: Partial<Who> | null | undefined }) {
  const { token, client, way } = knownOf(who);
  return (
    <span class="who-line">
      {isPage(who) ? <IconPerson size={14} /> : <IconAgent size={14} />}
      {client && <span class="who-claim" title="What the client calls itself; nobody has checked that">“{client}”</span>}
      {token && <span class="who-token">token {token}</span>}
      {way && <span class="who-way">{way}</span>}
    </span>
  );
}
