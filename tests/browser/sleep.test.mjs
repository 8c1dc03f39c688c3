// SPDX-License-Identifier: Apache-2.0
// People's work stays: sessions that ended by themselves wake with one click, or with a run.
import { gone, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

// A session falls asleep whenever it likes: what is asked in that moment, before the page knows, is refused.
const ASLEEP = /^409 [A-Z]+ .*(the session is asleep|the session's time was over)/;

export default subject("sleep", { config: "sessions: {idle_ms: 6000, freeze_ms: 0}\n" }, (test) => {
  test("one click wakes a session, with its variables and files", async (person) => {
    person.watch.expects(ASLEEP);
    const cell = await person.converse();
    await cell.run("made = 'by hand'\nnumbers = (i for i in range(3))\nopen('note.txt', 'w').write('a few words');");
    const panel = await person.tab("Variables");
    const wake = panel.getByRole("button", { name: "Wake" });
    await sees(wake);
    await says(panel, /asleep/);
    await person.picture("asleep");
    await wake.click();
    await sees(person.toast(/awake: variables and files are back, except numbers, which could not be kept/));
    await gone(wake);
    await says(panel, /made[\s\S]*by hand/);
    await says(await person.tab("Timeline"), /made = 'by hand'\s+Now · [^\n]*without numbers/);
    const next = await person.another();
    await next.run("made, open('note.txt').read()");
    await says(next.output, "a few words");
    await says(next.output, /woken from its state on disk; could not be kept: numbers/);
  });

  test("a run wakes it, too, and states on disk are in the timeline", async (person) => {
    person.watch.expects(ASLEEP);
    const cell = await person.converse();
    await cell.run("x = 'first state'");
    await (await person.another()).run("x = 'second state'");
    const panel = await person.tab("Timeline");
    await sees(panel.getByRole("button", { name: "Wake" }));
    await says(panel, /on disk/);
    const next = await person.another();
    await next.run("x");
    await says(next.output, "second state");
    await panel.getByRole("button", { name: /^go back to x = 'first/i }).click();
    await person.confirm("Go back");
    await sees(person.toast(/^back at/i));
    // The state keeps its time, and stays below what came after it; going back has a row of its own. "just now" passes by itself.
    await says(panel, /Went back to x = 'first state'[\s\S]*x = 'second state'[\s\S]*x = 'first state'\s+Now · \d+ (s|min) ago/);
    await person.picture("went-back");
    const last = await person.another();
    await last.run("x");
    await says(last.output, "first state");
  });
});
