// SPDX-License-Identifier: Apache-2.0
// Puts the outputs of a notebook's cells into the conversation that was made of it.
import * as calls from "../api/calls";
import type { Output } from "../output/model";
import { saveOutput } from "../output/saved";
import type { Conversation } from "../state/conversation";
import { failed } from "../state/toasts";
import { placeOutput } from "./follow";

/** Shows the outputs that came with a notebook, and keeps them with its conversation. */
export async function keepOutputs(conversation: Conversation, outputs: ReadonlyMap<string, Output>): Promise<void> {
  for (const cell of conversation.cells.peek()) {
    const output = outputs.get(cell.id);
    if (output) placeOutput(cell, output);
  }
  try {
    for (const [id, output] of outputs) await calls.putOutput(conversation.id, id, saveOutput(output));
  } catch (cause) {
    failed("keep the outputs of the notebook", cause);
  }
}
