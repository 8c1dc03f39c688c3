// SPDX-License-Identifier: Apache-2.0
// The editor of a cell: CodeMirror, with what a cell needs and nothing else. It knows nothing of runs; keys that mean
// something to the cell are handed to it.
import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, LanguageSupport } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Annotation, EditorState, type Extension, Prec } from "@codemirror/state";
import { EditorView, type KeyBinding, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { completionSource } from "./completion";
import type { Mark } from "./mark";
import { cspNonce, editorTheme } from "./theme";

export interface EditorAsk {
  text: string;
  kind: "code" | "note";
  label: string;
  hint: string; // shown while it is empty
  session: () => string | null;
  changed: (text: string) => void;
  focused: (isFocused: boolean) => void;
  keys: readonly KeyBinding[];
}

const fromOutside = Annotation.define<boolean>();

/** Text over a selection is put there by us. Left to itself, Chromium keeps the look of what was selected by a style
 * attribute, which the page's CSP forbids and reports; the editor would take it out again a moment later. */
function typeOver(event: InputEvent, view: EditorView): boolean {
  const { main, ranges } = view.state.selection;
  const text = event.data;
  if (event.inputType !== "insertText" || !text || event.isComposing || view.composing || main.empty || ranges.length > 1) return false;
  const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
  const isHandled = view.state.facet(EditorView.inputHandler).some((handler) => handler(view, main.from, main.to, text, insert));
  if (!isHandled) view.dispatch(insert());
  event.preventDefault();
  return true;
}

/** A key that does something ends the completion, also one that is still asked for. */
function closing(binding: KeyBinding): KeyBinding {
  const { run } = binding;
  if (!run) return binding;
  return {
    ...binding,
    run: (view) => {
      const isDone = run(view);
      if (isDone) closeCompletion(view);
      return isDone;
    },
  };
}

const forCode = (ask: EditorAsk): Extension => [
  new LanguageSupport(pythonLanguage),
  lineNumbers(),
  lintGutter(),
  indentUnit.of("    "),
  indentOnInput(),
  bracketMatching(),
  closeBrackets(),
  autocompletion({ override: [completionSource(ask.session)], icons: false, maxRenderedOptions: 60 }),
  keymap.of([{ key: "Tab", run: acceptCompletion }, ...closeBracketsKeymap, ...completionKeymap]),
];

export function makeEditor(parent: HTMLElement, ask: EditorAsk): EditorView {
  const nonce = cspNonce();
  const state = EditorState.create({
    doc: ask.text,
    extensions: [
      nonce ? EditorView.cspNonce.of(nonce) : [],
      Prec.highest(keymap.of(ask.keys.map(closing))),
      ask.kind === "code" ? forCode(ask) : [],
      history(),
      EditorView.domEventHandlers({
        beforeinput: (event, view) => typeOver(event as InputEvent, view),
        drop: (event) => event.dataTransfer?.types.includes("Files") ?? false, // uploaded by the zone around, not typed in
      }),
      EditorView.lineWrapping,
      EditorState.tabSize.of(4),
      placeholder(ask.hint),
      // Escape, then Tab, leaves the editor: CodeMirror's own way out for those who have no mouse.
      keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
      editorTheme,
      EditorView.contentAttributes.of({
        "aria-label": ask.label,
        "aria-description": "Tab indents. Press Escape, then Tab, to leave.",
        spellcheck: ask.kind === "note" ? "true" : "false",
      }),
      EditorView.updateListener.of((update) => {
        if (update.focusChanged) {
          // Not in the update itself. Completions that are on their way are called off as well: they would open over
          // whatever the person went on to.
          if (!update.view.hasFocus) queueMicrotask(() => closeCompletion(update.view));
          ask.focused(update.view.hasFocus);
        }
        if (!update.docChanged) return;
        if (!update.transactions.some((one) => one.annotation(fromOutside))) ask.changed(update.state.doc.toString());
        update.view.dispatch(setDiagnostics(update.state, []));
      }),
    ],
  });
  return new EditorView({ state, parent });
}

/** The text was changed elsewhere: only what differs is replaced, so that the cursor stays where it is. */
export function setText(view: EditorView, text: string): void {
  const old = view.state.doc.toString();
  if (old === text) return;
  let from = 0;
  const shorter = Math.min(old.length, text.length);
  while (from < shorter && old[from] === text[from]) from++;
  let end = 0;
  while (end < shorter - from && old[old.length - 1 - end] === text[text.length - 1 - end]) end++;
  view.dispatch({
    changes: { from, to: old.length - end, insert: text.slice(from, text.length - end) },
    annotations: fromOutside.of(true),
  });
}

export function setMark(view: EditorView, mark: Mark | null): void {
  const diagnostics: Diagnostic[] = mark ? [{ ...mark, severity: "error" }] : [];
  view.dispatch(setDiagnostics(view.state, diagnostics));
}

/** True where an arrow key would leave the text: the cell above or below is next. */
export function isAtEdge(view: EditorView, edge: "first" | "last"): boolean {
  const { main } = view.state.selection;
  if (!main.empty) return false;
  const line = view.state.doc.lineAt(main.head);
  return line.number === (edge === "first" ? 1 : view.state.doc.lines);
}
