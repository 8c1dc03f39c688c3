// SPDX-License-Identifier: Apache-2.0
// How the editor looks: the page's own colours, so that it follows the theme by itself. The colours of words are classes
// (`tok-…`) in cells.css, shared with source that is shown without an editor.
import { syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "transparent", fontSize: "13.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 12px 0 6px" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--soft)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 6px 0 8px", minWidth: "26px" },
  ".cm-gutter-lint": { width: "14px" },
  ".cm-gutter-lint .cm-gutterElement": { display: "flex", alignItems: "center", justifyContent: "center", padding: "0" },
  ".cm-lint-marker": { width: "7px", height: "7px", borderRadius: "50%" },
  ".cm-lint-marker-error": { content: "normal", backgroundColor: "var(--bad)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)", outline: "1px solid var(--accent)" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--bad-soft)" },
  ".cm-content ::selection, .cm-content::selection": { backgroundColor: "var(--code-selection)" },
  ".cm-placeholder": { color: "var(--soft)" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textDecorationSkipInk: "none",
    textUnderlineOffset: "3px",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "6px",
    boxShadow: "0 6px 20px rgb(0 0 0 / 0.16)", maxWidth: "min(90vw, 560px)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "15em" },
  ".cm-tooltip-autocomplete ul li": { padding: "2px 10px 2px 6px" },
  ".cm-tooltip.cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-text)" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.85" },
  ".cm-diagnostic": { padding: "6px 10px", fontFamily: "var(--mono)", fontSize: "12.5px", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)" },
});

export const editorTheme = [look, syntaxHighlighting(classHighlighter)];

/** The nonce with which the editor's styles may be added to the page; none while the page is served without one. */
export function cspNonce(): string {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
  return nonce === "__NONCE__" ? "" : nonce;
}
