// SPDX-License-Identifier: Apache-2.0
import { assert, counts, eventually, gone, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

export default subject("conversations", {}, (test) => {
  test("the first page teaches: four examples, one click away from a result", async (person) => {
    await person.open();
    const examples = person.button(/^example/i);
    await counts(examples, 4);
    await person.picture("welcome");
    await examples.first().click();
    await sees(person.outputs);
    await gone(person.button(/^interrupt/i));
  });

  test("a new one is listed, and has its name after a rename, a refresh and a search", async (person) => {
    await person.open();
    await person.converse();
    const name = await person.heading.innerText();
    await person.rename(name.trim(), "Ants in June");
    await says(person.heading, "Ants in June");
    await person.converse();
    await person.refresh();
    await sees(person.row("Ants in June"));

    const search = person.role("searchbox", /search/i);
    await search.fill("june");
    await counts(person.sidebar.getByRole("listitem"), 1);
    await search.fill("no such thing");
    await gone(person.row("Ants in June"));
    await search.fill("");
    await person.row("Ants in June").click();
    await says(person.heading, "Ants in June");
  });

  test("a search finds what is written in cells, and shows the line", async (person) => {
    await person.open();
    const cell = await person.converse();
    await cell.write("import math\nvoltage = math.sqrt(2) # Überspannung");
    await person.rename((await person.heading.innerText()).trim(), "Circuits");
    await person.converse();
    const note = await person.another("note");
    await note.write("Nothing but <b>ferns</b>");
    await person.rename((await person.heading.innerText()).trim(), "Walks");

    const search = person.role("searchbox", /search/i);
    await search.fill("uberspannung sqrt");
    await says(person.row("Circuits"), "voltage = math.sqrt(2)");
    await gone(person.row("Walks"));
    await search.fill("walks FERNS");
    await says(person.row("Walks"), "Nothing but <b>ferns</b>");
    await gone(person.row("Circuits"));
    await person.picture("search");
    await search.fill("in no cell at all");
    await says(person.sidebar.getByRole("status"), "Nothing is called that");
    await search.fill("voltage");
    await person.row("Circuits").click();
    await says(person.heading, "Circuits");
  });

  test("a deleted one is gone, and its session with it", async (person) => {
    person.watch.expects(/^409 GET .*the session was closed/); // the panel may be asking for variables just then
    await person.open();
    const cell = await person.converse();
    await cell.run("x = 1");
    const before = await person.agent.sessions();
    const name = (await person.heading.innerText()).trim();
    await person.rename(name, "To be deleted");
    await person.remove("To be deleted");
    await person.refresh();
    await gone(person.row("To be deleted"));
    await eventually(async () => (await person.agent.sessions()).length === before.length - 1, "the end of its session");
  });

  test("cells, output and variables survive a refresh", async (person) => {
    await person.open();
    const cell = await person.converse();
    await cell.run("kept = 40\nprint('printed', kept)");
    await says(cell.output, "printed 40");
    await person.refresh();
    await says(cell.output, "printed 40");
    await says(cell.editor, "kept = 40");
    const next = await person.another();
    await next.run("kept + 2");
    await says(next.output, "42");
  });

  test("and a restart of the daemon", async (person, daemon) => {
    person.watch.expectsAbsence();
    await person.open();
    const cell = await person.converse();
    await cell.run("kept = 41\nprint('before the restart')");
    await daemon.kill9();
    await sees(person.absence);
    await person.picture("away");
    await daemon.again();
    await gone(person.absence);
    await says(cell.output, "before the restart");
    const next = await person.another();
    await next.run("kept + 1");
    await says(next.output, "42");
    await person.refresh();
    await says(person.cell(1).output, "before the restart");
  });

  test("the switch turns Python off: cells stay and cannot run, and a toast says so", async (person) => {
    await person.open();
    const cell = await person.converse();
    await cell.run("print('ran')");
    await person.sandboxSwitch.click();
    await sees(person.toast("Internal tools configuration updated"));
    assert.equal(await person.sandboxSwitch.getAttribute("aria-checked"), "false");
    await says(cell.output, "ran");
    const run = cell.button(/^run/i);
    assert.ok((await run.count()) === 0 || (await run.first().isDisabled()), "a cell can still be run");
    const before = person.watch.requests.length;
    await cell.editor.press("Shift+Enter");
    await cell.editor.press("Control+Enter");
    await person.refresh();
    await says(cell.editor, "print('ran')");
    assert.equal(await person.sandboxSwitch.getAttribute("aria-checked"), "false");
    assert.ok(!person.watch.requests.slice(before).some((url) => url.endsWith("/run")), "a run was asked for");
    await person.sandboxSwitch.click();
    await cell.run("print('ran again')");
    await says(cell.output, "ran again");
  });

  test("new ones start as the settings say", async (person) => {
    await person.open("#/settings");
    await person.role("switch", /new conversations/i).click();
    await person.button("New conversation").first().click();
    await sees(person.heading);
    await eventually(async () => (await person.sandboxSwitch.getAttribute("aria-checked")) === "false", "a switch that is off");
  });

  test("the address of a conversation that is not there says so", async (person) => {
    person.watch.expectsAbsence();
    await person.open("#/c/cnv_00000000000000000000000000");
    await sees(person.page.getByText(/no such conversation|not (found|there)|does not exist|is gone/i));
  });
});
