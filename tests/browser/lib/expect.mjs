// SPDX-License-Identifier: Apache-2.0
// Claims of a test about the page: each waits until it is true, and fails with what was there instead.
import assert from "node:assert/strict";

export const WAIT_MS = Number(process.env.VIV_WAIT_MS ?? 60_000);
const LOOK_MS = 40;

export { assert };

/** The first value of `look` that is true. For what the page gives no event of. */
export async function eventually(look, what, ms = WAIT_MS) {
  const end = performance.now() + ms;
  let last;
  for (;;) {
    try {
      last = await look();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) throw new Error(`${what} did not happen within ${ms / 1000} s; last: ${last}`);
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
}

export function sees(locator, ms = WAIT_MS) {
  return locator.first().waitFor({ state: "visible", timeout: ms });
}

export function gone(locator, ms = WAIT_MS) {
  return locator.first().waitFor({ state: "hidden", timeout: ms });
}

/** The text of something comes to match. Returns the text. */
export async function says(locator, pattern, ms = WAIT_MS) {
  let text = "";
  const matches = async () => {
    text = (await locator.first().innerText({ timeout: ms })).replaceAll("\u00a0", " ");
    return typeof pattern === "string" ? text.includes(pattern) : pattern.test(text);
  };
  try {
    await eventually(matches, "it", ms);
  } catch {
    throw new Error(`expected ${pattern} in ${locator}, which has: ${text.slice(0, 1500)}`);
  }
  return text;
}

export async function counts(locator, number, ms = WAIT_MS) {
  let found = -1;
  try {
    await eventually(async () => (found = await locator.count()) === number, "it", ms);
  } catch {
    throw new Error(`expected ${number} of ${locator}, found ${found}`);
  }
}
