// SPDX-License-Identifier: Apache-2.0
// Headers that the browser gets with the page: walls that hold even where the page has a mistake.
import { createServer } from "node:http";
import { assert, eventually } from "./lib/expect.mjs";
import { ELSEWHERE, subject } from "./lib/runner.mjs";

const FIRST_LOAD_MAX = 400_000;

/** Another site, with one page, under a name that the daemon does not know. */
async function elsewhere(html) {
  const server = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end(html));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  server.unref();
  return { url: `http://${ELSEWHERE}:${server.address().port}/`, close: () => server.close() };
}

export default subject("serving", {}, (test) => {
  test("all that is loaded at first is small, comes from the daemon, and is kept", async (person) => {
    await person.open();
    const sizes = () => person.page.evaluate(() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .filter(({ name, initiatorType }) => initiatorType === "navigation" || name.includes("/assets/"))
      .map(({ name, encodedBodySize, transferSize }) => ({ name, encodedBodySize, transferSize })));
    const first = await sizes();
    const total = first.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
    assert.ok(total > 10_000 && total <= FIRST_LOAD_MAX, `${total} bytes`);
    await person.refresh();
    const again = (await sizes()).filter(({ name }) => name.includes("/assets/"));
    assert.deepEqual(again.filter(({ transferSize }) => transferSize > 0), [], "fetched twice");
  });

  test("script and style that somebody gets into the page do not count", async (person) => {
    person.watch.expects(/^404 GET .*\/x\b/, /Content Security Policy/); // the picture that is not there, and the browser's word
    await person.open();
    const got = await person.page.evaluate(async () => {
      const tag = (name, set) => document.body.append(Object.assign(document.createElement(name), set));
      tag("script", { textContent: "window.hacked = 'inline'" });
      tag("script", { src: "data:text/javascript,window.hacked='data'" });
      tag("div", { innerHTML: "<img src=x onerror=\"window.hacked='handler'\"><p id=styled style='color: rgb(1, 2, 3)'>styled</p>" });
      tag("iframe", { srcdoc: "<script>parent.hacked = 'srcdoc'</script>" });
      await new Promise((done) => setTimeout(done));
      return { hacked: window.hacked, colour: getComputedStyle(document.getElementById("styled")).color };
    });
    await eventually(() => person.watch.violations.length + person.watch.framed.length >= 5, "the browser's word on each");
    assert.equal(got.hacked, undefined);
    assert.notEqual(got.colour, "rgb(1, 2, 3)");
    person.watch.violations.length = 0;
  });

  test("no other site can show the page in a frame, or talk to the daemon", async (person, daemon) => {
    const site = await elsewhere(`<iframe src="${daemon.url}/"></iframe><p>elsewhere</p>`);
    try {
      await person.page.goto(site.url);
      const frames = () => person.page.frames().filter((frame) => frame !== person.page.mainFrame());
      await eventually(() => frames().every((frame) => frame.url().startsWith("chrome-error:")), "a refused frame");
      const answer = await person.page.evaluate((url) => fetch(`${url}/v1/run`, { method: "POST", body: '{"code":"1"}' })
        .then((response) => `it got ${response.status}`, () => "refused"), daemon.url);
      assert.equal(answer, "refused");
    } finally {
      site.close();
    }
    person.watch.errors.length = person.watch.refused.length = 0;
    person.watch.foreign.length = 0;
    const { runs } = await person.agent.call("GET", "/v1/runs");
    assert.deepEqual(runs, [], "a run was made by another site");
  });

  test("the frame for results has an origin of its own and reaches nothing", async (person) => {
    await person.open();
    await person.page.evaluate(() => {
      const frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "allow-scripts");
      frame.src = "/frame";
      document.body.append(frame);
    });
    const frame = await eventually(() => person.page.frames().find((one) => new URL(one.url()).pathname === "/frame"), "the frame");
    await frame.waitForLoadState();
    const got = await frame.evaluate(async () => ({
      origin,
      fetch: await fetch("/v1/status").then(() => "got it", () => "refused"),
      parent: (() => {
        try {
          return String(parent.document.title);
        } catch {
          return "refused";
        }
      })(),
      storage: (() => {
        try {
          return String(localStorage.length);
        } catch {
          return "refused";
        }
      })(),
    }));
    assert.deepEqual(got, { origin: "null", fetch: "refused", parent: "refused", storage: "refused" });
    person.watch.errors.length = person.watch.refused.length = 0;
  });

  test("the page brings its own letters", async (person) => {
    const cell = await person.converse();
    await cell.write("x = 1");
    const loaded = () => person.page.evaluate(async () => {
      await document.fonts.ready;
      return [...document.fonts].filter(({ status }) => status === "loaded").map(({ family }) => family.replaceAll('"', "")).sort();
    });
    await eventually(async () => (await loaded()).join() === "Inter,JetBrains Mono", "both typefaces");
  });
});
