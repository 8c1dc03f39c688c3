// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { assert, counts, eventually, gone, says, sees } from "./lib/expect.mjs";
import { ENDLESS } from "./lib/codes.mjs";
import { subject } from "./lib/runner.mjs";

export default subject("cells", {}, (test) => {
  test("Shift+Enter runs and goes on to the next cell", async (person) => {
    const cell = await person.converse();
    await cell.write("6 * 7");
    await cell.editor.press("Shift+Enter");
    await says(cell.output, "42");
    const next = person.cell(2);
    await eventually(() => next.editor.evaluate((element) => element.contains(document.activeElement)), "the next cell's focus");
    await person.page.keyboard.type("print('typed')");
    await person.page.keyboard.press("Shift+Enter");
    await says(next.output, "typed");
  });

  test("completion knows what is alive in the session", async (person) => {
    const cell = await person.converse();
    await cell.run("class Terrarium:\n    humidity_of_moss = 80\nglass = Terrarium()");
    const next = await person.another();
    await next.write("");
    await person.page.keyboard.type("glass.humid");
    const option = person.page.getByRole("option", { name: "humidity_of_moss" });
    await eventually(async () => {
      if (!(await option.count())) await person.page.keyboard.press("Control+Space");
      return option.isVisible();
    }, "the completion");
    await person.picture("completion");
    // A list that is being asked for anew takes no click: then once more.
    await eventually(async () => {
      if (await option.isVisible()) await option.click({ timeout: 1000 }).catch(() => {});
      return /glass\.humidity_of_moss/.test(await next.editor.innerText());
    }, "the completion in the text");
    await next.run();
    await says(next.output, "80");
  });

  test("completions that come late do not open over what a person went on to", async (person) => {
    const cell = await person.converse();
    await cell.run("moss = 1");
    const late = [];
    await person.page.route("**/v1/sessions/*/complete", (route) => late.push(route));
    const list = person.page.locator(".cm-tooltip-autocomplete");
    const listed = () => list.count();
    // The same question twice: once the cell is run, once the focus goes elsewhere.
    await cell.write("");
    await person.page.keyboard.type("mos");
    await eventually(() => late.length > 0, "the question");
    await cell.start();
    await cell.over();
    await person.button("Add note").last().click();
    const asked = late.length;
    await cell.editor.click();
    await person.page.keyboard.type("s");
    await eventually(() => late.length > asked, "the other question");
    await person.role("searchbox", /search/i).or(person.role("textbox", /search/i)).first().click();
    await Promise.all(late.map((route) => route.continue().catch(() => {})));
    await person.page.unrouteAll({ behavior: "wait" });
    await person.settle();
    assert.equal(await listed(), 0);
  });

  test("an error is underlined at its line, until the cell is edited", async (person) => {
    const cell = await person.converse();
    await cell.run("a = 1\nb = a / 0\nc = 3");
    await says(cell.output, "ZeroDivisionError");
    const mark = cell.box.locator(".cm-lintRange-error");
    await sees(mark);
    assert.match((await mark.allInnerTexts()).join(""), /b = a \/ 0/);
    await cell.write("a = 1\nb = a / 2");
    await gone(mark);
  });

  test("an error that the sandbox is the reason of says so: no network, no such module", async (person) => {
    const cell = await person.converse();
    await cell.run("import urllib.request\nurllib.request.urlopen('http://example.com')");
    await says(cell.output, /URLError[\s\S]*This sandbox has no network: upload what the code needs under Files/);
    await cell.run("import no_such_module_anywhere");
    await says(cell.output, /Use a runtime that has it[\s\S]*No other runtime of this server has it/);
    await person.picture("remedies");
  });

  test("an interrupt ends a run, and the session lives on", async (person) => {
    const cell = await person.converse();
    await cell.start("kept = 7\n" + ENDLESS);
    await says(cell.output, "begun");
    await cell.stop.click();
    await cell.over();
    await says(cell.box, /interrupted/i);
    const next = await person.another();
    await next.run("kept");
    await says(next.output, "7");
  });

  test("run all runs every code cell in order and leaves notes alone", async (person) => {
    const first = await person.converse();
    await first.write("log = ['first']");
    const note = await person.another("note");
    await note.write("# A heading\n\nwith *text*");
    const last = await person.another();
    await last.write("log.append('last')\nprint(' then '.join(log))");
    await person.button("Run all").click();
    await says(last.output, "first then last");
  });

  test("a button below a note that is being written is hit, however slowly it is pressed", async (person) => {
    await person.converse();
    const note = await person.another("note");
    await note.write("# A heading\n\nwith *text*\n\n- and\n- a list");
    await person.button("Add code").last().hover();
    await person.page.mouse.down();
    await person.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await person.page.mouse.up();
    await sees(person.cell(3).editor);
  });

  test("cells that wait for their turn go on after a refresh", async (person) => {
    const first = await person.converse();
    await first.write("seed = input('seed? ')");
    const second = await person.another();
    await second.write("print('sown', seed)");
    const third = await person.another();
    await third.write("print('and grown')");
    await person.button("Run all").click();
    await says(first.output, "seed?");
    await says(third.box, "Waiting for its turn");
    await person.refresh();
    await says(third.box, "Waiting for its turn");
    const field = first.box.getByRole("textbox", { name: /input/i });
    await field.fill("moss");
    await field.press("Enter");
    await says(second.output, "sown moss");
    await says(third.output, "and grown");
    await third.over();
    await person.refresh();
    await says(third.output, "and grown");
    await gone(third.stop);
  });

  test("a cell can be edited and run again", async (person) => {
    const cell = await person.converse();
    await cell.run("n = 1\nn");
    await says(cell.output, "1");
    await cell.run("n += 10\nn");
    await says(cell.output, "11");
    await cell.run();
    await says(cell.output, "21");
    assert.doesNotMatch(await cell.output.innerText(), /^11$/m);
  });

  test("what a cell made of variables that changed since may be stale", async (person) => {
    const first = await person.converse();
    await first.run("n = 1");
    const second = await person.another();
    await second.run("n * 10");
    await says(second.output, "10");
    await first.run("n = 2");
    await says(second.output, "May be stale");
    await person.refresh();
    await says(second.output, "May be stale");
    await second.run();
    await says(second.output, "20");
    await gone(second.output.getByText("May be stale"));
  });

  test("a traceback has the page's numbers", async (person) => {
    const first = await person.converse();
    await first.run("def half(n):\n    return n / 0");
    await first.run(); // the session has counted two runs, the page one cell
    const second = await person.another();
    await second.run("half(1)");
    await says(second.output, /cell 1, line 2 in half/);
    await second.output.getByRole("button", { name: "Show traceback" }).click();
    await says(second.output, /"<cell 2>", line 1[\s\S]*"<cell 1>", line 2/);
  });

  test("the time of a run goes on through a refresh", async (person) => {
    const cell = await person.converse();
    await cell.start(ENDLESS);
    await says(cell.output, "begun");
    const time = cell.box.locator(".phase-time");
    const seconds = async () => [...(await time.innerText()).matchAll(/([\d.]+) (s|min)/g)]
      .reduce((all, [, number, unit]) => all + number * (unit === "min" ? 60 : 1), 0);
    await eventually(async () => (await time.count()) && (await seconds()) >= 3, "three seconds");
    const before = await seconds();
    await person.refresh();
    await sees(time);
    assert.ok((await seconds()) >= before, "the time began anew");
    await cell.stop.click();
    await cell.over();
  });

  test("a cell runs again though what it showed is still being kept", async (person) => {
    let answer;
    const late = new Promise((done) => { answer = done; });
    await person.page.route("**/v1/conversations/*/outputs/*", async (route) => {
      if (route.request().method() === "PUT") await late;
      await route.continue();
    });
    const cell = await person.converse();
    await cell.run("n = 11\nn");
    await says(cell.output, "11");
    await cell.run("n += 10\nn");
    await says(cell.output, "21");
    answer();
    await person.refresh();
    await says(cell.output, "21");
    await person.page.unrouteAll({ behavior: "wait" });
  });

  test("cells are moved, inserted and deleted, a deletion can be undone, and all of it is kept", async (person) => {
    const first = await person.converse();
    await first.write("'one'");
    const second = await person.another();
    await second.write("'two'");
    await second.button(/^move up/i).click();
    await says(person.cell(1).editor, "two");
    await says(person.cell(2).editor, "one");
    await person.cell(2).button(/^delete/i).click();
    await counts(person.cells, 1);
    await person.page.getByRole("status").getByRole("button", { name: "Undo" }).click();
    await says(person.cell(2).editor, "one");
    await person.refresh();
    await says(person.cell(1).editor, "two");
    await says(person.cell(2).editor, "one");
  });

  test("cells are dragged by their grip to another place, in both directions, and stay there", async (person) => {
    const names = ["one", "two", "three"];
    let cell = await person.converse();
    for (const name of names) {
      await cell.write(`'${name}'`);
      if (name !== "three") cell = await person.another();
    }
    const order = async (...wanted) => {
      for (const [i, name] of wanted.entries()) await says(person.cell(i + 1).editor, name);
    };
    const drag = async (from, to, at) => {
      await person.cell(from).box.hover();
      const place = await person.cell(to).box.boundingBox();
      await person.cell(from).box.getByTitle("Drag to move").dragTo(person.cell(to).box, { targetPosition: { x: place.width / 2, y: place.height * at } });
    };
    await order("one", "two", "three");
    await drag(3, 1, 0.2);
    await order("three", "one", "two");
    await drag(1, 2, 0.8);
    await order("one", "three", "two");
    await drag(2, 2, 0.2); // where it was
    await order("one", "three", "two");
    await person.refresh();
    await order("one", "three", "two");
  });

  test("cells are moved from the keyboard, and the cursor goes along", async (person) => {
    const first = await person.converse();
    await first.write("'one'");
    const note = await person.another("note");
    await note.write("two");
    const third = await person.another();
    await third.write("'three'");
    const { keyboard } = person.page;
    const inCell = (number) => eventually(
      () => person.cell(number).editor.evaluate((element) => element.contains(document.activeElement)), `the cursor in cell ${number}`);
    await keyboard.press("Control+Shift+ArrowUp");
    await says(person.cell(2).editor, "three");
    await inCell(2);
    await keyboard.press("Control+Shift+ArrowUp");
    await says(person.cell(1).editor, "three");
    await keyboard.press("Control+Shift+ArrowUp"); // there is no place above the first
    await inCell(1);
    await keyboard.type("#");
    await says(person.cell(1).editor, "#");
    await keyboard.press("Control+Shift+ArrowDown");
    await says(person.cell(1).editor, "one");
    await says(person.cell(2).editor, "three");
    await inCell(2);
    await says(person.page.getByRole("status").filter({ hasText: "Moved" }), "Moved to place 2 of 3");
    await person.refresh();
    await says(person.cell(1).editor, "one");
    await says(person.cell(2).editor, "three");
  });

  test("a note is moved from the keyboard, too, while it is written and while it is shown", async (person) => {
    const first = await person.converse();
    await first.write("'one'");
    const note = await person.another("note");
    await note.write("two");
    await person.page.keyboard.press("Control+Shift+ArrowUp");
    await says(person.cell(1).editor, "two");
    await eventually(() => person.cell(1).editor.evaluate((element) => element.contains(document.activeElement)), "the cursor in the note");
    await person.page.keyboard.press("Escape");
    await gone(person.cell(1).editor);
    await person.page.keyboard.press("Control+Shift+ArrowDown");
    await says(person.cell(1).editor, "one");
    await says(person.cell(2).box, "two");
    await person.page.keyboard.press("Enter"); // it is still where the keys go
    await says(person.cell(2).editor, "two");
    await person.page.keyboard.type("!");
    await says(person.cell(2).editor, "two!");
    await person.cell(2).button("Turn into code").click();
    await sees(person.cell(2).button(/^run cell/i));
    await eventually(() => person.cell(2).editor.evaluate((element) => element.contains(document.activeElement)), "the cursor in the code");
  });

  test("a note shows its markdown", async (person) => {
    await person.converse();
    const note = await person.another("note");
    await note.write("## Findings\n\n- **moss** grows\n- [a link](https://example.com/)");
    await person.page.keyboard.press("Shift+Enter");
    await sees(note.box.getByRole("heading", { name: "Findings" }));
    await sees(note.box.getByRole("listitem").getByText("moss"));
    const link = note.box.getByRole("link", { name: "a link" });
    assert.match((await link.getAttribute("rel")) ?? "", /noopener|noreferrer/);
  });

  test("input() asks, and takes the answer", async (person) => {
    const cell = await person.converse();
    await cell.start("name = input('who? ')\nprint('hello', name)");
    const field = cell.box.getByRole("textbox", { name: /input/i });
    await field.fill("<b>Ada</b>");
    await field.press("Enter");
    await says(cell.output, /who\? <b>Ada<\/b>\s+hello <b>Ada<\/b>/);
    await cell.over();
    await says(cell.output.locator("kbd"), "<b>Ada</b>");
    await person.picture("input");
  });

  test("what was typed is there after a refresh in the middle of a run, and in another tab", async (person) => {
    const cell = await person.converse();
    await cell.start("first = input('first? ')\nsecond = input('second? ')\nprint(first + second)");
    const field = cell.box.getByRole("textbox", { name: /input/i });
    await field.fill("moss");
    await field.press("Enter");
    await says(cell.output, /first\? moss\s+second\?/);
    const other = await person.secondTab();
    await says(other.cell(1).output, /first\? moss\s+second\?/);
    await other.page.close();
    await person.refresh();
    await says(cell.output, /first\? moss\s+second\?/);
    await field.fill("fern");
    await field.press("Enter");
    await says(cell.output, /second\? fern\s+mossfern/);
    await cell.over();
  });

  test("a notebook goes out and comes in again", async (person) => {
    const first = await person.converse();
    await first.run("import matplotlib.pyplot as plt\nprint('told')\nplt.plot([1, 2, 3]); plt.show()\n6 * 7");
    const note = await person.another("note");
    await note.write("# A note");
    const broken = await person.another();
    await broken.run("1 / 0");

    const [download] = await Promise.all([person.page.waitForEvent("download"), person.deed("Export notebook")]);
    const path = await download.path();
    const notebook = JSON.parse(await readFile(path, "utf8"));
    assert.match(download.suggestedFilename(), /\.ipynb$/);
    assert.deepEqual([notebook.nbformat, notebook.nbformat_minor], [4, 5]);
    assert.deepEqual(notebook.cells.map((cell) => cell.cell_type), ["code", "markdown", "code"]);
    const outputs = notebook.cells[0].outputs;
    assert.ok(outputs.some((output) => output.output_type === "stream" && [output.text].flat().join("").includes("told")));
    assert.ok(outputs.some((output) => output.data?.["image/png"]));
    assert.ok(outputs.some((output) => [output.data?.["text/plain"]].flat().join("") === "42"));
    assert.equal(notebook.cells[2].outputs.at(-1).ename, "ZeroDivisionError");
    // Jupyter's own reader has nothing to say about it.
    execFileSync("/usr/bin/python3", ["-c", "import nbformat, sys; nbformat.validate(nbformat.read(sys.argv[1], as_version=4))", path]);

    const [chooser] = await Promise.all([person.page.waitForEvent("filechooser"), person.deed("Import notebook")]);
    const before = person.page.url();
    await chooser.setFiles(path);
    await eventually(() => person.page.url() !== before, "the imported conversation");
    await says(person.cell(1).editor, "import matplotlib");
    await says(person.cell(1).output, "told");
    await sees(person.cell(1).output.getByRole("img"));
    await sees(person.cell(2).box.getByRole("heading", { name: "A note" }));
    await says(person.cell(3).output, "ZeroDivisionError");
  });

  test("a file that is no notebook is refused in words", async (person) => {
    await person.converse();
    for (const [name, text] of [["a.ipynb", "{not json"], ["b.ipynb", '{"cells": 7, "nbformat": 4}'], ["c.ipynb", '{"nbformat": 2}']]) {
      const [chooser] = await Promise.all([person.page.waitForEvent("filechooser"), person.deed("Import notebook")]);
      await chooser.setFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });
      const toast = person.toast(/could not|not a notebook/i);
      await sees(toast);
      await person.page.getByRole("button", { name: "Dismiss" }).first().click();
      await gone(toast);
    }
  });
});
