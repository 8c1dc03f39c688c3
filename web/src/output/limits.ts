// SPDX-License-Identifier: Apache-2.0
// What a session's runs may use: from its policy, asked once for each session.
import { ApiError } from "../api/client";
import * as calls from "../api/calls";
import { countOf } from "./checks";

export interface Limits {
  timeout_ms?: number;
  memory?: number;
  output?: number;
  cpus?: number;
}

const known = new Map<string, Promise<Limits>>();
const SESSIONS_MAX = 200;

async function ask(session: string): Promise<Limits> {
  const [{ policy }, policies] = await Promise.all([calls.getSession(session), calls.policies()]);
  const row = policies.find(({ name }) => name === policy);
  const limits: Limits = {};
  for (const name of ["timeout_ms", "memory", "output", "cpus"] as const) {
    const value = countOf(row?.[name]);
    if (value) limits[name] = value;
  }
  return limits;
}

/** Empty when the session is gone or the daemon does not say: then the numbers stand alone. */
export function limitsOf(session: string): Promise<Limits> {
  let limits = known.get(session);
  if (!limits) {
    limits = ask(session).catch((cause: unknown) => {
      if (!(cause instanceof ApiError && cause.status === 404)) known.delete(session); // asked again; a session that is gone is not
      return {};
    });
    if (known.size >= SESSIONS_MAX) known.clear();
    known.set(session, limits);
  }
  return limits;
}
