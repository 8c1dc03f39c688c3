// SPDX-License-Identifier: Apache-2.0
// Follow mode: the page goes to the session where an agent's run begins, unless the person is at work here.
import type { RunRow } from "../api/types";
import { current } from "../state/conversations";
import { go, route } from "../state/route";
import { change, settings } from "../state/settings";
import { toast } from "../state/toasts";
import { Switch } from "../ui";
import { isPage, nameOf } from "./who";

const WORK_MS = 15_000; // since the last key: somebody who writes is not led away
const SAY_MS = 10_000; // between two offers to go there
const REST_MS = 3000; // two agents at work at once must not make the page flicker

let lastKeyMs = -Infinity;
let lastMoveMs = -Infinity;
let lastSaidMs = -Infinity;
addEventListener("keydown", () => (lastKeyMs = performance.now()), { capture: true, passive: true });

export function mayMove(nowMs: number, keyMs: number, moveMs: number): boolean {
  return nowMs - keyMs >= WORK_MS && nowMs - moveMs >= REST_MS;
}

export function followAgent(row: RunRow): void {
  if (!settings.peek().follow || row.session === null || row.state === "over" || isPage(row.who)) return;
  if (route.peek().page === "approvals") return; // whoever decides about runs is not led away from that
  if (current.peek()?.session.peek() === row.session && route.peek().page === "conversation") return;
  const target = `#/s/${row.session}`;
  const now = performance.now();
  if (mayMove(now, lastKeyMs, lastMoveMs) && !document.querySelector("dialog[open]")) {
    lastMoveMs = now;
    go(target);
  } else if (now - lastSaidMs >= SAY_MS) {
    lastSaidMs = now;
    toast(`${nameOf(row.who)} runs something`, "info", row.line ?? "", { label: "Go there", run: () => go(target) });
  }
}

export function FollowSwitch() {
  return (
    <Switch label="Follow agents" checked={settings.value.follow} onChange={(follow) => change({ follow })}
      title="The page goes to the session where an agent's run begins" />
  );
}
