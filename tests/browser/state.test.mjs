// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { assert, eventually, gone, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

const CSV = "month,region,units\n" + Array.from({ length: 60 }, (_, i) => `2024-${String(1 + (i % 12)).padStart(2, "0")},${["North", "South"][i % 2]},${i * 7 % 50}`).join("\n") + "\n";

/** All of its middle is on the screen: what a person looks at first. */
async function isInSight(what) {
  const box = await what.boundingBox();
  const { innerHeight } = await what.evaluate(() => ({ innerHeight }));
  return box !== null && box.y + box.height / 2 > 0 && box.y + box.height / 2 < innerHeight;
}

/** Drops files on something, as from a file manager. */
async function drop(person, target, files) {
  const data = await person.page.evaluateHandle((given) => {
    const transfer = new DataTransfer();
    for (const { name, type, text } of given) transfer.items.add(new File([text], name, { type }));
    return transfer;
  }, files);
  for (const event of ["dragenter", "dragover", "drop"]) await target.dispatchEvent(event, { dataTransfer: data });
}

export default subject("state", {}, (test) => {
  test("a state says what it takes in memory and on disk, as soon as it is written, and all together", async (person) => {
    const cell = await person.converse();
    const panel = await person.tab("Timeline");
    await cell.run("import os\nlarge = os.urandom(3 << 20)");
    await says(panel, /(just now|\d+ (s|min) ago) · 3\.0 MiB on disk/);
    await says(panel, /\d states, 3\.0 MiB on disk/);
    await person.picture("timeline-room");
  });

  test("variables are listed with what is in them", async (person) => {
    const cell = await person.converse();
    await cell.run("import pandas as pd\nanswer = 42\nwords = ['moss', 'fern']\nframe = pd.DataFrame({'n': range(500), 'm': 'x'})");
    const panel = await person.tab("Variables");
    await says(panel, /answer[\s\S]*42/);
    await says(panel, /frame[\s\S]*DataFrame/);
    await says(panel, /500/);
    await panel.getByRole("button", { name: /frame/ }).first().click();
    const table = person.page.getByRole("grid").first();
    await sees(table);
    await person.picture("variables");
    await person.closeDialog();
    const next = await person.another();
    await next.run("answer = 'changed'");
    await says(panel, /answer[\s\S]*changed/);
  });

  test("variables during a run say which state they are of, and that later runs are not in it", async (person) => {
    await (await person.converse()).run("x = 1");
    await (await person.another()).run("import threading\nstop = threading.Event()\nthreading.Thread(target=stop.wait, name='pump', daemon=True).start()\nx, y = 2, 'new'");
    const panel = await person.tab("Variables");
    await says(panel, /y[\s\S]*new/);
    const last = await person.another();
    await last.start("import time\nprint('on')\ntime.sleep(60)");
    await says(last.output, "on");
    await person.button("Look again", panel).click();
    await says(panel, /these are the variables of the state "x = 1", without what later runs did\. No newer state could be kept: thread pump/);
    await panel.getByRole("button", { name: /Show x/ }).click();
    await says(person.page.getByRole("dialog", { name: "x" }), /state "x = 1", without what later runs did/);
    await person.closeDialog();
    await last.stop.click();
    await last.over();
    await says(panel, /y[\s\S]*new/);
    await gone(panel.getByText(/A run is on/));
  });

  test("what is open in the panel stays when the window becomes narrow, and wide again", async (person) => {
    const cell = await person.converse();
    await cell.run("words = ['moss', 'fern']");
    const panel = await person.tab("Variables");
    await panel.getByRole("button", { name: /words/ }).first().click();
    const dialog = person.page.getByRole("dialog", { name: "words" });
    await sees(dialog);
    for (const width of [390, 1280, 390]) {
      await person.page.setViewportSize({ width, height: 800 });
      await eventually(() => person.page.evaluate((wide) => innerWidth === wide, width), "the other width");
      await person.settle();
      await says(dialog, "moss");
    }
    await person.closeDialog();
    await sees(person.role("tab", "Variables")); // where it came from
  });

  test("files come by drag and drop, are looked at, had back and deleted", async (person) => {
    const cell = await person.converse();
    await cell.run("1");
    const panel = await person.tab("Files");
    await drop(person, person.role("list", "Cells"), [
      { name: "sales.csv", type: "text/csv", text: CSV }, { name: "note.txt", type: "text/plain", text: "a few words" },
    ]);
    await says(panel, "sales.csv");
    await says(panel, "note.txt");
    await drop(person, cell.editor, [{ name: "more.txt", type: "text/plain", text: "not code" }]);
    await says(panel, "more.txt");
    await says(cell.editor, /^1$/);
    await panel.getByRole("button", { name: "Preview note.txt" }).click();
    await sees(person.page.getByText("a few words"));
    await person.closeDialog();
    await panel.getByRole("button", { name: "Preview sales.csv" }).click();
    await says(person.page.getByRole("grid").first(), "North");
    await person.picture("file-preview");
    await person.closeDialog();
    const [download] = await Promise.all([
      person.page.waitForEvent("download"), panel.getByRole("button", { name: "Download sales.csv" }).or(panel.getByRole("link", { name: "Download sales.csv" })).click(),
    ]);
    assert.equal(await readFile(await download.path(), "utf8"), CSV);
    const next = await person.another();
    await next.run("open('note.txt').read()");
    await says(next.output, "a few words");
    await panel.getByRole("button", { name: "More for note.txt" }).click();
    await person.role("menuitem", /^delete/i).click();
    await person.confirm("Delete");
    await gone(panel.getByText("note.txt"));
  });

  test("a picture that code made is previewed", async (person) => {
    const cell = await person.converse();
    await cell.run("import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.savefig('plot.png'); plt.close()");
    const panel = await person.tab("Files");
    await panel.getByRole("button", { name: "Preview plot.png" }).click();
    const image = person.page.getByRole("img", { name: /plot\.png/ });
    await sees(image);
    await eventually(() => image.first().evaluate((element) => element.naturalWidth > 100), "its pixels");
  });

  test("a newcomer gets from a CSV to an interactive chart without another click", async (person) => {
    await person.open();
    const [chooser] = await Promise.all([person.page.waitForEvent("filechooser"), person.button("Choose a file").click()]);
    await chooser.setFiles({ name: "sales.csv", mimeType: "text/csv", buffer: Buffer.from(CSV) });
    await sees(person.page.getByRole("grid"));
    await sees(person.chartIn(person.page));
    await says(person.heading, "sales.csv");
    await person.picture("csv-to-chart");
  });

  test("a CSV with a word among its numbers gets a chart of the numbers that says what it lacks", async (person) => {
    const rows = Array.from({ length: 450 }, (_, i) => `2024-01-${String(1 + (i % 28)).padStart(2, "0")},${i}\n`);
    await person.open();
    const [chooser] = await Promise.all([person.page.waitForEvent("filechooser"), person.button("Choose a file").click()]);
    await chooser.setFiles({ name: "late.csv", mimeType: "text/csv", buffer: Buffer.from(`day,revenue\n${rows.join("")}2024-02-01,unknown\n`) });
    await sees(person.chartIn(person.page));
    await sees(person.page.getByRole("grid"));
    const cell = person.cell(1);
    await says(cell.output, "Sum of revenue by day (without 1 of 451 rows)");
    await says(cell.output, "The chart leaves out 1 of 451 values of revenue, such as 'unknown'");
    const next = await person.another();
    await next.run("print(sum(row['revenue'] for row in _chart['data'] if row['revenue'] == row['revenue']), df['revenue'].iloc[-1])");
    await says(next.output, "101025.0 unknown");
  });

  test("the sample and the first example are one click from a chart in sight", async (person) => {
    for (const name of ["Try sales.csv", /example: sales statistics/i]) {
      await person.open("#/");
      await person.button(name).click();
      const chart = person.chartIn(person.page);
      await sees(chart);
      await eventually(() => isInSight(chart), "a chart in sight");
    }
    await says(person.page.getByRole("main"), "Monthly sales statistics");
  });

  test("the timeline goes back, and the variables with it", async (person) => {
    const cell = await person.converse();
    await cell.run("x = 'first state'");
    await (await person.another()).run("x = 'second state'");
    const panel = await person.tab("Timeline");
    await panel.getByRole("button", { name: /^go back to x = 'first/i }).click();
    await person.confirm("Go back");
    await sees(person.toast(/^back at/i));
    await says(person.cell(2).output, /Undone[\s\S]*went back to before this run/);
    assert.doesNotMatch(await cell.output.innerText(), /Undone/);
    await person.picture("timeline");
    const next = await person.another();
    await next.run("x");
    await says(next.output, "first state");
  });

  test("after going back each cell keeps what it ended as, and nothing that it says is untrue", async (person) => {
    const cell = await person.converse();
    await cell.run("import math\n# a note\nx = 'first'");
    await (await person.another()).run("x = 'second'\n1 / 0");
    await (await person.another()).run("import os\nos._exit(3)");
    await (await person.another()).run("x = 'last'");
    const crashed = await says(person.cell(3).output, /Rolled back: variables and the files of \/workspace went back to what they were before this run/);
    const panel = await person.tab("Timeline");
    assert.equal(await panel.getByRole("button", { name: /import/ }).count(), 0, "a state is named by an import");
    await panel.getByRole("button", { name: "Go back to x = 'first'" }).click();
    await person.confirm("Go back");
    await says(person.cell(4).output, "Undone");
    await says(person.cell(2).output, /Failed[\s\S]*Undone[\s\S]*went back to before this run/);
    assert.equal(await person.cell(3).output.innerText(), crashed);
    await person.picture("undone");
    await person.refresh();
    await says(person.cell(2).output, /Failed[\s\S]*Undone/);
  });

  test("a file's chip tells by the file itself, after going back and in a branch", async (person) => {
    const chip = (number) => person.cell(number).output.getByRole("listitem").filter({ hasText: "f.txt" });
    const [isPlain, isFirst] = [/^f\.txt\s+2 bytes\s+Download$/, /now as cell 1 left it, 2 bytes\s+Download as it is now$/];
    await (await person.converse()).run("n = open('f.txt', 'w').write('v1')");
    await (await person.another()).run("two = open('f.txt', 'w').write('v2')");
    await says(chip(1), /changed since by cell 2/);
    const panel = await person.tab("Timeline");
    await person.button("Keep this state under a name", panel).first().click();
    await person.page.getByRole("dialog").getByRole("textbox").fill("two");
    await person.confirm("Keep");
    await says(panel, /two\n/);
    await panel.getByRole("button", { name: /^Go back to n = open/ }).click();
    await person.confirm("Go back");
    await says(chip(2), isFirst);
    await says(chip(1), isPlain);
    const trunk = person.page.url();
    await panel.getByRole("button", { name: "Branch here, from two" }).click();
    await eventually(() => person.page.url() !== trunk, "the branch");
    await says(chip(2), isFirst);
    await says(chip(1), isPlain);
  });

  test("two states are compared", async (person) => {
    const cell = await person.converse();
    await cell.run("kept = 1\nremoved = 2");
    await (await person.another()).run("kept = 11\nadded = 3\ndel removed");
    const panel = await person.tab("Timeline");
    await panel.getByRole("checkbox", { name: "Compare kept = 1", exact: true }).check();
    await panel.getByRole("checkbox", { name: "Compare kept = 11", exact: true }).check();
    for (const [list, name] of [["Added", "added"], ["Removed", "removed"], ["Changed", "kept"]]) {
      await says(panel.getByRole("list", { name: list }), name);
    }
    await person.picture("compare");
  });

  test("a branch is a conversation of its own, and neither disturbs the other", async (person) => {
    const cell = await person.converse();
    await cell.run("side = 'trunk'");
    const trunk = person.page.url();
    const panel = await person.tab("Timeline");
    await panel.getByRole("button", { name: /^branch here/i }).first().click();
    await eventually(() => person.page.url() !== trunk, "the branch");
    const next = await person.another();
    await next.run("print(side)\nside = 'branch'");
    await says(next.output, "trunk");
    await person.page.goto(trunk);
    await sees(person.cell(1).editor);
    const last = await person.another();
    await last.run("side");
    await says(last.output, "trunk");
  });

  test("a branch from a state that is undone here has its run, and says so by its name", async (person) => {
    const cell = await person.converse();
    await cell.run("x = 'first'");
    await (await person.another()).run("x = 'second'");
    const panel = await person.tab("Timeline");
    await panel.getByRole("button", { name: /^go back to x = 'first/i }).click();
    await person.confirm("Go back");
    await says(person.cell(2).output, "Undone");
    const trunk = person.page.url();
    await panel.getByRole("button", { name: /^branch here, from x = 'second/i }).click();
    await eventually(() => person.page.url() !== trunk, "the branch");
    await says(person.heading, "Branch of x = 'first'");
    await says(person.cell(2).output, "Done");
    assert.doesNotMatch(await person.cell(2).output.innerText(), /Undone/);
    const next = await person.another();
    await next.run("x");
    await says(next.output, "second");
  });

  test("a run that spoils Python is undone by the next one, everywhere, and the session is well again", async (person) => {
    const cell = await person.converse();
    await cell.run("x = 1");
    // Until the next run finds the damage, nobody can look inside: neither the panel of variables nor completion.
    person.watch.expects(/^409 (GET .*\/vars|POST .*\/complete) .*damaged the interpreter/);
    await (await person.another()).run("import builtins\nbuiltins.len = None");
    await says(person.cell(2).output, "Done");
    const next = await person.another();
    await next.run("y = 2");
    const isTold = async (who) => {
      await says(who.cell(2).output, /^Undone[\s\S]*A later run failed or was stopped, and the session went back to before this one/);
      await says(who.cell(3).output, /Failed[\s\S]*the session is well again: run this cell again[\s\S]*went back to what they were after cell 1/);
      assert.doesNotMatch(await who.cell(1).output.innerText(), /Undone/);
    };
    await isTold(person);
    const panel = await person.tab("Timeline");
    await says(panel, /builtins\.len = None\s+Done, undone by a later run/);
    await person.picture("healed");
    await isTold(await person.secondTab());
    await person.refresh();
    await isTold(person);
    await next.run();
    await says(next.output, "Done");
    await says(person.cell(2).output, "Undone");
  });

  test("a long history is one line, and says how many states are not kept", async (person) => {
    const cell = await person.converse();
    for (let i = 1; i <= 14; i++) await cell.run(`q = ${i}`);
    const panel = await person.tab("Timeline");
    await says(panel, /q = 14\s+Now/);
    const [session] = (await person.agent.sessions()).toSorted((a, b) => b.created_ms - a.created_ms); // this conversation's
    await eventually(async () => !(await person.agent.call("GET", `/v1/sessions/${session.id}`)).kept.pending, "the last state on disk");
    const { checkpoints } = await person.agent.call("GET", `/v1/sessions/${session.id}/checkpoints`);
    const middle = checkpoints.toSorted((a, b) => a.created_ms - b.created_ms)[Math.floor(checkpoints.length / 2)];
    await person.agent.call("DELETE", `/v1/sessions/${session.id}/checkpoints/${middle.id}`);
    const rows = await eventually(async () => {
      const texts = await panel.getByRole("listitem").allInnerTexts();
      const kept = texts.filter((text) => /q = \d+|Start/.test(text)).length;
      const gone = texts.reduce((sum, text) => sum + Number(/^(\d+) states? not kept/.exec(text)?.[1] ?? 0), 0);
      return kept + gone === 15 && gone > 0 && texts;
    }, "each state is there, or counted");
    assert.match(rows[0], /q = 14/);
    const places = await panel.locator("svg.lanes circle").evaluateAll((dots) => new Set(dots.map((dot) => dot.getAttribute("cx"))).size);
    assert.equal(places, 1, "the line has branches");
    await person.picture("history");
  });

  test("a run that was rolled back says so, and the variables are those of before", async (person) => {
    const cell = await person.converse();
    await cell.run("safe = 'before'");
    const next = await person.another();
    await next.run("safe = 'spoiled'\nimport os\nos._exit(3)");
    await says(next.output, /rolled back/i);
    const panel = await person.tab("Variables");
    await says(panel, /safe[\s\S]*before/);
  });

  test("a restart of the session keeps the files and marks the cells", async (person) => {
    const cell = await person.converse();
    await cell.run("x = 1\nopen('note.txt', 'w').write('a few words');");
    await person.role("button", "More actions", { exact: true }).click();
    await person.role("menuitem", "Restart session").click();
    await person.confirm("Restart");
    await sees(person.toast(/restarted/i));
    await says(cell.output, /Undone[\s\S]*The session was restarted after this run/);
    await says(await person.tab("Timeline"), /Restarted[\s\S]*Now/);
    const next = await person.another();
    await next.run("print('x' in globals(), open('note.txt').read())");
    await says(next.output, "False a few words");
  });
});
