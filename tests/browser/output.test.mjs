// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { CHARTS, counting, FIGURE } from "./lib/codes.mjs";
import { assert, eventually, gone, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

/** Clicks something that saves a file: its name and bytes. */
async function saved(person, button) {
  const [download] = await Promise.all([person.page.waitForEvent("download"), button.click()]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

const TIP_PIXELS = 1500; // a box with a line of text has more of them

/** How many pixels of a chart differ from what they were at the first call. */
function differences(chart) {
  return chart.locator("canvas").first().evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const now = new Uint32Array(data.buffer);
    canvas.atFirst ??= now;
    return now.reduce((count, pixel, i) => count + (pixel === canvas.atFirst[i] ? 0 : 1), 0);
  });
}

const FIRST = { light: [0x1f, 0x7a, 0x58], dark: [0x5f, 0xc7, 0x9b] }; // the colour of the first series

/** Is something drawn in this colour? */
function has(chart, colour) {
  return chart.locator("canvas").first().evaluate((canvas, [red, green, blue]) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) count += data[i] === red && data[i + 1] === green && data[i + 2] === blue ? 1 : 0;
    return count > 50;
  }, colour);
}

/** The deed changes at least so many pixels of the chart: tooltips are drawn in it, where no markup can be. */
async function changes(chart, deed, least = 100) {
  await chart.locator("canvas").first().evaluate((canvas) => delete canvas.atFirst);
  await differences(chart);
  await eventually(async () => {
    await deed();
    return (await differences(chart)) >= least;
  }, "a change of the chart");
}

/** Moves the pointer over the chart until it tells something. */
function tells(person, chart) {
  let tries = 0;
  const places = [[0.5, 0.5], [0.35, 0.6], [0.65, 0.4], [0.52, 0.72], [0.3, 0.3], [0.5, 0.9], [0.8, 0.7]];
  return changes(chart, async () => {
    const box = await chart.locator("canvas").first().boundingBox();
    const [x, y] = places[tries++ % places.length];
    await person.page.mouse.move(box.x + box.width * x, box.y + box.height * y, { steps: 4 });
  }, TIP_PIXELS);
}

export default subject("output", {}, (test) => {
  test("the verdict in front of a long output is a badge, not a bar", async (person) => {
    const cell = await person.converse();
    await cell.run("for i in range(500): print(i)\n1 / 0");
    const [line, badge] = [cell.output.getByText("after the output below"), cell.output.getByText("Failed", { exact: true }).first()];
    await sees(line);
    const [text, word] = [await line.boundingBox(), await badge.boundingBox()];
    assert.ok(word.width < 120 && word.x + word.width <= text.x, `the badge is ${word.width} pixels wide`);
    await person.picture("ending-ahead");
  });

  test("lines are shown as they are printed, while the run goes on", async (person) => {
    const cell = await person.converse();
    await cell.start("import sys\n" + counting(1, 0) + "\nprint('to stderr', file=sys.stderr)\ninput()");
    await says(cell.output, "line 0");
    await says(cell.output, "to stderr");
    assert.ok(await cell.stop.isVisible(), "the run is over already");
    await cell.stop.click();
    await cell.over();
  });

  test("much output is capped, and all of it is one click away", async (person) => {
    const cell = await person.converse();
    await cell.run("for i in range(20_000): print('row', i)");
    const all = cell.output.getByRole("button", { name: /show all/i });
    await sees(all);
    await all.click();
    await gone(all);
    await person.scrollIn(cell.output.getByText(/^row \d+$/).first(), 1e6);
    await says(cell.output, "row 19999");
    await person.scrollIn(cell.output.getByText(/^row \d+$/).first(), -1e6);
    await says(cell.output, /^row 0$/m);
    await person.picture("many-lines");
  });

  test("a picture is there when savefig returns, while the run goes on", async (person) => {
    const cell = await person.converse();
    await cell.start("import matplotlib.pyplot as plt, time\nplt.plot([1, 4, 9])\nplt.savefig('a.png')\ntime.sleep(600)");
    const image = cell.output.getByRole("img");
    await sees(image);
    assert.ok(await cell.stop.isVisible(), "the run is over already");
    await eventually(() => image.first().evaluate((element) => element.tagName !== "IMG" || element.naturalWidth > 100), "its pixels");
    await cell.stop.click();
    await cell.over();
  });

  for (const [kind, code] of Object.entries(CHARTS)) {
    test(`a ${kind} chart tells values under the pointer, and is saved as PNG and CSV`, async (person) => {
      const cell = await person.converse();
      await cell.run(code);
      const chart = person.chartIn(cell.output);
      await sees(chart);
      await chart.scrollIntoViewIfNeeded();
      await person.settle();
      await tells(person, chart);
      await person.picture(`chart-${kind.replace(" ", "-")}`);
      const png = await saved(person, cell.output.getByRole("button", { name: /png/i }));
      assert.match(png.name, /\.png$/);
      assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
      const csv = await saved(person, cell.output.getByRole("button", { name: /csv/i }));
      assert.match(csv.name, /\.csv$/);
      assert.ok(csv.bytes.toString().trim().split("\n").length > 2, "a CSV of few lines");
      await cell.output.getByRole("button", { name: "Show data as a table" }).click();
      await sees(cell.output.getByRole("grid"));
      assert.ok((await cell.output.getByRole("grid").getByRole("row").count()) > 2, "the chart's data as a table");
    });
  }

  test("a chart is zoomed by the wheel, and shown whole again", async (person) => {
    const cell = await person.converse();
    await cell.run(CHARTS.line);
    const chart = person.chartIn(cell.output);
    await sees(chart);
    const box = await chart.boundingBox();
    await person.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await person.settle();
    await changes(chart, async () => {
      await person.page.keyboard.down("Control");
      await person.page.mouse.wheel(0, -600);
      await person.page.keyboard.up("Control");
    });
    await changes(chart, () => cell.output.getByRole("button", { name: "Reset zoom" }).click());
  });

  test("a chart's legend takes a series away and brings it back, by mouse and keyboard", async (person) => {
    await person.page.emulateMedia({ colorScheme: "light" });
    const cell = await person.converse();
    await cell.run(CHARTS.line);
    const chart = person.chartIn(cell.output);
    await sees(chart);
    await person.settle();
    const wet = chart.getByRole("list", { name: "Legend" }).getByRole("button", { name: "wet" });
    await eventually(() => has(chart, FIRST.light), "its line");
    await wet.click();
    await eventually(async () => !(await has(chart, FIRST.light)), "a chart without it");
    assert.equal(await wet.getAttribute("aria-pressed"), "false");
    await person.picture("legend");
    await wet.press("Enter");
    await eventually(() => has(chart, FIRST.light), "its line again");
    assert.equal(await wet.getAttribute("aria-pressed"), "true");
  });

  test("slices of a pie are taken away by its legend", async (person) => {
    await person.page.emulateMedia({ colorScheme: "light" });
    const cell = await person.converse();
    await cell.run(CHARTS.pie);
    const chart = person.chartIn(cell.output);
    await sees(chart);
    await person.settle();
    await eventually(() => has(chart, FIRST.light), "its first slice");
    await chart.getByRole("list", { name: "Legend" }).getByRole("button", { name: "ants" }).click();
    await eventually(async () => !(await has(chart, FIRST.light)), "a pie without it");
  });

  test("a chart is drawn anew when the theme changes", async (person) => {
    await person.page.emulateMedia({ colorScheme: "light" });
    const cell = await person.converse();
    await cell.run(CHARTS.line);
    const chart = person.chartIn(cell.output);
    await sees(chart);
    await person.settle();
    await eventually(() => has(chart, FIRST.light), "a dark line on a bright page");
    await person.page.emulateMedia({ colorScheme: "dark" });
    await eventually(() => has(chart, FIRST.dark), "a bright line on a dark page");
    assert.ok(!(await has(chart, FIRST.light)));
  });

  test("a matplotlib figure has an interactive twin", async (person) => {
    const cell = await person.converse();
    await cell.run(FIGURE);
    await sees(cell.output.getByRole("img"));
    await cell.output.getByText("Interactive", { exact: true }).first().click();
    const chart = person.chartIn(cell.output);
    await sees(chart);
    await person.settle();
    await tells(person, chart);
    await person.picture("twin");
    await cell.output.getByText("Image", { exact: true }).first().click();
    await gone(chart.locator("canvas"));
  });

  test("a figure keeps its colours and dashes when it becomes interactive", async (person) => {
    await person.page.emulateMedia({ colorScheme: "light" });
    const cell = await person.converse();
    await cell.run("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 3, 2], color='#d000d0', ls='--', lw=3, marker='s', label='dashed')\n" +
      "ax.plot([2, 1, 3], 'k:', label='dotted')\nax.plot([3, 2, 1], 'o', color='#0088ff', label='points')\nax.set_ylim(0, 5)\nax.legend()\nplt.show()");
    await sees(cell.output.getByRole("img"));
    assert.equal(await cell.output.getByText(/interactive form lacks/).count(), 0);
    await person.picture("figure-light");
    await cell.output.getByText("Interactive", { exact: true }).first().click();
    const chart = person.chartIn(cell.output);
    await sees(chart);
    await person.settle();
    await eventually(() => has(chart, [0xd0, 0x00, 0xd0]), "the colour of the line");
    await eventually(() => has(chart, [0x00, 0x88, 0xff]), "the colour of the points");
    await person.picture("twin-styled");
    await person.page.emulateMedia({ colorScheme: "dark" });
    await person.settle();
    await person.picture("twin-styled-dark");
    await cell.output.getByText("Image", { exact: true }).first().click();
    await person.settle();
    await person.picture("figure-dark");
  });

  test("the bars of a histogram touch when it becomes interactive", async (person) => {
    await person.page.emulateMedia({ colorScheme: "light" });
    const cell = await person.converse();
    await cell.run("import matplotlib.pyplot as plt\nplt.hist([1, 2, 2, 3, 3, 3, 4, 4, 5, 6], bins=6, color='#d000d0')\nplt.grid(True)\nplt.xlabel('size')\nplt.show()");
    await sees(cell.output.getByRole("img"));
    await cell.output.getByText("Interactive", { exact: true }).first().click();
    const chart = person.chartIn(cell.output);
    await sees(chart);
    await person.settle();
    assert.equal(await cell.output.getByText(/interactive form lacks/).count(), 0);
    await eventually(() => has(chart, [0xd0, 0x00, 0xd0]), "the colour of the bars");
    const widest = () => chart.locator("canvas").first().evaluate((canvas) => {
      const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let most = 0;
      for (let y = 0; y < height; y++) {
        let run = 0;
        for (let x = 0; x < width; x++) {
          const at = 4 * (y * width + x);
          run = data[at] === 0xd0 && data[at + 1] === 0 && data[at + 2] === 0xd0 ? run + 1 : 0;
          most = Math.max(most, run);
        }
      }
      return most / width;
    });
    await eventually(async () => (await widest()) > 0.6, "a row of pixels that belongs to all bars without a gap");
    await tells(person, chart);
    await person.picture("twin-histogram");
  });

  test("a figure with a picture in it says what its interactive form lacks", async (person) => {
    const cell = await person.converse();
    await cell.run("import matplotlib.pyplot as plt\nfig, (a, b) = plt.subplots(1, 2, figsize=(8, 3))\na.barh(['ants', 'bees'], [3, 9])\nb.imshow([[1, 2], [3, 4]])\n" +
      "b.set_title('heat')\nplt.show()");
    const image = cell.output.getByRole("img", { name: /^Figure/ });
    await sees(image);
    await says(cell.output, "The interactive form lacks the whole of heat: a picture (imshow)");
    await eventually(() => image.evaluate((element) => element.naturalWidth > 1.7 * element.clientWidth), "a picture that is sharp on a dense screen");
    await cell.output.getByText("Interactive", { exact: true }).first().click();
    await sees(person.chartIn(cell.output));
    await says(cell.output, "The image below shows all.");
    await sees(image);
    await person.settle();
    await person.picture("twin-lacks");
  });

  test("a chart that makes no sense is a notice, and the page goes on", async (person) => {
    const cell = await person.converse();
    for (const broken of ["{'type': 'sunburst'}", "{'type': 'line', 'data': 7}", "'no chart'", "{'type': 'pie', 'data': [1, None, 'x'], 'categoryKey': 5}"]) {
      await cell.run(`_chart = ${broken}\nprint('still here')`);
      await says(cell.output, "still here");
    }
    await says(cell.output, /chart/i);
    await cell.run("1 + 1");
    await says(cell.output, "2");
  });

  test("a plotly figure is drawn", async (person) => {
    const cell = await person.converse();
    await cell.run("import plotly.graph_objects as go\ngo.Figure(go.Bar(x=['a', 'b'], y=[2, 5]), layout={'title': 'By plotly'})");
    const frame = cell.output.locator("iframe").contentFrame();
    await sees(frame.locator(".main-svg"));
    await says(frame.locator("body"), "By plotly");
    await person.picture("plotly");
  });

  test("HTML is shown in a frame that can do nothing", async (person) => {
    const cell = await person.converse();
    await cell.run("class Html:\n    def _repr_html_(self): return '<h2>A heading</h2><p style=\"color:red\">coloured</p>'\nHtml()");
    const frame = cell.output.locator("iframe");
    await sees(frame);
    const sandbox = (await frame.getAttribute("sandbox")).split(/\s+/);
    assert.deepEqual(sandbox, ["allow-scripts"]);
    await sees(frame.contentFrame().getByRole("heading", { name: "A heading" }));
    await eventually(async () => (await frame.boundingBox()).height < 400, "its height");
  });

  test("a dict is a tree, but its text where JSON lacks a value of it", async (person) => {
    const cell = await person.converse();
    await cell.run("{'long': 'x' * 300, 'none': None}");
    await says(cell.output.locator(".json"), /none: null/);
    await cell.run("{'long': 'x' * 300, 'none': None, 'inf': float('inf'), 'big': 2**80, 'bytes': b'x'}");
    await says(cell.output, /'none': None, 'inf': inf, 'big': 1208925819614629174706176, 'bytes': b'x'/);
    await gone(cell.output.locator(".json"));
    await cell.output.getByText("JSON", { exact: true }).click();
    await says(cell.output.locator(".json"), /inf: null/);
  });

  test("a traceback is folded to what matters", async (person) => {
    const cell = await person.converse();
    await cell.run("import json\ndef outer(text):\n    return json.loads(text)\nouter('{')");
    await says(cell.output, "JSONDecodeError");
    assert.doesNotMatch(await cell.output.innerText(), /decoder\.py/);
    await cell.output.getByRole("button", { name: /traceback|frames/i }).first().click();
    await says(cell.output, "decoder.py");
    await person.picture("traceback");
  });

  test("a verdict is told in words, with what to do and what was used", async (person) => {
    const cell = await person.converse();
    await cell.run("print('fine')");
    await says(cell.output, /Done in/);
    await cell.output.getByRole("button", { name: "Details" }).click();
    for (const name of [/time/i, /cpu/i, /memory/i]) await sees(cell.output.getByRole("meter", { name }));
    await cell.run("hog = [bytearray(2**20) for _ in range(4000)]");
    await says(cell.output, /out of memory/i);
    await says(cell.output, /load less|smaller|raise/i);
    await says(cell.output, /rolled back/i);
    await sees(cell.output.getByRole("button", { name: /use the policy/i }));
    await person.picture("memory");
    await cell.run("raise ValueError('of ours')");
    await says(cell.output, "of ours");
  });

  test("files of a run are named and can be had", async (person) => {
    const cell = await person.converse();
    await cell.run("open('out.csv', 'w').write('a,b\\n1,2\\n')");
    const file = await saved(person, cell.output.getByRole("button", { name: /out\.csv/ }).or(cell.output.getByRole("link", { name: /out\.csv/ })).first());
    assert.equal(file.bytes.toString(), "a,b\n1,2\n");
  });

  test("a file says before a click that it changed or went, and by which cell", async (person) => {
    const cell = await person.converse();
    await cell.run("open('a.txt', 'w').write('one')\nopen('b.txt', 'w').write('one')");
    const chip = (of, name) => of.output.getByRole("listitem").filter({ hasText: name });
    await says(chip(cell, "a.txt"), /^a\.txt\s+3 bytes\s+Download$/);
    const second = await person.another();
    await second.run("open('a.txt', 'w').write('two')\nimport os\nos.remove('b.txt')"); // with as many bytes
    await says(chip(cell, "a.txt"), /changed since by cell 2, now 3 bytes/);
    await says(chip(cell, "b.txt"), /^b\.txt\s+3 bytes\s+removed since$/);
    await says(chip(second, "a.txt"), /^a\.txt\s+3 bytes\s+Download$/);
    await person.picture("files-since");
    const file = await saved(person, cell.output.getByRole("button", { name: "Download a.txt as it is now" }));
    assert.equal(file.bytes.toString(), "two");
    await person.refresh();
    await says(chip(cell, "a.txt"), /changed since by cell 2/);
    const [session] = (await person.agent.sessions()).toSorted((a, b) => b.created_ms - a.created_ms); // this conversation's
    await person.agent.run(session, "open('a.txt', 'w').write('one')"); // another's run, and no cell's: as it was
    await says(chip(cell, "a.txt"), /^a\.txt\s+3 bytes\s+Download$/);
  });

  test("colours of a terminal are colours, and no signs", async (person) => {
    const cell = await person.converse();
    await cell.run("print('\\x1b[31mred\\x1b[0m and plain')");
    const text = await says(cell.output, "red and plain");
    assert.ok(!text.includes("\x1b") && !text.includes("[31m"));
  });
});
