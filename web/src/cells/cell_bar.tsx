// SPDX-License-Identifier: Apache-2.0
// The buttons of a cell, at its upper right.
import type { Cell, Conversation } from "../state/conversation";
import { formatMs } from "../output/format";
import { askLimits } from "../shell/limits";
import { defaultTime, policyOf, timeOf, timesOf } from "../state/policies";
import { IconButton, Menu } from "../ui";
import { IconCheck, IconClock, IconCode, IconDown, IconGrip, IconNote, IconTrash, IconUp } from "../ui/icons";
import { CELL_TYPE } from "./drag";
import { deleteCell, moveBy, turnCell } from "./edit";
import { isOn } from "./live";
import { MOVE_DOWN, MOVE_UP } from "./keys";

interface CellBarProps {
  conversation: Conversation;
  cell: Cell;
  number: number;
  count: number;
}

/** How long runs of this cell may take. */
function TimeMenu({ conversation, cell, number }: Omit<CellBarProps, "count">) {
  const policy = policyOf(conversation);
  const own = cell.timeoutMs.value;
  const choose = (ms: number | null) => {
    cell.timeoutMs.value = ms;
    conversation.touch();
  };
  const usual = conversation.use.value.timeout_ms ?? defaultTime(policy);
  const items = [
    { label: `As the conversation (${formatMs(usual)})`, icon: own === null ? IconCheck : undefined, run: () => choose(null) },
    "line" as const,
    ...timesOf(policy).map((ms) => ({ label: formatMs(ms), icon: own === ms ? IconCheck : undefined, run: () => choose(ms) })),
    "line" as const,
    { label: "Memory and Python…", run: () => askLimits(conversation) },
  ];
  const label = `Time limit of cell ${number}: ${formatMs(timeOf(conversation, cell) ?? usual)}`;
  return <Menu size="small" icon={IconClock} label={label} items={items} class={own === null ? undefined : "is-set"} />;
}

export function CellBar({ conversation, cell, number, count }: CellBarProps) {
  const isCode = cell.kind.value === "code";
  return (
    <div class="cell-bar" role="toolbar" aria-label={`Tools of cell ${number}`}>
      <span class="cell-grip" draggable title="Drag to move" aria-hidden="true"
        onDragStart={(event) => {
          const box = event.currentTarget.closest(".cell");
          event.dataTransfer?.setData(CELL_TYPE, cell.id);
          if (event.dataTransfer) event.dataTransfer.effectAllowed = "move";
          if (box) event.dataTransfer?.setDragImage(box, 24, 16);
        }}>
        <IconGrip size={14} />
      </span>
      <IconButton size="small" icon={IconUp} label="Move up" keys={MOVE_UP.shown} disabled={number === 1}
        onClick={() => moveBy(conversation, cell, -1)} />
      <IconButton size="small" icon={IconDown} label="Move down" keys={MOVE_DOWN.shown} disabled={number === count}
        onClick={() => moveBy(conversation, cell, 1)} />
      {isCode && <TimeMenu conversation={conversation} cell={cell} number={number} />}
      <IconButton size="small" icon={isCode ? IconNote : IconCode} disabled={isOn(cell)}
        label={isCode ? "Turn into a note" : "Turn into code"}
        onClick={() => turnCell(conversation, cell, isCode ? "note" : "code")} />
      <IconButton size="small" icon={IconTrash} label={`Delete cell ${number}`} onClick={() => deleteCell(conversation, cell)} />
    </div>
  );
}
