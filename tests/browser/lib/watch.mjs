// SPDX-License-Identifier: Apache-2.0
// Things that the browser knows and a person does not see: errors, violations of the CSP, requests, dialogs. All of it
// must stay empty, but for what a test says that it expects.

/** Told by Chromium when the daemon is away or says no. The answers are watched themselves; the page has its own words. */
const LOADING = /^Failed to load resource: /;
const GONE = /ERR_(CONNECTION|INCOMPLETE|EMPTY)/;

export class Watch {
  errors = []; // console.error and exceptions
  violations = []; // of the page's own CSP
  framed = []; // those of the frame that shows hostile HTML: the wall at work
  requests = []; // every address that was asked for
  foreign = []; // those that are not the daemon's
  refused = []; // answers that were no
  dialogs = [];
  expected = [];

  constructor(origin) {
    this.origin = origin;
  }

  /** From here on errors like this are no news. */
  expects(...patterns) {
    this.expected.push(...patterns);
  }

  /** From here on the daemon may be away, or say no. */
  expectsAbsence() {
    this.expects(GONE, /^\d{3} [A-Z]+ /);
  }

  async put(context) {
    await context.exposeBinding("vivariumTestViolation", ({ frame }, what) => {
      const list = frame.parentFrame() ? this.framed : this.violations;
      list.push(`${frame.url()}: ${what}`);
    });
    await context.addInitScript(() => {
      addEventListener("securitypolicyviolation", (event) => {
        window.vivariumTestViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
      });
    });
    context.on("request", (request) => this.seeRequest(request.url()));
    context.on("response", async (response) => {
      if (response.status() < 400) return;
      const line = `${response.status()} ${response.request().method()} ${response.url()}`;
      const at = this.refused.push(line) - 1;
      const why = (await response.text().catch(() => "")).slice(0, 300); // where it can still be read
      if (this.refused[at] === line) this.refused[at] = `${line} ${why}`; // a test may have emptied the list
    });
    context.on("weberror", (error) => this.errors.push(String(error.error().stack)));
    context.on("dialog", async (dialog) => {
      // The dialog before typed text is lost is the browser's own, and comes only after a person asked to leave.
      if (dialog.type() !== "beforeunload") this.dialogs.push(`${dialog.type()}: ${dialog.message()}`);
      await dialog.dismiss().catch(() => {});
    });
    context.on("console", (message) => {
      if (message.type() !== "error") return;
      const isFrames = new URL(message.location().url || this.origin).pathname === "/frame";
      if (!(isFrames && /Content Security Policy/.test(message.text()))) this.errors.push(message.text());
    });
  }

  seeRequest(url) {
    this.requests.push(url);
    if (!url.startsWith(this.origin + "/") && !/^(data|blob|about):/.test(url)) this.foreign.push(url);
  }

  unexpectedErrors() {
    const errors = this.errors.filter((text) => !LOADING.test(text) || GONE.test(text));
    return [...errors, ...this.refused].filter((text) => !this.expected.some((pattern) => pattern.test(text)));
  }

  tell() {
    return JSON.stringify({
      errors: this.unexpectedErrors().slice(0, 10), violations: this.violations.slice(0, 10),
      foreign: this.foreign.slice(0, 10), dialogs: this.dialogs,
    });
  }

  check() {
    const bad = [...this.unexpectedErrors(), ...this.violations, ...this.foreign, ...this.dialogs];
    if (bad.length) throw new Error("the browser saw what must not be");
  }
}
