// SPDX-License-Identifier: Apache-2.0
// A policy with little time: what its end looks like.
import { says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

const CONFIG = `policies:
  default: {timeout: 1s, timeout_max: 1s}
`;

export default subject("timeouts", { config: CONFIG }, (test) => {
  test("a timeout is told in words, and what was before is there again", async (person) => {
    const cell = await person.converse();
    await cell.run("kept = 1");
    await cell.run("kept = 2\nwhile True: pass");
    await says(cell.output, /took longer than its timeout|timed out|stopped after/i);
    await says(cell.output, /raise timeout|do less/i);
    await says(cell.output, /rolled back/i);
    await sees(cell.output.getByRole("meter", { name: /time/i }));
    await person.picture("timeout");
    const next = await person.another();
    await next.run("kept");
    await says(next.output, "1");
  });
});
