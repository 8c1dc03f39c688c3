// SPDX-License-Identifier: Apache-2.0
// What the menus and keys of the shell do.
import { signal } from "@preact/signals";
import * as calls from "../api/calls";
import { focusCell } from "../cells/focus";
import type { Session } from "../api/types";
import { markAllUndone } from "../cells/marks";
import { newId, type Conversation } from "../state/conversation";
import { createConversation, current, deleteConversation, renameConversation } from "../state/conversations";
import { sessions } from "../state/feed";
import { closeDrawer } from "../state/layout";
import { whileRestarting } from "../state/session";
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
    text: `"${name}" goes with its cells and outputs, and its session with its variables and files. Files that it shares with a branch, or with the conversation that it branched from, stay there. There is no way back.`,
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

const STARTS_ANEW = "Variables start anew: run the cells again. Files stay.";

/** The changes that a restart has brought, in a sentence. */
function restartedText(before: Session | undefined, after: Session): string {
  const changes = [
    before?.policy !== after.policy && `the policy ${after.policy}`, before?.runtime !== after.runtime && `the runtime ${after.runtime}`,
  ].filter(Boolean);
  return changes.length > 0 && before ? `The session was restarted with ${changes.join(" and ")}` : "The session was restarted";
}

/** Without asking, and with another policy or Python where they are named. False: the session is what it was. */
export function restart(conversation: Conversation, choice?: { policy: string; runtime: string }): Promise<boolean> {
  return whileRestarting(conversation, async () => {
    const session = conversation.session.peek()!;
    const before = sessions.peek().get(session);
    let isThere = false; // then a 404 is about the choice
    try {
      await calls.keepSession(session); // one that was made before sessions were kept
      isThere = true;
      const after = await calls.restartSession(session, choice);
      markAllUndone(conversation);
      toast(restartedText(before, after), "good", STARTS_ANEW);
      return true;
    } catch (cause) {
      if (isThere || !isGone(cause)) {
        failed("restart the session", cause);
        return false;
      }
    }
    conversation.session.value = null;
    conversation.undoAll("ended");
    toast("The session had ended: the next run makes a new one", "info", "Its variables and files are gone.");
    return true;
  });
}

/** For those who press it out of habit. */
export async function saveNow(): Promise<void> {
  const open = current.peek();
  if (!open) return;
  await open.save();
  if (open.saving.peek() === "saved") toast("Everything is saved; it happens by itself", "good");
}
