// SPDX-License-Identifier: Apache-2.0
// Measures the page as bench/page.py asks: one JSON object per figure and line.
import { says, sees } from "../tests/browser/lib/expect.mjs";
import { Person } from "../tests/browser/lib/person.mjs";
import { launch } from "../tests/browser/lib/runner.mjs";

const daemon = { url: `http://127.0.0.1:${process.env.VIV_PORT}` };
const ROUNDS = process.env.VIV_QUICK ? 3 : 15;
const FRAMES = process.env.VIV_QUICK ? 120 : 600;
const DROPPED_MS = 25; // a frame of 60 in a second takes 16.7
const SMOOTH_MS = 25;
const PROMPT_MS = 100; // what a person takes for at once
const LINES = 100_000;
const POINTS = 100_000;

function row(name, value, unit, target, met) {
  console.log(JSON.stringify({ name, value: Math.round(value * 10) / 10, unit, target: target ?? null, met: met ?? null }));
}

function share(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

/** The times between frames while `deed` goes on, as the page itself sees them. */
async function frameTimes(person, deed) {
  await person.page.evaluate((count) => {
    window.frameTimes = [];
    let last = performance.now();
    const frame = (now) => {
      window.frameTimes.push(now - last);
      last = now;
      if (window.frameTimes.length < count) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }, FRAMES);
  let isOver = false;
  const busy = (async () => {
    for (let i = 0; !isOver; i++) await deed(i);
  })();
  await person.page.waitForFunction((count) => window.frameTimes.length >= count, FRAMES, { timeout: 120_000 });
  isOver = true;
  await busy;
  return person.page.evaluate(() => window.frameTimes.slice(1));
}

function rowFrames(what, times, target) {
  row(`${what}: time between frames, p50`, share(times, 0.5), "ms");
  row(`${what}: p95`, share(times, 0.95), "ms", `<= ${target} ms`, share(times, 0.95) <= target);
  row(`${what}: p99`, share(times, 0.99), "ms");
  row(`${what}: frames that came late`, 100 * times.filter((time) => time > DROPPED_MS).length / times.length, "%");
}

async function firstLoad(browser) {
  const [paints, results] = [[], []];
  let bytes = 0;
  for (let i = 0; i < ROUNDS; i++) {
    const person = await Person.come(browser, daemon);
    const begin = performance.now();
    await person.page.goto("/");
    await person.button(/^example/i).first().click();
    await says(person.outputs, /^done\b/im);
    results.push(performance.now() - begin);
    const seen = await person.page.evaluate(() => ({
      paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
      eager: [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
        .filter(({ startTime, name, initiatorType }) => initiatorType === "navigation" || (/\/assets\//.test(name) &&
          startTime < performance.getEntriesByName("first-contentful-paint")[0].startTime))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
    }));
    paints.push(seen.paint);
    bytes = seen.eager;
    await person.leave();
  }
  row("first load, as it travels (gzip)", bytes / 1000, "KB", "<= 400 KB", bytes <= 400_000);
  row("first contentful paint, p50", share(paints, 0.5), "ms", "<= 1000 ms", share(paints, 0.5) <= 1000);
  row("from opening to the result of an example by one click, p50", share(results, 0.5), "ms", "<= 1000 ms", share(results, 0.5) <= 1000);
}

async function manyLines(browser) {
  const person = await Person.come(browser, daemon);
  const cell = await person.converse();
  const begin = performance.now();
  await cell.run(`for i in range(${LINES}): print('line', i)`, 60_000);
  row("100,000 lines printed and shown", performance.now() - begin, "ms");
  const all = cell.output.getByRole("button", { name: /show all/i });
  if (await all.count()) await all.click();
  const text = cell.output.getByText(/^line \d+$/).first();
  const box = await (await text.count() ? text : cell.output).boundingBox();
  await person.page.mouse.move(box.x + 40, Math.min(box.y + 40, 800));
  rowFrames("scrolling 100,000 lines", await frameTimes(person, async (i) => {
    await person.page.mouse.wheel(0, i % 200 < 100 ? 900 : -700);
    await person.page.evaluate(() => new Promise(requestAnimationFrame));
  }), SMOOTH_MS);
  await person.leave();
}

/** Moves over a chart of 100,000 points, then turns the wheel in it. */
async function largeChart(browser, kind) {
  const what = kind === "line" ? "100,000 points" : `100,000 points (${kind})`;
  const person = await Person.come(browser, daemon);
  const cell = await person.converse();
  await cell.run("_chart = {'type': 'line', 'categoryKey': 'x', 'valueKeys': ['y'], 'data': [{'x': 1, 'y': 2}]}"); // the chunk is loaded
  await sees(person.chartIn(cell.output));
  // Two series of half as many points each: as one they are more than a run may hand over (result_max).
  await cell.write(`import math\n_chart = {'type': '${kind}', 'title': 'Many', 'categoryKey': 'x', 'valueKeys': ['a', 'b'],\n` +
    ` 'data': [{'x': i, 'a': round(math.sin(i / 900) * 50, 2), 'b': i % 13} for i in range(${POINTS / 2})]}`);
  const begin = performance.now();
  await cell.start();
  await sees(cell.output.getByRole("img", { name: /many/i }), 60_000);
  await cell.over(60_000);
  row(`${what} computed, sent and drawn`, performance.now() - begin, "ms");
  const chart = person.chartIn(cell.output).locator("canvas").first();
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  const at = (part) => [box.x + box.width * (0.15 + 0.7 * part), box.y + box.height / 2];
  rowFrames(`hovering over ${what}`, await frameTimes(person, async (i) => {
    await person.page.mouse.move(...at((i % 50) / 50));
    await person.page.evaluate(() => new Promise(requestAnimationFrame));
  }), PROMPT_MS);
  await person.page.mouse.move(...at(0.5));
  await person.page.keyboard.down("Control");
  rowFrames(`zooming ${what}`, await frameTimes(person, async (i) => {
    await person.page.mouse.wheel(0, i % 20 < 10 ? -120 : 120);
    await person.page.evaluate(() => new Promise(requestAnimationFrame));
  }), PROMPT_MS);
  await person.page.keyboard.up("Control");
  await person.leave();
}

const browser = await launch();
try {
  await firstLoad(browser);
  await manyLines(browser);
  for (const kind of ["line", "scatter", "bar"]) await largeChart(browser, kind);
} finally {
  await browser.close();
}
