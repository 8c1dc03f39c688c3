// SPDX-License-Identifier: Apache-2.0
import { CompletionContext } from "@codemirror/autocomplete";
import { pythonLanguage } from "@codemirror/lang-python";
import { LanguageSupport } from "@codemirror/language";
import { diagnosticCount } from "@codemirror/lint";
import { EditorState, Text } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as calls from "../../src/api/calls";
import { completionSource, countCharacters, offsetOf } from "../../src/cells/completion";
import { makeEditor, setMark, setText } from "../../src/cells/editor";
import { markOf } from "../../src/cells/mark";
import { away } from "./parts";

vi.mock("../../src/api/calls");
const mocked = vi.mocked(calls);

let view: EditorView;
const changed = vi.fn();
function edit(text: string): EditorView {
  view = makeEditor(document.body, { text, kind: "code", label: "Code of cell 1", hint: "", session: () => null, changed, focused: () => {}, keys: [] });
  return view;
}
beforeEach(() => vi.resetAllMocks());
afterEach(() => view?.destroy());

describe("the editor", () => {
  it("has a name, and says how to leave it by keys", () => {
    const { contentDOM } = edit("x");
    expect(contentDOM.getAttribute("aria-label")).toBe("Code of cell 1");
    expect(contentDOM.getAttribute("aria-description")).toMatch(/Escape, then Tab/);
  });

  it("tells of what is typed, not of what came from elsewhere", () => {
    edit("one\ntwo");
    setText(view, "one\nTWO");
    expect(view.state.doc.toString()).toBe("one\nTWO");
    expect(changed).not.toHaveBeenCalled();
    view.dispatch({ changes: { from: 0, insert: "x" } });
    expect(changed).toHaveBeenCalledWith("xone\nTWO");
  });

  it("keeps the cursor when text changes elsewhere", () => {
    edit("aaa\nbbb");
    view.dispatch({ selection: { anchor: 7 } });
    setText(view, "aaa!\nbbb");
    expect(view.state.selection.main.anchor).toBe(8);
  });

  it("puts text over a selection itself, with the brackets that belong around it", () => {
    edit("abc");
    const type = (data: string) => {
      const event = new InputEvent("beforeinput", { inputType: "insertText", data, cancelable: true, bubbles: true });
      view.contentDOM.dispatchEvent(event);
      return event.defaultPrevented;
    };
    expect(type("x")).toBe(false); // without a selection the browser does it
    view.dispatch({ selection: { anchor: 0, head: 3 } });
    expect(type("(")).toBe(true);
    expect(view.state.doc.toString()).toBe("(abc)");
    view.dispatch({ selection: { anchor: 0, head: 5 } });
    type("z");
    expect(changed).toHaveBeenLastCalledWith("z");
  });

  it("marks an error, and takes the mark away at the next edit", () => {
    edit("x = 1\ny = x / 0");
    setMark(view, { from: 6, to: 15, message: "ZeroDivisionError: division by zero" });
    expect(diagnosticCount(view.state)).toBe(1);
    view.dispatch({ changes: { from: 0, insert: "#" } });
    expect(diagnosticCount(view.state)).toBe(0);
  });
});

describe("where a run went wrong", () => {
  const doc = Text.of(["x = 1", "    y = x / 0", "z"]);
  const error = { type: "ZeroDivisionError", message: "division by zero", traceback: 'File "<cell>", line 2\n    y = x / 0\n', line: 2 };

  it("is the line that the traceback names, without its indentation", () => {
    expect(markOf(error, doc)).toEqual({ from: 10, to: 19, message: "ZeroDivisionError: division by zero" });
  });

  it("is nowhere when there is no line, or the text is no longer the one that ran", () => {
    expect(markOf({ ...error, line: null }, doc)).toBe(null);
    expect(markOf({ ...error, line: 99 }, doc)).toBe(null);
    expect(markOf({ ...error, line: -1 }, doc)).toBe(null);
    expect(markOf({ ...error, line: 3 }, doc)).toBe(null);
  });
});

describe("completion", () => {
  const at = (text: string, isExplicit = false) => {
    const state = EditorState.create({ doc: text, extensions: [new LanguageSupport(pythonLanguage)] });
    return new CompletionContext(state, text.length, isExplicit);
  };
  const labels = async (text: string, session: string | null, isExplicit = false) =>
    (await completionSource(() => session)(at(text, isExplicit)))?.options.map(({ label }) => label) ?? [];

  it("counts characters as the daemon does", () => {
    expect(countCharacters("a😀b")).toBe(3);
    expect(offsetOf("a😀b", 2)).toBe(3);
    expect(offsetOf("ab", 9)).toBe(2);
  });

  it("asks the session with the line up to the cursor", async () => {
    mocked.complete.mockResolvedValue({ matches: ["head", "hist"], start: 7, end: 8 });
    const result = await completionSource(() => "ses_1")(at("import x\n'😀' + df.h"));
    expect(mocked.complete).toHaveBeenCalledWith("ses_1", "'😀' + df.h", 10, expect.anything());
    expect(result?.options.map(({ label }) => label)).toEqual(["head", "hist"]);
    expect(result?.from).toBe("import x\n".length + 8);
  });

  it("has Python's own words and names of the cell when there is no session, or it does not answer", async () => {
    expect(await labels("whi", null)).toContain("while");
    mocked.complete.mockRejectedValue(away);
    expect(await labels("total = 1\nto", "ses_1")).toContain("total");
  });

  it("is quiet where nothing was typed, unless it is asked for", async () => {
    expect(await labels("x = ", "ses_1")).toEqual([]);
    expect(mocked.complete).not.toHaveBeenCalled();
    mocked.complete.mockResolvedValue({ matches: ["x"], start: 4, end: 4 });
    expect(await labels("x = ", "ses_1", true)).toContain("x");
  });
});
