// SPDX-License-Identifier: Apache-2.0
// Buttons below a run that lacked something: the same again with more time, memory or another Python.
import { useEffect, useState } from "preact/hooks";
import type { Ending } from "../output/model";
import { formatBytes, formatMs } from "../output/format";
import { askLimits } from "../shell/limits";
import type { Cell, Conversation } from "../state/conversation";
import { sessions } from "../state/feed";
import { betterPolicy, longerTime, longestTime, memoryOf, policyOf } from "../state/policies";
import { runtimesWith } from "../state/runtimes";
import { visible } from "../panels/format";
import { Button } from "../ui";
import { IconClock, IconPlay, IconRefresh } from "../ui/icons";
import { lastError } from "./mark";
import { runCell } from "./run";

const RUNTIMES_SHOWN = 3;

interface Props {
  conversation: Conversation;
  cell: Cell;
  ending: Ending;
}

function runLonger(conversation: Conversation, cell: Cell, ms: number): void {
  cell.timeoutMs.value = ms;
  conversation.touch();
  void runCell(conversation, cell);
}

/** Which other Python has the module that was missed. */
function OtherRuntimes({ conversation, module }: { conversation: Conversation; module: string }) {
  const [names, setNames] = useState<readonly string[] | null>(null);
  useEffect(() => {
    let isWanted = true;
    const own = sessions.peek().get(conversation.session.peek() ?? "")?.runtime ?? "";
    runtimesWith(module, own, policyOf(conversation)).then((found) => isWanted && setNames(found), () => {}); // the remedy's words stand alone
    return () => void (isWanted = false);
  }, [conversation, module]);
  if (names === null) return null;
  if (names.length === 0) return <p class="out-soft">No other runtime of this server has it.</p>;
  return (
    <p class="ending-deeds">
      {names.slice(0, RUNTIMES_SHOWN).map((name) => (
        <Button key={name} size="small" icon={IconRefresh} onClick={() => askLimits(conversation, { runtime: name })}>Use the runtime {name}…</Button>
      ))}
      <span class="out-soft">{names.length === 1 ? "It has" : "They have"} {visible(module)}</span>
    </p>
  );
}

export function Longer({ conversation, cell, ending: { verdict } }: Props) {
  const policy = policyOf(conversation);
  const isTime = verdict.kind === "timeout";
  const isMemory = verdict.limit === "memory" || lastError(cell.output.value)?.type === "MemoryError";
  if (verdict.remedy_key === "module" && verdict.remedy_detail) return <OtherRuntimes conversation={conversation} module={verdict.remedy_detail} />;
  if (!policy || !(isTime || isMemory)) return null;
  const longer = isTime ? longerTime(policy, verdict.limit_value ?? 0) : undefined;
  if (longer !== undefined) {
    return <p class="ending-deeds"><Button size="small" icon={IconPlay} onClick={() => runLonger(conversation, cell, longer)}>Run again with {formatMs(longer)}</Button></p>;
  }
  const more = betterPolicy(policy, isTime ? longestTime : memoryOf);
  if (!more) return null;
  const what = isTime ? `runs of up to ${formatMs(longestTime(more))}` : `${formatBytes(memoryOf(more))} of memory`;
  return (
    <p class="ending-deeds">
      <Button size="small" icon={IconClock} onClick={() => askLimits(conversation, { policy: more.name })}>Use the policy {more.name}…</Button>
      <span class="out-soft">It has {what}</span>
    </p>
  );
}
