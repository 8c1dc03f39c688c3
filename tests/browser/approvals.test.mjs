// SPDX-License-Identifier: Apache-2.0
// A policy that holds runs until a person has looked at the code.
import { assert, eventually, gone, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

const CONFIG = `policies:
  careful: {base: default, approve: true}
`;
const CODE = "print('it ran', 6 * 7)  # held code";

export default subject("approvals", { config: CONFIG }, (test) => {
  const cardOf = (person) => person.page.getByRole("article").filter({ hasText: "held code" }).first();

  /** The page as `viv serve` prints its address. */
  async function openWithKey(person, daemon) {
    await person.open(`#approve=${daemon.key}`);
    assert.ok(!person.page.url().includes(daemon.key), "the key stays in the address");
    await person.role("link", /approvals/i).click();
  }

  test("Allow runs what was held, with the code shown before", async (person, daemon) => {
    await openWithKey(person, daemon);
    const run = person.agent.call("POST", "/v1/run", { code: CODE, policy: "careful" });
    const held = cardOf(person);
    await says(held, "print('it ran', 6 * 7)");
    await says(held, /robot/);
    await sees(person.role("link", /approvals.*1|1.*approvals/i));
    await person.picture("approvals");
    await held.getByRole("button", { name: /^allow/i }).click();
    const result = await run;
    assert.equal(result.verdict.kind, "ok");
    assert.equal(result.stdout, "it ran 42\n");
    await says(held, /allowed/i);
    await gone(held.getByRole("button", { name: /^deny/i }));
  });

  test("the key is taken where the page is open already", async (person, daemon) => {
    await person.open("#/status");
    await openWithKey(person, daemon);
    const run = person.agent.call("POST", "/v1/run", { code: CODE, policy: "careful" });
    const held = cardOf(person);
    await held.getByRole("button", { name: /^allow/i }).click();
    assert.equal((await run).verdict.kind, "ok");
  });

  test("Deny ends it with the reason, and nothing ran", async (person, daemon) => {
    await openWithKey(person, daemon);
    const run = person.agent.tool("run_python", { code: CODE, policy: "careful" });
    const held = cardOf(person);
    await sees(held);
    await held.getByRole("textbox", { name: /reason/i }).fill("not on a Sunday");
    await held.getByRole("button", { name: /^deny/i }).click();
    const result = await run;
    assert.equal(result.isError, true);
    assert.equal(result.structuredContent.verdict.kind, "denied");
    assert.match(result.structuredContent.verdict.message, /not on a Sunday/);
    assert.equal(result.structuredContent.stdout, "");
    await says(held, /You denied it[\s\S]*not on a Sunday/);
  });

  test("one that was denied elsewhere says so, and why; and so does its cell", async (person, daemon) => {
    await openWithKey(person, daemon);
    const session = await person.agent.call("POST", "/v1/sessions", { name: "careful work", policy: "careful" });
    const run = person.agent.run(session, CODE);
    const held = cardOf(person);
    await sees(held.getByRole("button", { name: /^deny/i }));
    const { runs } = await person.agent.call("GET", "/v1/runs");
    const { id } = runs.find(({ state }) => state === "held");
    const answer = await fetch(`${daemon.url}/v1/runs/${id}/deny`, {
      method: "POST", body: JSON.stringify({ why: "ask me first" }),
      headers: { "Content-Type": "application/json", "Vivarium-Approve": daemon.key },
    });
    assert.equal(answer.status, 200);
    await run;
    await says(held, /Decided elsewhere[\s\S]*denied[\s\S]*ask me first/i);
    await person.open(`#/s/${session.id}`);
    await says(person.cell(1).output, /Denied[\s\S]*ask me first/);
  });

  test("without the key the page shows that something is held, and cannot decide", async (person) => {
    await person.open("#/approvals");
    const run = person.agent.call("POST", "/v1/run", { code: CODE, policy: "careful" });
    await eventually(async () => (await person.page.getByRole("main").innerText()).match(/key|may not|cannot/i), "a word about the key");
    assert.equal(await person.button(/^allow/i).filter({ visible: true }).and(person.page.locator(":enabled")).count(), 0);
    const { runs } = await person.agent.call("GET", "/v1/runs");
    const row = runs.find(({ state }) => state === "held");
    await person.agent.call("DELETE", `/v1/runs/${row.id}`);
    await run;
  });
});
