// SPDX-License-Identifier: Apache-2.0
// A policy with little time: what its end looks like.
import { assert, eventually, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

const CONFIG = `policies:
  default: {timeout: 1s, timeout_max: 90s}
`;

export default subject("timeouts", { config: CONFIG }, (test) => {
  test("a timeout is told in words, and what was before is there again", async (person) => {
    const cell = await person.converse();
    await cell.run("kept = 1");
    await cell.run("kept = 2\nwhile True: pass");
    await says(cell.output, /took longer than its timeout|timed out|stopped after/i);
    await says(cell.output, /up to 1 min 30 s here\), or do less/i);
    await says(cell.output, /rolled back/i);
    await sees(cell.output.getByRole("meter", { name: /time/i }));
    await person.picture("timeout");
    const next = await person.another();
    await next.run("kept");
    await says(next.output, "1");
  });

  test("a run that took too long is run again with more time by one click", async (person) => {
    const cell = await person.converse();
    await cell.run("import time\ntime.sleep(2)\nprint('through')");
    await says(cell.output, /timed out/i);
    await cell.output.getByRole("button", { name: "Run again with 10 s" }).click();
    await says(cell.output, "through");
    await person.refresh(); // the cell keeps its time
    await sees(cell.button(/^Time limit of cell 1: 10 s/));
  });

  test("out of memory is said once, with the policy that has the most", async (person) => {
    const cell = await person.converse();
    await person.cell(1).button(/^Time limit of cell 1/).click();
    await person.role("menuitem", "30 s", { exact: true }).click();
    await cell.run("held = []\nwhile True: held.append(bytearray(b'x' * 2**24))");
    const text = await says(cell.output, "Out of memory");
    assert.equal(text.match(/limit of 512 MiB|limit is 512/g)?.length, 1, text);
    await says(cell.output, /It has 8 GiB of memory/);
    await person.picture("memory");
    await cell.output.getByRole("button", { name: "Use the policy heavy…" }).click();
    const dialog = person.page.getByRole("dialog");
    assert.equal(await dialog.getByLabel("Policy").inputValue(), "heavy");
    await sees(dialog.getByRole("button", { name: "Save and restart the session" }));
    await person.closeDialog();
  });

  test("a conversation chooses time, memory and Python, and its session is restarted with its files", async (person) => {
    const cell = await person.converse();
    await cell.run("kept = 1\nopen('made', 'w').write('by hand')");
    const session = () => person.page.evaluate(async () => (await (await fetch("/v1/conversations")).json()).conversations[0].session);
    const before = await session();
    await person.deed(/^Time, memory and Python/);
    const dialog = person.page.getByRole("dialog");
    await dialog.getByLabel("Time for each run").selectOption("10 s");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await sees(person.toast(/^Each run may take 10 s from now on/));
    await sees(person.toast("Variables and files stay."));
    await sees(cell.button(/^Time limit of cell 1: 10 s/));
    await cell.run("import time\ntime.sleep(2)\nprint('kept is', kept)");
    await says(cell.output, "kept is 1");

    await person.deed(/^Time, memory and Python/);
    await dialog.getByLabel("Policy").selectOption({ label: await dialog.locator("option", { hasText: /^heavy/ }).innerText() });
    await says(dialog, /it is restarted. Its files stay, .* Its variables go/);
    await person.picture("limits");
    let go = () => {};
    const gate = new Promise((resolve) => { go = resolve; });
    await person.page.route("**/restart", async (route) => { await gate; await route.continue(); });
    await dialog.getByRole("button", { name: "Save and restart the session" }).click();
    const status = person.page.locator("header").getByRole("status");
    await says(status, /^Restarting…$/);
    await person.picture("restarting");
    go();
    await says(status, /^Ready$/);
    const policy = async () => (await person.agent.call("GET", `/v1/sessions/${before}`)).policy;
    await eventually(async () => (await policy()) === "heavy", "the other policy");
    await sees(person.toast("The session was restarted with the policy heavy"));
    await sees(person.toast("Variables start anew: run the cells again. Files stay."));
    await cell.run("print('kept' in globals(), open('made').read())");
    await says(cell.output, "False by hand");
    assert.equal(await session(), before);
  });

  test("a run is measured against what it was allowed, before and after a change of policy", async (person) => {
    const memory = async (cell) => {
      await cell.output.getByRole("button", { name: "Details" }).click();
      return cell.output.getByRole("meter", { name: "Memory" }).getAttribute("aria-valuetext");
    };
    const first = await person.converse();
    await first.run("1");
    assert.match(await memory(first), / of 512 MiB$/);
    await person.deed(/^Time, memory and Python/);
    const dialog = person.page.getByRole("dialog");
    await dialog.getByLabel("Policy").selectOption("heavy");
    await dialog.getByRole("button", { name: "Save and restart the session" }).click();
    await sees(person.toast("The session was restarted with the policy heavy"));
    const second = await person.another();
    await second.run("2");
    assert.match(await memory(second), / of 8 GiB$/);
    assert.match(await first.output.getByRole("meter", { name: "Memory" }).getAttribute("aria-valuetext"), / of 512 MiB$/);
    await person.refresh();
    assert.match(await memory(first), / of 512 MiB$/);
    assert.match(await memory(second), / of 8 GiB$/);
  });

  for (const width of [390, 1280]) {
    test(`the boxes of the limits stay in their dialog, and settings say what a policy means: ${width} px`, async (person) => {
      await person.converse();
      await person.page.setViewportSize({ width, height: 800 });
      await person.deed(/^Time, memory and Python/);
      const dialog = person.page.getByRole("dialog");
      await sees(dialog.locator("option", { hasText: /loaded already/ }).first().locator("xpath=.."));
      const edges = await dialog.evaluate((box) => [...box.querySelectorAll("select")].map((one) => one.getBoundingClientRect().right - box.getBoundingClientRect().right));
      assert.equal(edges.length, 3);
      assert.ok(edges.every((past) => past < -10), String(edges));
      await says(dialog, "The policy default: 512 MiB, runs of 1 s, up to 1 min 30 s when asked.");
      await person.picture(`limits-${width}`);
      await person.closeDialog();
      await person.open("#/settings");
      const policy = person.page.getByLabel("Policy");
      await eventually(async () => (await policy.locator("option").allInnerTexts()).includes("heavy: 8 GiB, runs of 5 min, up to 30 min when asked"), "what a policy means");
      await says(person.page.getByRole("main"), "None reaches the network. The policy default: 512 MiB, runs of 1 s, up to 1 min 30 s when asked.");
      const right = await policy.evaluate((box) => box.getBoundingClientRect().right);
      assert.ok(right < width - 10, String(right));
      await person.picture(`settings-${width}`);
    });
  }
});
