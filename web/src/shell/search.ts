// SPDX-License-Identifier: Apache-2.0
import { signal } from "@preact/signals";

export const query = signal("");

/** Letters as people search for them: without case and accents. */
const plain = (text: string) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

/** Every word of the query is somewhere in the name. */
export function isFound(name: string, words: string): boolean {
  const text = plain(name);
  return plain(words).split(/\s+/).every((word) => text.includes(word));
}
