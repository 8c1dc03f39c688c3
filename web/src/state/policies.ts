// SPDX-License-Identifier: Apache-2.0
// Limits for runs: the policies that the daemon lists, and what a conversation or a cell chose within them. Time
// belongs to a run; memory and Python belong to the session, which has one policy and one runtime for its life.
import { signal } from "@preact/signals";
import * as calls from "../api/calls";
import type { Policy } from "../api/types";
import { countOf } from "../output/checks";
import type { Cell, Conversation } from "./conversation";
import { onReload, sessions } from "./feed";
import { settings } from "./settings";

export const policies = signal<readonly Policy[]>([]);

const STEPS_MS = [10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000];

/** Call once. */
export function watchPolicies(): void {
  // Where they cannot be had, runs take the daemon's own defaults.
  onReload(() => void calls.policies().then((list) => { policies.value = list; }, () => {}));
}

const named = (name: string) => policies.value.find((policy) => policy.name === name);

/** The policy of the next session. */
export function chosenPolicy(conversation: Conversation): Policy | undefined {
  return named(conversation.use.value.policy || settings.value.policy || "default");
}

/** The policy under which the next run of the conversation happens. */
export function policyOf(conversation: Conversation): Policy | undefined {
  const session = sessions.value.get(conversation.session.value ?? "");
  return session ? named(session.policy) : chosenPolicy(conversation);
}

export const memoryOf = (policy: Policy | undefined) => countOf(policy?.["memory"]) ?? 0;
export const defaultTime = (policy: Policy | undefined) => countOf(policy?.["timeout_ms"]) ?? 0;
export const longestTime = (policy: Policy | undefined) => countOf(policy?.["timeout_max_ms"]) ?? 0;

/** The policy to suggest to whoever needs more than this one allows: that with the most, and sooner one whose runs need
 * nobody to allow them. All that are listed may be used. */
export function betterPolicy(policy: Policy | undefined, most: (policy: Policy) => number): Policy | undefined {
  const held = (one: Policy) => Number(one["approve"] === true);
  return policies.value
    .filter((one) => policy !== undefined && most(one) > most(policy))
    .toSorted((a, b) => held(a) - held(b) || most(b) - most(a))[0];
}

/** Times to choose from, the longest that the policy allows last. */
export function timesOf(policy: Policy | undefined): number[] {
  const most = longestTime(policy);
  return most ? [...STEPS_MS.filter((ms) => ms < most), most] : [];
}

/** How long a run of the cell may take, or undefined for what the policy says. A choice above the policy is cut to it. */
export function timeOf(conversation: Conversation, cell: Cell): number | undefined {
  const asked = cell.timeoutMs.value ?? conversation.use.value.timeout_ms;
  const most = longestTime(policyOf(conversation));
  return asked && most ? Math.min(asked, most) : asked;
}

/** After a run took `ms` and was stopped: what to try next, about four times as long; undefined where no more may be asked for. */
export function longerTime(policy: Policy | undefined, ms: number): number | undefined {
  const longer = timesOf(policy).filter((time) => time > ms);
  return longer.find((time) => time >= 4 * ms) ?? longer.at(-1);
}
