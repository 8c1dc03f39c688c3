// SPDX-License-Identifier: Apache-2.0
// Somebody who uses the page: finds things by their role and name, as eyes and screen readers do. The names of the page's
// parts are here and nowhere else in the tests.
import { join } from "node:path";
import { Agent } from "./daemon.mjs";
import { Watch } from "./watch.mjs";

const SHORT_MS = 15_000;

export class Person {
  static async come(browser, daemon, options) {
    const person = new Person();
    person.daemon = daemon;
    person.agent = new Agent(daemon);
    person.watch = new Watch(daemon.url);
    person.context = await browser.newContext({
      baseURL: daemon.url, viewport: { width: 1280, height: 900 }, acceptDownloads: true, locale: "en-GB", timezoneId: "UTC",
      ...options.context,
    });
    person.context.setDefaultTimeout(SHORT_MS);
    await person.watch.put(person.context);
    person.page = await person.context.newPage();
    return person;
  }

  async leave() {
    await this.context.close();
  }

  /** What a test ends with: nothing happened behind the person's back. */
  async checkWatch() {
    // A violation is told by an event of its own: let the last of them come.
    await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))).catch(() => {});
    this.watch.check();
  }

  /** A picture of a view under its own name, kept as an artifact. */
  async picture(name) {
    await this.page.screenshot({ path: join(process.env.VIV_SCREENSHOTS, `view-${name}.png`) });
  }

  // ---- where things are ----

  role(role, name, options = {}) {
    return this.page.getByRole(role, { name, ...options });
  }

  button(name, within = this.page) {
    return within.getByRole("button", { name });
  }

  async open(hash = "") {
    await this.page.goto("/" + hash);
    await this.page.getByRole("main").waitFor();
  }
}
