// SPDX-License-Identifier: Apache-2.0
// What the menus and keys of the shell do.
import { signal } from "@preact/signals";
import * as calls from "../api/calls";
import { focusCell } from "../cells/focus";
import { markAllUndone } from "../cells/marks";
import { newId, type Conversation } from "../state/conversation";
import { createConversation, current, deleteConversation, renameConversation } from "../state/conversations";
import { closeDrawer } from "../state/layout";
import { failed, toast } from "../state/toasts";
import { askConfirm } from "../ui";

export const isMaking = signal(false); // a conversation is being made: one click is enough

/** Makes a conversation with one empty cell, ready to type. */
export async function startConversation(): Promise<void> {
  if (isMaking.peek()) return;
  isMaking.value = true;
  try {
    const { cells } = await createConversation({ cells: [{ id: newId(), kind: "code", source: "", run: null }] });
    closeDrawer();
    focusCell(cells.peek()[0]!);
  } catch (cause) {
    failed("make a conversation", cause);
  } finally {
    isMaking.value = false;
  }
}

export async function rename(id: string, name: string): Promise<void> {
  try {
    await renameConversation(id, name);
  } catch (cause) {
    failed("rename the conversation", cause);
  }
}

export async function askDelete(id: string, name: string): Promise<void> {
  const isSure = await askConfirm({
    title: "Delete this conversation?",
    text: `"${name}" goes with its cells and outputs, and its session with its variables and files. There is no way back.`,
    action: "Delete",
    tone: "danger",
  });
  if (!isSure) return;
  try {
    await deleteConversation(id);
    toast(`Deleted "${name}"`, "good");
  } catch (cause) {
    failed(`delete "${name}"`, cause);
  }
}

export function switchSandbox(conversation: Conversation, isOn: boolean): void {
  conversation.sandbox.value = isOn;
  conversation.touch();
  toast("Internal tools configuration updated", "good", isOn ? "Code runs in this conversation, behind the walls of its sandbox" : "Cells of this conversation are kept, and do not run");
}

/** A new interpreter: the files stay, the variables go. */
export async function askRestart(conversation: Conversation): Promise<void> {
  const session = conversation.session.peek();
  if (!session) return;
  const isSure = await askConfirm({
    title: "Restart the session?",
    text: "Its variables go. Files stay, and so do the cells and what they showed; states in the timeline that are on disk stay, too.",
    action: "Restart",
    tone: "danger",
  });
  if (!isSure) return;
  await restart(conversation);
}

const isGone = (cause: unknown) => cause instanceof Error && "status" in cause && cause.status === 404;

/** Without asking, and with another policy or Python where they are named. False: the session is what it was. */
export async function restart(conversation: Conversation, choice?: { policy: string; runtime: string }): Promise<boolean> {
  const session = conversation.session.peek()!;
  let isThere = false; // then a 404 is about the choice
  try {
    await calls.keepSession(session); // one that was made before sessions were kept
    isThere = true;
    await calls.restartSession(session, choice);
  } catch (cause) {
    if (isThere || !isGone(cause)) {
      failed("restart the session", cause);
      return false;
    }
    conversation.session.value = null;
  }
  markAllUndone(conversation);
  toast("The session is restarted: run the cells again", "good");
  return true;
}

/** For those who press it out of habit. */
export async function saveNow(): Promise<void> {
  const open = current.peek();
  if (!open) return;
  await open.save();
  if (open.saving.peek() === "saved") toast("Everything is saved; it happens by itself", "good");
}
