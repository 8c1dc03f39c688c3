// SPDX-License-Identifier: Apache-2.0
// A page of a stranger in the same browser: it is served on another port of this machine, or by a name that leads here.
// It tries all that a page can send. Nothing may run, nothing may be read; where the config lists its origin, all of it works.
import { createServer } from "node:http";
import { assert } from "./lib/expect.mjs";
import { Agent, Daemon } from "./lib/daemon.mjs";
import { ELSEWHERE, subject } from "./lib/runner.mjs";

const server = createServer((_, answer) => {
  answer.setHeader("Content-Type", "text/html");
  answer.end("<!doctype html><title>a stranger</title>");
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
server.unref();
const PORT = server.address().port;
const STRANGER = `http://127.0.0.1:${PORT}`;

/** Runs in the page. What it could read, by the way it was read; what was sent is seen at the daemon. */
async function attack({ url, session }) {
  const read = [];
  const run = JSON.stringify({ code: "x = 'taken'" });
  const paths = ["/v1/sessions", `/v1/sessions/${session}/vars`, "/v1/runs", "/v1/status", "/health", "/openapi.json", "/v1/audit"];
  const fetched = async (name, path, options) => {
    try {
      const answer = await fetch(url + path, options);
      if ((await answer.text()).length) read.push(name);
    } catch { /* what the browser says when it may not be read */ }
  };
  const first = (target, good, bad) => new Promise((done) => {
    target[good] = () => done(true);
    target[bad] = () => done(false);
  });
  for (const path of paths) await fetched(`fetch ${path}`, path);
  for (const type of ["text/plain", "application/json"]) {
    for (const mode of ["cors", "no-cors"]) {
      for (const path of ["/v1/run", `/v1/sessions/${session}/run`, "/mcp"]) {
        await fetched(`${mode} ${type} ${path}`, path, { method: "POST", mode, headers: { "Content-Type": type }, body: run });
      }
    }
  }
  await fetched("delete", `/v1/sessions/${session}`, { method: "DELETE" });
  await fetched("put", `/v1/sessions/${session}/files/a.txt`, { method: "PUT", body: "taken" });

  const events = new EventSource(`${url}/v1/events`);
  if (await first(events, "onopen", "onerror")) read.push("EventSource");
  events.close();
  const socket = new WebSocket(`${url.replace("http", "ws")}/v1/events`);
  if (await first(socket, "onopen", "onerror")) read.push("WebSocket");
  for (const [tag, member] of [["script", "src"], ["img", "src"], ["link", "href"]]) {
    const element = Object.assign(document.createElement(tag), { [member]: `${url}/v1/sessions/${session}/files/seen.js` });
    if (tag === "link") element.rel = "stylesheet";
    const loaded = first(element, "onload", "onerror");
    document.head.append(element);
    if ((await loaded) && tag !== "link") read.push(tag);
  }
  if (window.seen) read.push("script ran");

  const frame = Object.assign(document.createElement("iframe"), { name: "target", src: "about:blank" });
  document.body.append(frame);
  const form = Object.assign(document.createElement("form"), { method: "post", action: `${url}/v1/run`, target: "target", enctype: "text/plain" });
  form.append(Object.assign(document.createElement("input"), { name: '{"code":"1","args":["', value: '"]}' }));
  document.body.append(form);
  const submitted = new Promise((done) => { frame.onload = done; });
  form.submit();
  await submitted;

  // A frame without an origin: what it sends says "null".
  const nobody = Object.assign(document.createElement("iframe"), {
    sandbox: "allow-scripts",
    srcdoc: `<script>(async () => { let got = ""; try { got = await (await fetch(${JSON.stringify(url + "/v1/sessions")})).text(); } catch {}
      try { await fetch(${JSON.stringify(url + "/v1/run")}, { method: "POST", mode: "no-cors", body: ${JSON.stringify(run)} }); } catch {}
      parent.postMessage(got, "*"); })()</scr` + "ipt>",
  });
  const told = new Promise((done) => addEventListener("message", ({ data }) => done(data), { once: true }));
  document.body.append(nobody);
  if (await told) read.push("a frame without an origin");
  return read;
}

/** Sends a stranger's page at a daemon; what it read, and what of the daemon has changed by it. */
async function visit(person, daemon, address) {
  const agent = new Agent(daemon);
  const { id } = await agent.session("the owner's");
  await agent.run({ id }, "x = 'mine'\nopen('/workspace/seen.js', 'w').write('window.seen = true')");
  const before = (await agent.call("GET", "/v1/runs")).runs.length;
  const context = await person.page.context().browser().newContext();
  try {
    const page = await context.newPage();
    await page.goto(address);
    const read = await page.evaluate(attack, { url: daemon.url, session: id });
    const sessions = await agent.sessions();
    return { read, runs: (await agent.call("GET", "/v1/runs")).runs.length - before, isThere: sessions.some((one) => one.id === id) };
  } finally {
    await context.close();
  }
}

const NOTHING = { read: [], runs: 0, isThere: true };

export default subject("origins", {}, (test) => {
  test("a page of another port of this machine runs nothing and reads nothing", async (person, daemon) => {
    assert.deepEqual(await visit(person, daemon, STRANGER), NOTHING);
  });

  test("nor does one of another site", async (person, daemon) => {
    assert.deepEqual(await visit(person, daemon, `http://${ELSEWHERE}:${PORT}`), NOTHING);
  });

  test("a name that leads to the daemon is not the daemon's", async (person, daemon) => {
    const context = await person.page.context().browser().newContext();
    const page = await context.newPage();
    const answer = await page.goto(`http://${ELSEWHERE}:${daemon.port}/`);
    assert.equal(answer.status(), 403);
    const read = await page.evaluate(async () => (await fetch("/v1/sessions")).status);
    assert.equal(read, 403);
    await context.close();
  });

  test("what the config lists may call, which shows that the attack is one", async (person) => {
    const open = await Daemon.start(`origins: ["${STRANGER}"]\n`);
    try {
      const { read, runs, isThere } = await visit(person, open, STRANGER);
      for (const name of ["fetch /v1/sessions", "cors text/plain /v1/run"]) assert.ok(read.includes(name), `${name}: ${read}`);
      assert.ok(runs > 0, "no run was started");
      assert.equal(isThere, false);
      assert.ok(!read.includes("a frame without an origin"), String(read));
    } finally {
      await open.stop();
    }
  });
});
