// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { assert, eventually, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

const SECRET = "viv_browser-test-secret";
const CONFIG = `tokens:
  - name: alice
    sha256: ${createHash("sha256").update(SECRET).digest("hex")}
`;

export default subject("status", { config: CONFIG }, (test) => {
  async function enter(person) {
    person.watch.expectsAbsence(); // the page asks before it has the token
    person.agent = person.agentWith(SECRET);
    await person.open("#/settings");
    await person.page.getByLabel(/token/i).first().fill(SECRET);
    await person.page.keyboard.press("Enter");
  }

  test("without the token the page says what it needs, and with it everything is there", async (person) => {
    person.watch.expectsAbsence();
    await person.open();
    await sees(person.page.getByText(/token/i));
    await enter(person);
    const cell = await person.converse();
    await cell.run("'let in'");
    await says(cell.output, "let in");
    await person.refresh();
    await says(cell.output, "let in");
  });

  test("walls, backends, runtimes, packages, pools, metrics and the audit tail", async (person) => {
    await enter(person);
    const cell = await person.converse();
    await cell.run("1");
    await person.role("link", /^status/i).click();
    const main = person.page.getByRole("main");
    for (const name of [/walls/i, /backends/i, /runtimes/i, /packages/i, /pools/i, /audit/i]) await sees(person.role("heading", name));
    await says(main, "seccomp");
    await says(main, "landlock");
    await says(main, "namespace");
    await says(main, /matplotlib|numpy/i);
    await says(main, /alice/);
    const status = await person.agent.call("GET", "/v1/status");
    for (const { name, why } of status.wall_facts) {
      await says(main, name);
      if (why) await says(main, why);
    }
    for (const { name, why } of status.backends) {
      await says(main, name);
      if (why) await says(main, why);
    }
    await person.picture("status");
  });

  test("the pools are a table of what is ready and what is to be", async (person) => {
    await enter(person);
    await person.agent.call("POST", "/v1/run", { code: "1" }); // until something ran there is no pool
    await person.role("link", /^status/i).click();
    const table = person.role("region", "Sandboxes of each runtime").getByRole("table");
    await sees(table);
    const { pools } = await person.agent.call("GET", "/v1/status");
    assert.ok(pools.length > 0);
    assert.equal(await table.getByRole("row").count(), 1 + pools.length);
    for (const [i, { runtime, keep }] of pools.entries()) {
      const cells = await table.getByRole("row").nth(1 + i).getByRole("cell").allInnerTexts();
      assert.deepEqual([cells[0], cells[3]], [runtime, String(keep)]);
    }
  });

  test("a run shows in the audit tail and the numbers while the page is open", async (person) => {
    await enter(person);
    await person.role("link", /^status/i).click();
    await sees(person.role("heading", /audit/i));
    const result = await person.agent.call("POST", "/v1/run", { code: "raise SystemExit(3)" });
    await eventually(async () => (await person.page.getByRole("main").innerText()).includes(result.id.slice(0, 10)) ||
      /\bexit\b/.test(await person.page.getByRole("main").innerText()), "the run in the audit tail");
  });

  test("the theme is the person's, and stays after a refresh", async (person) => {
    await enter(person);
    const colour = () => person.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const choose = (name) => person.role("radio", name).check({ force: true });
    await choose("Light");
    const light = await colour();
    await choose("Dark");
    await eventually(async () => (await colour()) !== light, "another colour");
    const dark = await colour();
    await person.picture("settings-dark");
    await person.refresh();
    assert.equal(await colour(), dark);
    await choose("System");
    for (const [colorScheme, wanted] of [["dark", dark], ["light", light]]) {
      await person.page.emulateMedia({ colorScheme });
      await eventually(async () => (await colour()) === wanted, `the system's ${colorScheme}`);
    }
    await person.page.emulateMedia({ colorScheme: "dark" });
    await choose("Light");
    await eventually(async () => (await colour()) === light, "light, whatever the system says");
  });
});
