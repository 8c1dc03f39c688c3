// SPDX-License-Identifier: Apache-2.0
// Completions at the cursor: names that live in the session, asked for there, and Python's own words, known here.
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { pickedCompletion } from "@codemirror/autocomplete";
import { globalCompletion, localCompletionSource } from "@codemirror/lang-python";
import type { EditorView } from "@codemirror/view";
import * as calls from "../api/calls";
import { sessions } from "../state/feed";

const ANSWER_MS = 1500; // a session that is busy must not hold up Python's own words
const LINE_MAX = 4000; // characters before the cursor that are sent

/** The daemon counts characters, the editor counts halves of them where they are rare. */
export function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Where `text` has as many characters as `count`, in the editor's measure. */
export function offsetOf(text: string, count: number): number {
  let offset = 0;
  for (const character of text) {
    if (count-- <= 0) break;
    offset += character.length;
  }
  return offset;
}

/** Puts a match in place of what stands there; what the editor closed by itself already (`"]`) is not put twice. */
function put(view: EditorView, completion: Completion, from: number, to: number): void {
  const text = completion.label;
  const after = view.state.sliceDoc(to, to + 2);
  const closed = ["\"]", "']", "\"", "'"].find((end) => after.startsWith(end) && text.endsWith(end));
  view.dispatch({
    changes: { from, to: to + (closed?.length ?? 0), insert: text },
    selection: { anchor: from + text.length },
    annotations: pickedCompletion.of(completion),
    userEvent: "input.complete",
  });
}

async function fromSession(context: CompletionContext, session: string): Promise<CompletionResult | null> {
  const line = context.state.doc.lineAt(context.pos);
  const text = line.text.slice(0, context.pos - line.from).slice(-LINE_MAX);
  const start = context.pos - text.length;
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), ANSWER_MS);
  context.addEventListener("abort", () => controller.abort());
  try {
    const answer = await calls.complete(session, text, countCharacters(text), controller.signal);
    if (!Array.isArray(answer.matches) || answer.matches.length === 0) return null;
    const labels = answer.matches.filter((match) => typeof match === "string");
    const isPlain = labels.every((label) => /^[\w.]*$/.test(label));
    return {
      from: start + offsetOf(text, answer.start),
      options: labels.map((label) => ({ label, apply: put, boost: 1 })),
      validFor: isPlain ? /^[\w.]*$/ : undefined,
    };
  } catch {
    return null; // away, ended, or slow: Python's own words are still there
  } finally {
    clearTimeout(timer);
  }
}

/** Adds the completions of the other sources that replace the same text and are not there yet. */
function joined(first: CompletionResult | null, others: (CompletionResult | null)[]): CompletionResult | null {
  const results = [first, ...others].filter((result) => result !== null);
  const [base] = results;
  if (!base) return null;
  const options = new Map<string, Completion>();
  for (const result of results) {
    if (result.from !== base.from) continue;
    for (const option of result.options) if (!options.has(option.label)) options.set(option.label, option);
  }
  return { ...base, options: [...options.values()] };
}

export function completionSource(sessionNow: () => string | null) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const isAfter = context.matchBefore(/[\w.]$|\[["'][^"']*$|\b(?:import|from)\s+$/);
    if (!isAfter && !context.explicit) return null;
    const session = sessionNow();
    const isAwake = session !== null && sessions.peek().get(session)?.state !== "asleep"; // completing is no reason to wake it
    const live = isAwake ? await fromSession(context, session) : null;
    const own = await Promise.all([localCompletionSource(context), globalCompletion(context)]);
    return joined(live, own);
  };
}
