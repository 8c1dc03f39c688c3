// SPDX-License-Identifier: Apache-2.0
// Runs that others make, over HTTP and MCP, while a person looks on.
import { counts, eventually, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

export default subject("agents", {}, (test) => {
  test("a run over HTTP appears live in the conversation that is open, with who made it", async (person) => {
    const cell = await person.converse();
    await cell.run("shared = 1");
    const [session] = (await person.agent.sessions()).filter(({ state }) => state !== "lost");
    const run = person.agent.run(session, "import time\nprint('an agent was here', flush=True)\ntime.sleep(1)\nshared += 1\nshared");
    const theirs = person.cell(2);
    await says(theirs.output, "an agent was here");
    await says(theirs.box, /robot/);
    await run;
    await theirs.over();
    await says(theirs.output, "2");
    await person.picture("agent");
    await person.refresh();
    await says(person.cell(2).output, "an agent was here");
  });

  test("so does one over MCP", async (person) => {
    await person.open();
    const session = await person.agent.session("robots at work");
    await person.open(`#/s/${session.id}`);
    await sees(person.heading);
    await person.agent.tool("run_python", { session_id: session.id, code: "print('by way of MCP')" });
    await says(person.page.getByRole("main"), "by way of MCP");
    await says(person.page.getByRole("main"), /mcp/i);
  });

  test("a run without a session appears where the first page says it does, and opens there", async (person) => {
    await person.open();
    const main = person.page.getByRole("main");
    await says(main, "what they run appears here as it happens");
    await person.agent.call("POST", "/v1/run", { code: "import math\nprint('one shot', math.pi)" });
    const row = main.getByRole("list", { name: /^runs/i }).getByRole("button", { name: /one shot/ });
    await says(row, "print('one shot', math.pi)");
    await says(row, /robot/);
    await person.picture("welcome-runs");
    await row.click();
    const dialog = person.page.getByRole("dialog");
    await says(dialog, "one shot 3.14");
    await person.closeDialog();
  });

  test("the page's own runs never come back as cells of somebody else, in no tab", async (person) => {
    const LATER_MS = 60_000; // by then a run that no cell claims would have become one
    await person.page.clock.install();
    const cell = await person.converse();
    await cell.run("print('one')");
    const other = await person.secondTab();
    await other.page.clock.install();
    await other.refresh();
    await sees(other.cell(1).editor);
    await cell.run("print('two')"); // edited, and run again: the first run has no cell any more
    const gone = await person.another();
    await gone.run("print('three')");
    await gone.box.hover();
    await gone.button(/^Delete cell 2/).click(); // nor has this one
    await counts(person.cells, 1);
    await counts(other.cells, 1);
    for (const who of [person, other]) {
      await who.page.clock.runFor(LATER_MS);
      await who.refresh();
      await says(who.cell(1).output, "two");
      await who.page.clock.runFor(LATER_MS);
      await counts(who.cells, 1);
    }
  });

  test("follow mode goes where an agent's run begins", async (person) => {
    await person.open("#/approvals");
    await person.role("switch", "Follow agents").click();
    await person.role("link", "Vivarium").click();
    const session = await person.agent.session("to be followed");
    await person.agent.run(session, "print('follow me')");
    await says(person.page.getByRole("main"), "follow me");
    await says(person.heading, "to be followed");
  });

  test("a session that an agent made is a conversation in the list", async (person) => {
    await person.open();
    const session = await person.agent.session("made elsewhere");
    await person.agent.run(session, "print('from elsewhere')");
    const row = person.row(/made elsewhere/);
    await sees(row);
    await row.click();
    await says(person.page.getByRole("main"), "from elsewhere");
    await eventually(async () => /made elsewhere/.test(await person.heading.innerText()), "its name");
  });
});
