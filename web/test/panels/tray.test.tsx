// SPDX-License-Identifier: Apache-2.0
import { act, cleanup, render, screen } from "@testing-library/preact";
import { afterEach, describe, expect, it } from "vitest";
import { UploadTray } from "../../src/panels/tray";
import { Upload, uploads, type UploadState } from "../../src/panels/upload";
import { current } from "../../src/state/conversations";
import { conversationOf } from "../cells/parts";

function show(...states: UploadState[]): readonly Upload[] {
  const conversation = conversationOf([]);
  current.value = conversation;
  uploads.value = states.map((state, i) => {
    const upload = new Upload(conversation, new File(["x"], `${i}.bin`), `${i}.bin`);
    upload.state.value = state;
    return upload;
  });
  render(<UploadTray />);
  return uploads.value;
}

afterEach(() => {
  cleanup();
  current.value = null;
  uploads.value = [];
});

describe("the tray of uploads", () => {
  it("says for which answer an upload waits, until it is given", () => {
    const [first] = show({ at: "asks" }, { at: "waiting" });
    expect(screen.getByText("Waits for your answer about 0.bin")).toBeTruthy();
    act(() => { first!.state.value = { at: "sending", sent: 0 }; });
    expect(screen.queryByText(/Waits for your answer/)).toBeNull();
    expect(screen.getByText("Waiting")).toBeTruthy();
  });

  it("calls ready only what is of use, and says why another is not", () => {
    show({ at: "done", starter: null, note: "" }, { at: "done", starter: null, note: "The file is empty" }, { at: "failed", message: "the workspace is full", remedy: "" });
    expect(screen.getAllByText(/ready to use/)).toHaveLength(1);
    expect(screen.getByText("The file is empty")).toBeTruthy();
    expect(screen.getByRole("alert").textContent).toContain("Not uploaded: the workspace is full");
  });
});
