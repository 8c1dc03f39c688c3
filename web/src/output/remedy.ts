// SPDX-License-Identifier: Apache-2.0
// Remedies for a verdict, in the page's own words: the daemon's remedies name fields of its API. One row per key of
// session/remedy.c.
import type { Verdict } from "../api/types";
import { formatSpan } from "./format";

type Words = (detail: string) => string;

const WORDS: Readonly<Record<string, Words>> = {
  timeout: (most) => `Give the cell more time (up to ${formatSpan(most)} here), or do less in one cell.`,
  timeout_max: (most) => `Do less in one cell: this policy allows no more than ${formatSpan(most)}.`,
  memory: () => "Load less at a time (chunks, fewer columns, smaller types; files in /workspace and /tmp count, too), or give the session more memory.",
  output: () => "Print less, or write to a file below /workspace: it appears under Files.",
  disk: () => "Write less, or delete files under Files.",
  disk_inputs: () => "Send less: it does not fit on the sandbox's disk.",
  crash: () => "A C library crashed: try smaller input, another version of it, or another way.",
  syscall: () => "The code asked for a system call that no sandbox has.",
  backend: () => "The status page shows what this host lacks.",
  again: () => "Run it again.",
  unread: () => "Go back to another state under Timeline, or restart the session, which keeps its files if they can be read.",
  remote: () => "Ask whoever runs the machine that does these runs.",
  denied: () => "A person decides what runs under this policy: ask, or change the code.",
  guard: () => "Remove it, or use a policy whose guard allows it.",
  module: (name) => `${name} is not in this runtime. Use a runtime that has it, or ask whoever runs this server for one.`,
  stdin: () => "A cell has no keyboard to read from: set a variable in place of input().",
  no_data: (name) => `${name} is set when data comes with a run. Run the cell that makes it first.`,
  fresh: (name) => `The session was started anew, and ${name} is not in it: run the cells that make it again.`,
  damaged: () => "The code has changed what Python itself stands on (builtins, sys.modules): leave it as it is. If the session stays so, go back to an older state, or start it anew.",
  descriptors: () => "Close files that are open.",
  network: () => "This sandbox has no network: upload what the code needs under Files.",
  permissions: () => "The permissions of the file, or of its folder, forbid it; os.chmod changes them.",
  read_only: () => "Only /workspace and /tmp can be written.",
};

/** A run found Python itself damaged, and the session went back to before that. */
export const tellHealed = (undone: number) => (undone > 1
  ? "An earlier run had changed what Python itself stands on (builtins, sys.modules). It is undone, and the session is well again: run this cell again."
  : "Code changed what Python itself stands on (builtins, sys.modules). This run is undone, and the session is well again: run the cell again, without such a change.");

/** "" where there is nothing to do; the daemon's words for a key that is not known here. */
export function tellRemedy(verdict: Verdict): string {
  const key = verdict.remedy_key ?? "";
  return Object.hasOwn(WORDS, key) ? WORDS[key]!(verdict.remedy_detail ?? "") : verdict.remedy;
}
