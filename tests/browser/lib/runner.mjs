// SPDX-License-Identifier: Apache-2.0
// The runner: one Chromium for all, one daemon per subject, a fresh profile per test. It says what it tries line by line
// and ends with the count that tests/run reads.
import { createRequire } from "node:module";
import { join } from "node:path";
import { Daemon } from "./daemon.mjs";
import { Person } from "./person.mjs";

const require = createRequire(join(process.env.VIV_NODE_MODULES, "/"));
const { chromium } = require("playwright-core");

const TEST_MS = 240_000; // a few waits that all take long
export const ELSEWHERE = "elsewhere.test"; // a site that is not the daemon's
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
  // Whatever the page may try: no name is looked up, so nothing can leave this machine.
  `--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`,
];

export function launch() {
  return chromium.launch({ executablePath: process.env.VIV_CHROMIUM, args: FLAGS, headless: true });
}

/** A file of tests: `options.config` are lines of the daemon's YAML, `define` gets `test(title, [options,] body)`. */
export function subject(name, options, define) {
  const tests = [];
  define((title, ...rest) => {
    const body = rest.pop();
    tests.push({ title, body, options: rest[0] ?? {} });
  });
  return { name, options, tests };
}

/** The promise, or an error after so long: a test that hangs is one that failed. */
function within(ms, promise) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`not over after ${ms / 1000} s`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function indent(text) {
  return text.replaceAll(/^/gm, "    ");
}

/** The error and its place in the tests, without the rest of the stack and the colours. */
function tellOf(error) {
  const lines = String(error?.stack ?? error).replaceAll(/\x1b\[\d+m/g, "").split("\n");
  return lines.filter((line) => !/^ {4}at /.test(line) || /\.test\.mjs/.test(line)).slice(0, 40).join("\n");
}

class Report {
  passed = 0;
  failed = 0;

  async attempt(name, deed) {
    const begin = performance.now();
    try {
      await deed();
      this.passed++;
      console.log(`ok ${name} (${Math.round(performance.now() - begin)} ms)`);
    } catch (error) {
      this.failed++;
      console.log(`not ok ${name} (${Math.round(performance.now() - begin)} ms)`);
      console.log(indent(tellOf(error)));
    }
  }
}

async function runTest(browser, daemon, subjectName, test) {
  const person = await Person.come(browser, daemon, test.options);
  const picture = join(process.env.VIV_SCREENSHOTS, `${subjectName}-${test.title}`.replaceAll(/[^a-z0-9]+/gi, "-") + ".png");
  try {
    await within(TEST_MS, test.body(person, daemon));
    await person.checkWatch();
    if (process.env.VIV_KEEP) await person.page.screenshot({ path: picture });
  } catch (error) {
    await person.page.screenshot({ path: picture, timeout: 5000 }).catch(() => {});
    error.stack += `\nseen by the browser: ${person.watch.tell()}\nscreenshot: ${picture}`;
    throw error;
  } finally {
    await person.leave();
  }
}

async function runSubject(browser, report, { name, options, tests }) {
  let daemon = null;
  await report.attempt(`${name}: the daemon starts`, async () => {
    daemon = await Daemon.start(options.config, options.flags);
  });
  if (!daemon) return;
  for (const test of tests) {
    await report.attempt(`${name}: ${test.title}`, () => runTest(browser, daemon, name, test));
    if (!daemon.isUp) await daemon.again(); // a test that failed must not take the next ones with it
  }
  await report.attempt(`${name}: the daemon leaves nothing behind`, () => daemon.stop());
}

/** Runs the subjects, or what of them has one of the names; returns the exit status. */
export async function run(subjects, names) {
  const report = new Report();
  const browser = await launch();
  try {
    for (const { name, options, tests } of subjects) {
      const wanted = tests.filter(({ title }) => !names.length || names.some((part) => `${name}: ${title}`.includes(part)));
      if (wanted.length) await runSubject(browser, report, { name, options, tests: wanted });
    }
  } finally {
    await browser.close();
  }
  console.log(`${report.passed} passed, ${report.failed} failed`);
  return report.failed || !report.passed ? 1 : 0;
}
