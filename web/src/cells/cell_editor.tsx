// SPDX-License-Identifier: Apache-2.0
// The text of a cell. It becomes an editor when it comes near the screen or is asked for; until then it is plain text in
// the same place.
import { completionStatus } from "@codemirror/autocomplete";
import type { EditorView, KeyBinding } from "@codemirror/view";
import { effect } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RunError } from "../api/types";
import type { Cell, Conversation } from "../state/conversation";
import { goBeside } from "./edit";
import { isAtEdge, makeEditor, setMark, setText } from "./editor";
import { takesFocus } from "./focus";
import { lastError, markOf } from "./mark";

interface CellEditorProps {
  conversation: Conversation;
  cell: Cell;
  label: string;
  hint: string;
  keys: readonly KeyBinding[]; // read once
  isNear: boolean;
  left?: () => void; // the focus went elsewhere
}

function edgeKeys(conversation: Conversation, cell: Cell): KeyBinding[] {
  const go = (step: -1 | 1) => (view: EditorView) =>
    completionStatus(view.state) === null && isAtEdge(view, step < 0 ? "first" : "last") && goBeside(conversation, cell, step);
  return [{ key: "ArrowUp", run: go(-1) }, { key: "ArrowDown", run: go(1) }];
}

/** Underlines the line at which the run went wrong, once for each error: an edit takes the mark away for good. */
function showMarks(view: EditorView, cell: Cell): () => void {
  let shown: RunError | null = null;
  return effect(() => {
    const output = cell.output.value;
    void output?.version.value;
    const error = lastError(output);
    if (error === shown) return;
    shown = error;
    setMark(view, markOf(error, view.state.doc));
  });
}

export function CellEditor({ conversation, cell, label, hint, keys, isNear, left }: CellEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const onMade = useRef<((view: EditorView) => void) | null>(null);
  const [isAsked, setAsked] = useState(false);
  const isMade = isNear || isAsked;

  useLayoutEffect(() => {
    if (!isMade) return;
    const made = makeEditor(place.current!, {
      text: cell.source.peek(),
      kind: cell.kind.peek(),
      label, hint,
      session: () => conversation.session.peek(),
      changed: (text) => {
        cell.source.value = text;
        conversation.touch();
      },
      focused: (isFocused) => { if (!isFocused) left?.(); },
      keys: [...keys, ...edgeKeys(conversation, cell)],
    });
    view.current = made;
    const stopText = effect(() => setText(made, cell.source.value));
    const stopMarks = showMarks(made, cell);
    onMade.current?.(made);
    onMade.current = null;
    return () => {
      stopText();
      stopMarks();
      made.destroy();
      view.current = null;
    };
  }, [isMade]);

  const withEditor = (deed: (view: EditorView) => void) => {
    if (view.current) return deed(view.current);
    onMade.current = deed;
    setAsked(true);
  };

  useLayoutEffect(() => takesFocus(cell, (at) => withEditor((made) => {
    made.dispatch({ selection: { anchor: at === "start" ? 0 : made.state.doc.length }, scrollIntoView: true });
    made.focus();
  })), [cell]);

  // A screen reader's name goes with the cell's number, which changes when cells move.
  useLayoutEffect(() => view.current?.contentDOM.setAttribute("aria-label", label), [label, isMade]);

  return (
    <div ref={place} class={`cell-editor cell-editor-${cell.kind.value}`}>
      {!isMade && (
        <pre class="cell-plain" tabIndex={0} role="textbox" aria-multiline="true" aria-label={label}
          onFocus={() => withEditor((made) => made.focus())}
          onPointerDown={(event) => {
            const at = { x: event.clientX, y: event.clientY };
            event.preventDefault();
            withEditor((made) => {
              made.focus();
              made.dispatch({ selection: { anchor: made.posAtCoords(at, false) } });
            });
          }}>
          {cell.source.value === "" ? <span class="cell-hint">{hint}</span> : cell.source.value.replace(/\n$/, "\n\n")}
        </pre>
      )}
    </div>
  );
}
