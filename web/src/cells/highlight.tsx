// SPDX-License-Identifier: Apache-2.0
// Source with its words coloured, without an editor: what a cell shows until somebody comes near it, and what an approval
// shows. The same classes as in the editor.
import { pythonLanguage } from "@codemirror/lang-python";
import { classHighlighter, highlightCode } from "@lezer/highlight";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";

const COLOURED_MAX = 50_000; // characters; above that plain text is quicker and says the same

export function coloured(source: string): (string | VNode)[] {
  if (source.length > COLOURED_MAX) return [source];
  const parts: (string | VNode)[] = [];
  highlightCode(
    source, pythonLanguage.parser.parse(source), classHighlighter,
    (text, classes) => parts.push(classes ? <span key={parts.length} class={classes}>{text}</span> : text),
    () => parts.push("\n"),
  );
  return parts;
}

/** Python, coloured, to read and copy. */
export function Source({ source }: { source: string }) {
  const parts = useMemo(() => coloured(source), [source]);
  return <code class="source">{parts}</code>;
}
