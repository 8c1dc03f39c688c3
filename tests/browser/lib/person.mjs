// SPDX-License-Identifier: Apache-2.0
// A person who uses the page: finds things by their role and name, as eyes and screen readers do. The names of the page's
// parts are here and nowhere else, but for those that only one test knows.
import { join } from "node:path";
import { Agent } from "./daemon.mjs";
import { gone, sees, WAIT_MS } from "./expect.mjs";
import { Watch } from "./watch.mjs";

const CELL = /^(cell|note) \d+/i;

/** One cell of the conversation that is open, by its number as it is shown. */
export class Cell {
  constructor(person, number) {
    this.person = person;
    this.number = number;
    this.box = person.page.getByRole("group", { name: new RegExp(`^(cell|note) ${number}\\b`, "i") }).first();
    this.editor = this.box.getByRole("textbox", { name: /^(code|text) of/i });
    this.output = this.box.getByRole("region", { name: /^output/i });
    this.stop = this.box.getByRole("button", { name: /^(stop|interrupt)/i });
  }

  button(name) {
    return this.box.getByRole("button", { name });
  }

  /** Puts the code in place of what is there, as a paste does. */
  async write(code) {
    await this.editor.click();
    await this.person.page.keyboard.press("Control+A");
    await this.person.page.keyboard.press("Delete");
    await this.person.page.keyboard.insertText(code);
  }

  async start(code) {
    if (code !== undefined) await this.write(code);
    await this.editor.press("Control+Enter");
  }

  /** A cell shows how to stop it from the moment it is asked to run until the run is over. */
  async over(ms) {
    await gone(this.stop, ms);
    await sees(this.button(/^run cell/i), ms);
  }

  async run(code, ms) {
    await this.start(code);
    await this.over(ms);
  }
}

export class Person {
  static async come(browser, daemon, options = {}) {
    const person = new Person();
    person.daemon = daemon;
    person.agent = new Agent(daemon);
    person.watch = new Watch(daemon.url);
    person.context = await browser.newContext({
      baseURL: daemon.url, viewport: { width: 1280, height: 900 }, acceptDownloads: true, locale: "en-GB", timezoneId: "UTC",
      ...options.context,
    });
    person.context.setDefaultTimeout(WAIT_MS);
    await person.watch.put(person.context);
    person.page = await person.context.newPage();
    return person;
  }

  async leave() {
    await this.context.close();
  }

  /** The last check of every test: nothing happened behind the person's back. */
  async checkWatch() {
    // A violation is told by an event of its own: let the last of them come.
    await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))).catch(() => {});
    this.watch.check();
  }

  /** A picture of a view under its own name, kept as an artifact. */
  async picture(name) {
    await this.page.screenshot({ path: join(process.env.VIV_SCREENSHOTS, `view-${name}.png`) });
  }

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

  async refresh() {
    await this.page.reload();
    await this.page.getByRole("main").waitFor();
  }

  // ---- conversations ----

  get sidebar() {
    return this.role("navigation", "Conversations");
  }

  row(name) {
    return this.sidebar.getByRole("link", { name });
  }

  get heading() {
    return this.page.getByRole("heading", { level: 1 });
  }

  get sandboxSwitch() {
    return this.role("switch", "Run code", { exact: true });
  }

  /** A new conversation with one empty cell, from wherever the page is. */
  async converse() {
    if (!this.page.url().startsWith(this.daemon.url)) await this.open();
    const before = this.page.url();
    await this.button("New conversation").first().click();
    await this.page.waitForURL((url) => url.href !== before && url.hash.startsWith("#/c/")); // until then the old one is shown
    const cell = this.cell(1);
    await sees(cell.editor);
    return cell;
  }

  /** The outputs of all cells. */
  get outputs() {
    return this.page.getByRole("region", { name: /^output of/i });
  }

  /** The word that the daemon is away. */
  get absence() {
    return this.page.getByRole("alert").filter({ hasText: /daemon does not answer/i });
  }

  get cells() {
    return this.page.getByRole("group", { name: CELL });
  }

  cell(number) {
    return new Cell(this, number);
  }

  /** Makes another cell at the end. */
  async another(kind = "code") {
    const before = await this.cells.count();
    await this.button(kind === "code" ? "Add code" : "Add note").last().click();
    const cell = this.cell(before + 1);
    await sees(cell.box);
    return cell;
  }

  async rowDeed(name, deed) {
    await this.row(name).first().hover();
    await this.sidebar.getByRole("button", { name: `More actions for ${name}` }).first().click();
    await this.role("menuitem", deed).click();
  }

  async rename(name, to) {
    await this.rowDeed(name, "Rename");
    const field = this.role("textbox", "Conversation name");
    await field.fill(to);
    await field.press("Enter");
    await sees(this.row(to));
  }

  async remove(name) {
    await this.rowDeed(name, "Delete");
    await this.confirm("Delete");
    await gone(this.row(name));
  }

  toast(text) {
    return this.page.getByRole("status").getByText(text).or(this.page.getByRole("alert").getByText(text));
  }

  /** An item of the menu in the conversation's header. */
  async deed(name) {
    await this.page.getByRole("main").getByRole("button", { name: "More actions", exact: true }).click();
    await this.role("menuitem", name).click();
  }

  /** Another person at the same conversation, in a tab of the same browser. */
  async secondTab() {
    const other = Object.assign(new Person(), this);
    other.page = await this.context.newPage();
    await other.page.goto(this.page.url());
    return other;
  }

  agentNamed(client) {
    return new Agent(this.daemon, { client });
  }

  agentWith(token) {
    return new Agent(this.daemon, { token });
  }

  // ---- what is shown ----

  /** The interactive charts within something. */
  chartIn(within) {
    return within.getByRole("figure").filter({ has: this.page.locator("canvas") }).first();
  }

  /** Turns the wheel over something. */
  async scrollIn(what, pixels) {
    await what.scrollIntoViewIfNeeded();
    await what.hover();
    await this.page.mouse.wheel(0, pixels);
  }

  /** Says yes in the dialog that asks. Until it has closed, nothing behind it is there for a role. */
  async confirm(name) {
    const dialog = this.page.getByRole("dialog");
    await dialog.getByRole("button", { name }).click();
    await gone(dialog);
  }

  async closeDialog() {
    const dialog = this.page.getByRole("dialog");
    if (!(await dialog.count())) return;
    await this.page.keyboard.press("Escape");
    await gone(dialog);
  }

  /** Where the sidebar is a drawer, opens it. */
  async openMenu() {
    const menu = this.button(/open menu|show (the )?(sidebar|conversations)/i);
    if (await menu.first().isVisible()) await menu.first().click();
  }

  /** Until nothing moves any more, and no list is on its way. */
  async settle() {
    await this.page.evaluate(async () => {
      const finite = () => document.getAnimations().filter((animation) => animation.effect?.getComputedTiming().iterations !== Infinity);
      await Promise.allSettled(finite().map((animation) => animation.finished));
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    });
  }

  // ---- the panel ----

  async tab(name) {
    const tab = this.role("tab", name);
    await tab.click();
    return this.page.getByRole("tabpanel");
  }
}
