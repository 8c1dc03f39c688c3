// SPDX-License-Identifier: Apache-2.0
// The cells of a conversation, from the top, and places between them where new ones go.
import { effect, useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Cell, Conversation } from "../state/conversation";
import { connection, sessions } from "../state/feed";
import { Button } from "../ui";
import { IconCode, IconInfo, IconNote } from "../ui/icons";
import { CellBar } from "./cell_bar";
import { CodeCell } from "./code_cell";
import { gap, onDragEnd, onDragOver, onDrop } from "./drag";
import { insertCell, said } from "./edit";
import { focusCell } from "./focus";
import { resumeAll, show } from "./follow";
import { markUndone } from "./marks";
import { takeOver } from "./run";
import { useWorkspace } from "./since";
import { useNear } from "./near";
import { NoteCell } from "./note_cell";
import { nameOf, WhoBadge } from "./phase";
import "./cells.css";

interface InsertProps {
  conversation: Conversation;
  at: number;
  isLast?: boolean;
}

/** Where a new cell can go. Between cells it shows itself to a pointer or the focus; at the end it is always there. The cell
 * that is being written keeps the focus until the click: a note that loses it is drawn at another height, and the button
 * would move away from under the pointer. */
function Insert({ conversation, at, isLast }: InsertProps) {
  const where = isLast ? "" : " below";
  return (
    <div class={isLast ? "insert insert-last" : "insert"} onMouseDown={(event) => event.preventDefault()}>
      <Button size="small" icon={IconCode} aria-label={`Add code${where}`} onClick={() => insertCell(conversation, at, "code")}>Code</Button>
      <Button size="small" icon={IconNote} aria-label={`Add note${where}`} onClick={() => insertCell(conversation, at, "note")}>Note</Button>
    </div>
  );
}

interface CellBoxProps {
  conversation: Conversation;
  cell: Cell;
  number: number;
  count: number;
}

function CellBox({ conversation, cell, number, count }: CellBoxProps) {
  const box = useRef<HTMLLIElement>(null);
  const [isNear, come] = useNear(box, number);
  const kind = cell.kind.value;
  const Inside = kind === "code" ? CodeCell : NoteCell;
  const isDropBefore = gap.value === number - 1;
  const isDropAfter = gap.value === count && number === count;
  const classes = ["cell", `cell-${kind}`, `cell-is-${cell.phase.value}`, isDropBefore && "drop-before", isDropAfter && "drop-after"];
  const who = cell.who.value;
  const name = kind === "code" ? `Cell ${number}` : `Note ${number}`;
  return (
    <li ref={box} class={classes.filter(Boolean).join(" ")} onFocusIn={come} id={`cell-${cell.id}`} data-phase={cell.phase.value}>
      <div role="group" aria-label={who ? `${name} by ${nameOf(who)}` : name}>
        <div class="cell-box">
          <div class="cell-top">
            {who && <WhoBadge who={who} />}
            {isNear && <CellBar conversation={conversation} cell={cell} number={number} count={count} />}
          </div>
          <Inside key={kind} conversation={conversation} cell={cell} number={number} isNear={isNear} />
        </div>
        {number < count && isNear && <Insert conversation={conversation} at={number} />}
      </div>
    </li>
  );
}

/** Whatever comes into the conversation, from here, another tab or an agent, is read on by itself. */
function useResumed(conversation: Conversation): void {
  useEffect(() => {
    show(conversation);
    takeOver(conversation);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = effect(() => {
      for (const cell of conversation.cells.value) void cell.output.value;
      if (connection.value !== "on" && connection.value !== "connecting") return; // it is tried again when it is back
      clearTimeout(timer);
      timer = setTimeout(() => void resumeAll(conversation), 0);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [conversation]);
}

/** The run of an output that undid others, once its end is known; "" for all else. */
function rollerOf({ output }: Cell): string {
  const shown = output.value;
  void shown?.version.value;
  return (shown?.ending?.undone.length ?? 0) > 1 ? shown!.run! : "";
}

/** Going back, here or elsewhere, undoes what cells did; so does a run that takes earlier ones with it. */
function useUndone(conversation: Conversation): void {
  const head = useComputed(() => sessions.value.get(conversation.session.value ?? "")?.head).value;
  const rollers = useComputed(() => conversation.cells.value.map(rollerOf).filter(Boolean).join(" ")).value;
  useEffect(() => void markUndone(conversation), [conversation, head, rollers]);
}

/** One empty cell, and nothing typed elsewhere: the cursor waits in it. */
function useReady(conversation: Conversation): void {
  useEffect(() => {
    const [cell, ...others] = conversation.cells.peek();
    const isFree = document.activeElement === document.body || !document.activeElement?.matches("input, textarea, [contenteditable]");
    if (cell && others.length === 0 && cell.source.peek() === "" && isFree) focusCell(cell);
  }, [conversation]);
}

export function CellList({ conversation }: { conversation: Conversation }) {
  const cells = conversation.cells.value;
  useResumed(conversation);
  useReady(conversation);
  useUndone(conversation);
  useWorkspace(conversation);
  return (
    <div class="cells">
      {!conversation.sandbox.value && (
        <p class="cells-off"><IconInfo size={16} /> Running code is off here: cells are kept as they are.</p>
      )}
      <ol class="cell-list" aria-label="Cells" onDragOver={onDragOver} onDrop={(event) => onDrop(event, conversation)} onDragEnd={onDragEnd}>
        {cells.map((cell, i) => (
          <CellBox key={cell.id} conversation={conversation} cell={cell} number={i + 1} count={cells.length} />
        ))}
      </ol>
      <Insert conversation={conversation} at={cells.length} isLast />
      <p class="unseen" role="status">{said.value}</p>
    </div>
  );
}
