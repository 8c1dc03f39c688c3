// SPDX-License-Identifier: Apache-2.0
// Notebooks in and out, as files of the browser.
import { keepOutputs } from "../cells/import";
import { fromNotebook, toNotebook } from "../cells/ipynb";
import type { Conversation } from "../state/conversation";
import { createConversation } from "../state/conversations";
import { failed, toast } from "../state/toasts";

const NOTEBOOK_MAX = 128 * 1024 * 1024; // before a byte of it is read; cells/ipynb.ts checks what is in it

/** A file name that every system and shell takes: the words of the name, which may be a line of code. */
export function fileNameOf(name: string): string {
  const words = name.normalize("NFC").match(/[\p{L}\p{M}\p{N}_]+/gu) ?? [];
  return `${[...words.join("-")].slice(0, 60).join("").replace(/-$/, "") || "notebook"}.ipynb`;
}

export function exportNotebook(conversation: Conversation): void {
  try {
    const url = URL.createObjectURL(new Blob([toNotebook(conversation)], { type: "application/x-ipynb+json" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = fileNameOf(conversation.name.peek());
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000); // the download has begun by then
  } catch (cause) {
    failed("export the notebook", cause);
  }
}

/** A notebook becomes a conversation of its own. */
export async function importNotebook(file: File): Promise<void> {
  try {
    if (file.size > NOTEBOOK_MAX) throw new Error(`it has ${Math.ceil(file.size / 1e6)} MB, and at most 128 are read`);
    const { name, cells, outputs } = fromNotebook(await file.text(), file.name);
    await keepOutputs(await createConversation({ name, cells }), outputs);
    toast(`Imported ${cells.length} ${cells.length === 1 ? "cell" : "cells"} from ${file.name}`, "good");
  } catch (cause) {
    failed(`import ${file.name}`, cause);
  }
}
