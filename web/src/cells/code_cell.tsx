// SPDX-License-Identifier: Apache-2.0
import type { KeyBinding } from "@codemirror/view";
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type FindCell, OutputView } from "../output";
import type { Cell, Conversation } from "../state/conversation";
import { sessions } from "../state/feed";
import { IconButton } from "../ui";
import { IconPlay, IconStop } from "../ui/icons";
import { CellEditor } from "./cell_editor";
import { reveal } from "./focus";
import { goOn, insertCell, moveBy, said } from "./edit";
import { MOVE_DOWN, MOVE_UP, RUN_HERE, RUN_HERE_TOO, RUN_INSERT, RUN_ON, STOP } from "./keys";
import { isOn, liveOf } from "./live";
import { Longer } from "./longer";
import { lastError } from "./mark";
import { Phase } from "./phase";
import { interruptRun, runCell, stopCell } from "./run";
import { sinceOf, workspace } from "./since";
import { StdinLine } from "./stdin";

interface RunButtonProps {
  conversation: Conversation;
  cell: Cell;
  number: number;
}

interface CodeCellProps extends RunButtonProps {
  isNear: boolean;
}

function keysOf(conversation: Conversation, cell: Cell): KeyBinding[] {
  const always = (deed: () => unknown) => () => {
    deed();
    return true;
  };
  const run = () => void runCell(conversation, cell);
  const place = () => conversation.cells.peek().indexOf(cell);
  return [
    { key: RUN_ON.key, run: always(() => { run(); goOn(conversation, cell); }) },
    { key: RUN_HERE.key, run: always(run) },
    { key: RUN_HERE_TOO.key, run: always(run) },
    { key: RUN_INSERT.key, run: always(() => { run(); insertCell(conversation, place() + 1); }) },
    { key: STOP.key, run: always(() => void interruptRun(conversation)) },
    { key: MOVE_UP.key, run: always(() => moveBy(conversation, cell, -1)) },
    { key: MOVE_DOWN.key, run: always(() => moveBy(conversation, cell, 1)) },
  ];
}

/** Says what becomes of a run, to those who do not see it. */
function useSaid(cell: Cell, number: number): void {
  const phase = cell.phase.value;
  useEffect(() => {
    if (phase === "running") said.value = `Cell ${number}: Running`;
    if (phase === "held") said.value = `Cell ${number}: Waiting for a person to allow it`;
    if (phase !== "over") return;
    const output = cell.output.peek();
    const error = lastError(output);
    const kind = output?.ending?.verdict.kind;
    const why = error ? `${error.type} ${error.message}`.slice(0, 200) : kind;
    said.value = kind === "ok" ? `Cell ${number}: Done` : `Cell ${number}: Failed, ${why}`;
  }, [phase]);
}

/** When a run ends in the cell that is being used, the beginning of what it showed comes into view, if that does not push
 * the cell's own beginning out of it. */
function useReveal(cell: Cell, output: RefObject<HTMLDivElement | null>): void {
  const phase = cell.phase.value;
  useEffect(() => {
    const box = output.current?.closest(".cell");
    if (phase === "over" && output.current && box?.contains(document.activeElement)) reveal(output.current, box);
  }, [phase]);
}

/** Finds the one other cell that has this text at this line: where several have it, nobody knows which one is meant. */
function finder(conversation: Conversation, cell: Cell): FindCell {
  return (line, text) => {
    const places = conversation.cells.peek().flatMap((other, i) => {
      const isIt = other !== cell && other.kind.peek() === "code" && other.source.peek().split("\n")[line - 1]?.trim() === text;
      return isIt && text !== "" ? [i + 1] : [];
    });
    return places.length === 1 ? places[0]! : null;
  };
}

/** The number of the cell that shows a run, as it is now. */
function numberIn(conversation: Conversation, run: string): number | null {
  const at = conversation.cells.peek().findIndex((cell) => cell.output.peek()?.run === run);
  return at < 0 ? null : at + 1;
}

function RunButton({ conversation, cell, number }: RunButtonProps) {
  if (isOn(cell)) {
    return (
      <IconButton icon={IconStop} tone="plain" class="cell-run cell-stop" label={`Interrupt cell ${number}`} keys={STOP.shown}
        busy={liveOf(cell).isStopping.value} onClick={() => void stopCell(conversation, cell)} />
    );
  }
  const isOff = !conversation.sandbox.value;
  return (
    <IconButton icon={IconPlay} tone="plain" class="cell-run" disabled={isOff} keys={isOff ? undefined : RUN_ON.shown}
      label={isOff ? `Cell ${number} cannot run: running code is off` : `Run cell ${number}`}
      onClick={() => void runCell(conversation, cell)} />
  );
}

export function CodeCell({ conversation, cell, number, isNear }: CodeCellProps) {
  const keys = useMemo(() => keysOf(conversation, cell), [conversation, cell]);
  const { asksInput } = liveOf(cell);
  const output = cell.output.value;
  const isOld = cell.phase.value === "waiting" && output?.isOver;
  const find = useMemo(() => finder(conversation, cell), [conversation, cell]);
  const now = workspace.value;
  const kept = sessions.value.get(conversation.session.value ?? "")?.kept;
  const place = useRef<HTMLDivElement>(null);
  useSaid(cell, number);
  useReveal(cell, place);
  return (
    <>
      <div class="cell-side">
        <RunButton conversation={conversation} cell={cell} number={number} />
        <span class="cell-number" aria-hidden="true">{number}</span>
      </div>
      <div class="cell-main">
        <CellEditor conversation={conversation} cell={cell} label={`Code of cell ${number}`}
          hint={number === 1 ? `Python. ${RUN_ON.shown} runs it` : "Python"} keys={keys} isNear={isNear} />
        <Phase cell={cell} />
        {output && isNear && (
          <div ref={place} class={isOld ? "cell-output cell-stale" : "cell-output"}>
            <OutputView output={output} session={conversation.session.value} label={`Output of cell ${number}`} cell={number} find={find}
              mark={cell.mark.value} isEdited={cell.source.value !== cell.ran.value} isSaved={!kept?.why && !kept?.pending} numberOf={(run) => numberIn(conversation, run)}
              since={now?.runs.has(output.run ?? "") ? (file) => sinceOf(now, conversation.cells.value, output.run, file) : null}
              deeds={output.ending && <Longer conversation={conversation} cell={cell} ending={output.ending} />} />
          </div>
        )}
        {asksInput.value && output?.run && <StdinLine key={output.run} run={output.run} number={number} />}
      </div>
    </>
  );
}
