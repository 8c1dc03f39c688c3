// SPDX-License-Identifier: Apache-2.0
// What can be done at once about a run that hit a limit: the same again with more of it.
import type { Ending } from "../output/model";
import { formatBytes, formatMs } from "../output/format";
import { askLimits } from "../shell/limits";
import type { Cell, Conversation } from "../state/conversation";
import { longerTime, longestTime, memoryOf, policies, policyOf } from "../state/policies";
import { Button } from "../ui";
import { IconClock, IconPlay } from "../ui/icons";
import { lastError } from "./mark";
import { runCell } from "./run";

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

export function Longer({ conversation, cell, ending: { verdict } }: Props) {
  const policy = policyOf(conversation);
  const isTime = verdict.kind === "timeout";
  const isMemory = verdict.kind === "memory" || lastError(cell.output.value)?.type === "MemoryError";
  if (!policy || !(isTime || isMemory)) return null;
  const longer = isTime ? longerTime(policy, verdict.limit_value ?? 0) : undefined;
  const isMore = (other: typeof policy) => (isTime ? longestTime(other) > longestTime(policy) : memoryOf(other) > memoryOf(policy));
  const more = longer === undefined && policies.value.find(isMore);
  if (longer !== undefined) {
    return <p class="ending-deeds"><Button size="small" icon={IconPlay} onClick={() => runLonger(conversation, cell, longer)}>Run again with {formatMs(longer)}</Button></p>;
  }
  if (!more) return null;
  const what = isTime ? `up to ${formatMs(longestTime(more))}` : formatBytes(memoryOf(more));
  return (
    <p class="ending-deeds">
      <Button size="small" icon={IconClock} onClick={() => askLimits(conversation)}>Choose another policy…</Button>
      <span class="out-soft">{more.name} has {what}</span>
    </p>
  );
}
