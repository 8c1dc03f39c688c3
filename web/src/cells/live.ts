// SPDX-License-Identifier: Apache-2.0
// Facts about a cell that last only while the page is open: whether its run seems to wait for input, whether it is being
// stopped, and what to say beside its output.
import { signal, type Signal } from "@preact/signals";
import type { Cell } from "../state/conversation";

export interface Live {
  isAsked: boolean; // its next run was asked for and is not here yet: its last one has no say any more
  readonly asksInput: Signal<boolean>; // stays on until the run is over
  readonly isStopping: Signal<boolean>;
  readonly notice: Signal<string>; // "" or a sentence: why there is no output, or why it did not run
}

const lives = new WeakMap<Cell, Live>();

export function liveOf(cell: Cell): Live {
  let live = lives.get(cell);
  if (!live) {
    live = { isAsked: false, asksInput: signal(false), isStopping: signal(false), notice: signal("") };
    lives.set(cell, live);
  }
  return live;
}

/** A cell whose run has not ended, as far as the page knows. */
export function isOn(cell: Cell): boolean {
  const phase = cell.phase.value;
  return phase === "held" || phase === "waiting" || phase === "running";
}
