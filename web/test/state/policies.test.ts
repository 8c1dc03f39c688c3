// SPDX-License-Identifier: Apache-2.0
import { beforeEach, expect, it } from "vitest";
import type { Policy, Session } from "../../src/api/types";
import { Cell } from "../../src/state/conversation";
import { sessions } from "../../src/state/feed";
import { betterPolicy, longerTime, longestTime, memoryOf, policies, policyOf, timeOf, timesOf } from "../../src/state/policies";
import { conversationOf } from "../cells/parts";

const small: Policy = { name: "default", timeout_ms: 30_000, timeout_max_ms: 120_000, memory: 512 * 2 ** 20 };
const heavy: Policy = { name: "heavy", timeout_ms: 300_000, timeout_max_ms: 600_000, memory: 4096 * 2 ** 20 };
const cell = () => new Cell({ id: "a", kind: "code", source: "1", run: null });

beforeEach(() => {
  policies.value = [small, heavy];
  sessions.value = new Map();
});

it("offers times up to what the policy allows", () => {
  expect(timesOf(small)).toEqual([10_000, 30_000, 60_000, 120_000]);
  expect(timesOf(undefined)).toEqual([]);
});

it("offers more after a run was stopped, and nothing where no more may be asked for", () => {
  expect(longerTime(small, 30_000)).toBe(120_000);
  expect(longerTime(small, 10_000)).toBe(60_000);
  expect(longerTime(small, 60_000)).toBe(120_000);
  expect(longerTime(small, 120_000)).toBe(undefined);
});

it("suggests the policy with the most of those with more, sooner one whose runs nobody has to allow", () => {
  const middle: Policy = { name: "workspace", timeout_max_ms: 120_000, memory: 1024 * 2 ** 20 };
  const held: Policy = { name: "asked", timeout_max_ms: 120_000, memory: 8192 * 2 ** 20, approve: true };
  policies.value = [small, middle, held, heavy];
  expect(betterPolicy(small, memoryOf)).toBe(heavy);
  expect(betterPolicy(heavy, memoryOf)).toBe(held);
  expect(betterPolicy(held, memoryOf)).toBe(undefined);
  expect(betterPolicy(middle, longestTime)).toBe(heavy);
  expect(betterPolicy(undefined, memoryOf)).toBe(undefined);
});

it("takes a cell's own time before the conversation's, never above the policy's", () => {
  const one = cell();
  const conversation = conversationOf([one]);
  expect(timeOf(conversation, one)).toBe(undefined);
  conversation.use.value = { timeout_ms: 60_000 };
  expect(timeOf(conversation, one)).toBe(60_000);
  one.timeoutMs.value = 600_000;
  expect(timeOf(conversation, one)).toBe(120_000);
});

it("goes by the policy of the session that is there, else of the next one", () => {
  const conversation = conversationOf([], "ses_1");
  conversation.use.value = { policy: "heavy" };
  expect(policyOf(conversation)).toBe(heavy);
  sessions.value = new Map([["ses_1", { id: "ses_1", policy: "default" } as Session]]);
  expect(policyOf(conversation)).toBe(small);
});
