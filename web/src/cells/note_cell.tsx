// SPDX-License-Identifier: Apache-2.0
import type { KeyBinding } from "@codemirror/view";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Cell, Conversation } from "../state/conversation";
import { IconButton } from "../ui";
import { IconCheck, IconPencil } from "../ui/icons";
import { CellEditor } from "./cell_editor";
import { goOn, moveBy } from "./edit";
import { focusNextPart, takesFocus } from "./focus";
import { movedBy, MOVE_DOWN, MOVE_UP, RUN_HERE, RUN_HERE_TOO, RUN_ON } from "./keys";
import { markdownHtml } from "./markdown";

interface NoteCellProps {
  conversation: Conversation;
  cell: Cell;
  number: number;
  isNear: boolean;
}

interface NoteViewProps {
  conversation: Conversation;
  cell: Cell;
  isNear: boolean;
  edit: () => void;
}

function NoteView({ conversation, cell, isNear, edit }: NoteViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const text = cell.source.value;
  const html = useMemo(() => (isNear ? markdownHtml(text) : ""), [isNear, text]);
  useLayoutEffect(() => takesFocus(cell, () => box.current?.focus()), [cell]);
  return (
    <div ref={box} class="note" role="group" tabIndex={0} aria-label="Press Enter to edit"
      onDblClick={edit}
      onKeyDown={(event) => {
        if (event.target !== event.currentTarget) return;
        const step = movedBy(event);
        if (!step && (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        if (step) moveBy(conversation, cell, step);
        else edit();
      }}>
      {text.trim() === "" && <p class="cell-hint">An empty note. Double-click to write.</p>}
      {isNear ? <div class="prose" dangerouslySetInnerHTML={{ __html: html }} /> : <div class="note-plain">{text}</div>}
    </div>
  );
}

export function NoteCell({ conversation, cell, number, isNear }: NoteCellProps) {
  const [isEdited, setEdited] = useState(cell.source.peek() === "");
  const done = () => setEdited(false);
  const edit = () => {
    setEdited(true);
    focusNextPart(cell);
  };

  const keys = useMemo<KeyBinding[]>(() => {
    const end = () => {
      done();
      focusNextPart(cell);
      return true;
    };
    return [
      { key: RUN_ON.key, run: () => { done(); goOn(conversation, cell); return true; } },
      { key: RUN_HERE.key, run: end },
      { key: RUN_HERE_TOO.key, run: end },
      { key: "Escape", run: end },
      { key: MOVE_UP.key, run: () => { moveBy(conversation, cell, -1); return true; } },
      { key: MOVE_DOWN.key, run: () => { moveBy(conversation, cell, 1); return true; } },
    ];
  }, [conversation, cell]);

  // Going elsewhere on the page ends the writing; going to another window does not.
  const left = () => {
    if (document.hasFocus() && cell.source.peek().trim() !== "") done();
  };

  return (
    <>
      <div class="cell-side">
        {isEdited ? <IconButton icon={IconCheck} tone="plain" class="cell-run" label={`Show note ${number}`} keys={RUN_ON.shown} onClick={done} />
          : <IconButton icon={IconPencil} class="cell-run" label={`Edit note ${number}`} keys="Enter" onClick={edit} />}
        <span class="cell-number" aria-hidden="true">{number}</span>
      </div>
      <div class="cell-main">
        {isEdited ? <CellEditor conversation={conversation} cell={cell} label={`Text of note ${number}`} hint="A note, in Markdown" keys={keys} isNear={isNear} left={left} />
          : <NoteView conversation={conversation} cell={cell} isNear={isNear} edit={edit} />}
      </div>
    </>
  );
}
