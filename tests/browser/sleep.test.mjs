// SPDX-License-Identifier: Apache-2.0
// What people made stays: sessions that ended by themselves wake with one click, and a restart keeps the files.
import { gone, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

export default subject("sleep", { config: "sessions: {idle_ms: 4000, freeze_ms: 0}\n" }, (test) => {
  test("one click wakes a session, with its variables and files", async (person) => {
    const cell = await person.converse();
    await cell.run("made = 'by hand'\nnumbers = (i for i in range(3))\nopen('note.txt', 'w').write('a few words');");
    const panel = await person.tab("Variables");
    await says(panel, /made[\s\S]*by hand/);
    const wake = panel.getByRole("button", { name: "Wake" });
    await sees(wake, 30_000);
    await says(panel, /asleep/);
    await person.picture("asleep");
    await wake.click();
    await gone(wake);
    await says(panel, /made[\s\S]*by hand/);
    const next = await person.another();
    await next.run("made, open('note.txt').read()");
    await says(next.output, "a few words");
    await says(next.output, /woken from its state on disk; could not be kept: numbers/);
  });

  test("a run wakes it, too, and states on disk are in the timeline", async (person) => {
    const cell = await person.converse();
    await cell.run("x = 'first state'");
    await (await person.another()).run("x = 'second state'");
    const panel = await person.tab("Timeline");
    await sees(panel.getByRole("button", { name: "Wake" }), 30_000);
    await says(panel, /on disk/);
    const next = await person.another();
    await next.run("x");
    await says(next.output, "second state");
    await panel.getByRole("button", { name: /^go back to x = 'first/i }).click();
    await person.confirm("Go back");
    await sees(person.toast(/^back at/i));
    const last = await person.another();
    await last.run("x");
    await says(last.output, "first state");
  });

  test("a restart of the session keeps the files and marks the cells", async (person) => {
    const cell = await person.converse();
    await cell.run("x = 1\nopen('note.txt', 'w').write('a few words');");
    await person.role("button", "More actions", { exact: true }).click();
    await person.role("menuitem", "Restart session").click();
    await person.confirm("Restart");
    await sees(person.toast(/restarted/i));
    await says(cell.output, /Undone[\s\S]*restarted after it/);
    await says(await person.tab("Timeline"), /Restarted[\s\S]*Now/);
    const next = await person.another();
    await next.run("print('x' in globals(), open('note.txt').read())");
    await says(next.output, "False a few words");
  });
});
