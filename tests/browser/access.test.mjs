// SPDX-License-Identifier: Apache-2.0
// For people: axe on every view in both themes, the keyboard alone, a narrow screen, little motion.
import { createRequire } from "node:module";
import { join } from "node:path";
import { FIGURE } from "./lib/codes.mjs";
import { assert, eventually, gone, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

const require = createRequire(join(process.env.VIV_NODE_MODULES, "/"));
const AXE = require("axe-core").source;
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Violations that axe finds in the page. Axe comes by the debugger, so that the CSP needs no hole for it. */
async function violations(person) {
  await person.page.evaluate(AXE);
  const found = await person.page.evaluate(async (tags) => {
    const { violations: list } = await window.axe.run(document, { runOnly: { type: "tag", values: tags } });
    return list.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 4).map(({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary.split("\n").slice(1, 3).join("; ").trim().slice(0, 200)})`).join(" | ")}`);
  }, RULES);
  return found;
}

async function assertAccessible(person, view) {
  for (const colorScheme of ["light", "dark"]) {
    await person.page.emulateMedia({ colorScheme });
    await person.settle();
    assert.deepEqual(await violations(person), [], `${view}, ${colorScheme}`);
    await person.picture(`${view}-${colorScheme}`);
  }
}

/** A conversation with something of everything in it. */
async function rich(person) {
  const cell = await person.converse();
  await cell.run(`import pandas as pd\nprint('text')\n${FIGURE}\npd.DataFrame({'n': range(200), 'word': 'moss'})`);
  const broken = await person.another();
  await broken.run("1 / 0");
  const note = await person.another("note");
  await note.write("# A note\n\nwith text");
  const chart = await person.another();
  await chart.run("_chart = {'type': 'bar', 'title': 'Ferns', 'categoryKey': 'p', 'valueKeys': ['n'], 'data': [{'p': 'a', 'n': 1}, {'p': 'b', 'n': 2}]}");
  await chart.output.evaluate((element) => element.scrollIntoView({ block: "end" }));
  await sees(person.chartIn(chart.output));
}

async function assertFits(person, view) {
  const wide = await person.page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const root = document.scrollingElement;
    return { over: root.scrollWidth - width, width };
  });
  assert.ok(wide.over <= 0, `${view} scrolls sideways by ${wide.over} px at ${wide.width} px`);
}

const VIEWS = { welcome: "", approvals: "#/approvals", status: "#/status", settings: "#/settings" };

export default subject("access", {}, (test) => {
  for (const [view, hash] of Object.entries(VIEWS)) {
    test(`axe has nothing against ${view}`, async (person) => {
      await person.open(hash);
      await sees(person.heading);
      await assertAccessible(person, view);
    });
  }

  test("axe has nothing against a conversation, its panel and its menus", async (person) => {
    await rich(person);
    await assertAccessible(person, "conversation");
    for (const name of ["Variables", "Files", "Timeline"]) {
      await person.tab(name);
      await assertAccessible(person, `panel-${name.toLowerCase()}`);
    }
  });

  test("axe has nothing against a table and a column's menu", async (person) => {
    const cell = await person.converse();
    await cell.run("import pandas as pd\npd.DataFrame({'n': range(200), 'word': 'moss'}, index=pd.MultiIndex.from_product([range(100), list('ab')], names=['i', None]))");
    for (const [column, part] of [["n", "histogram"], ["word", "frequent"]]) {
      await cell.output.getByRole("button", { name: `Filter and summary of ${column}` }).click();
      const menu = person.role("dialog", `Column ${column}`);
      await sees(part === "histogram" ? menu.getByRole("img") : menu.getByRole("table"));
      await assertAccessible(person, `table-menu-${column}`);
      await person.page.keyboard.press("Escape");
    }
  });

  test("everything can be done by the keyboard alone", async (person) => {
    const { keyboard } = person.page;
    await person.open();
    /** Tab until what has the focus has this name. */
    const tabTo = async (name) => {
      for (let i = 0; i < 80; i++) {
        await keyboard.press("Tab");
        const focus = await person.page.evaluate(() => {
          const element = document.activeElement;
          const style = getComputedStyle(element);
          return {
            name: element.getAttribute("aria-label") || element.textContent.trim(),
            isVisible: style.outlineStyle !== "none" || style.boxShadow !== "none" || element.matches(".cm-content, input, textarea, main"),
          };
        });
        if (name.test(focus.name)) {
          assert.ok(focus.isVisible, `the focus on ${focus.name} cannot be seen`);
          return;
        }
      }
      throw new Error(`the Tab key does not come to ${name}`);
    };
    await tabTo(/^new conversation/i);
    await keyboard.press("Enter");
    const cell = person.cell(1);
    await sees(cell.editor);
    await eventually(async () => {
      if (await cell.editor.evaluate((element) => element.contains(document.activeElement))) return true;
      await keyboard.press("Tab");
      return false;
    }, "the focus in the editor");
    await keyboard.type("print('by hand')");
    await keyboard.press("Shift+Enter");
    await says(cell.output, "by hand");
    // Out of an editor, in which Tab indents, leads Escape.
    await keyboard.press("Escape");
    await tabTo(/^(move up|delete|add code)/i);
  });

  test("at 360 px nothing scrolls sideways", { context: { viewport: { width: 360, height: 740 } } }, async (person) => {
    for (const [view, hash] of Object.entries(VIEWS)) {
      await person.open(hash);
      await sees(person.page.getByRole("main"));
      await person.settle();
      await assertFits(person, view);
      await person.picture(`narrow-${view}`);
    }
    await person.open();
    await person.openMenu();
    await rich(person);
    await assertFits(person, "a conversation");
    await person.picture("narrow-conversation");
    assert.deepEqual(await violations(person), []);
  });

  test("on a phone nothing covers the buttons between cells", { context: { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true } }, async (person) => {
    await person.open();
    await person.openMenu();
    await person.converse();
    await person.another();
    const insert = person.button("Add note below").first();
    await insert.scrollIntoViewIfNeeded();
    await insert.click({ trial: true }); // fails where something else would take it
    const [tools, note] = await Promise.all([person.role("toolbar", "Tools of cell 2").boundingBox(), insert.boundingBox()]);
    assert.ok(note.x + note.width <= tools.x || note.y + note.height <= tools.y, "the tools cover Note");
  });

  test("on a phone a drawer closes where another page is shown", { context: { viewport: { width: 390, height: 740 } } }, async (person) => {
    await person.open("#/status");
    await person.page.goto("/#/settings");
    await person.openMenu();
    await sees(person.sidebar);
    await person.page.goBack();
    await gone(person.sidebar);
    await sees(person.role("heading", "Status"));
  });

  // At 300 px the body of each of these dialogs is longer than the window: without a part that scrolls, Done is cut off.
  test("a dialog's buttons stay in sight, however long what it shows and low the window", { context: { viewport: { width: 1280, height: 300 } } }, async (person) => {
    const cell = await person.converse();
    await cell.run("import pandas as pd\nframe = pd.DataFrame({'n': range(500)})");
    const panel = await person.tab("Variables");
    const dialog = person.page.getByRole("dialog");
    const open = {
      frame: () => panel.getByRole("button", { name: /frame/ }).first().click(),
      limits: () => person.deed(/^Time, memory and Python/),
    };
    for (const [name, deed] of Object.entries(open)) {
      await deed();
      await sees(dialog.getByRole("grid").or(dialog.getByLabel("Policy")).first());
      await person.settle();
      const frame = await dialog.boundingBox();
      assert.ok(frame.y >= 0 && frame.y + frame.height <= 300, `the dialog of ${name} is higher than the window`);
      for (const label of ["Close", name === "limits" ? "Save" : "Done"]) {
        const button = dialog.getByRole("button", { name: label, exact: true });
        const box = await button.boundingBox();
        assert.ok(box.y >= frame.y && box.y + box.height <= frame.y + frame.height, `${label} of ${name} is cut off: ${JSON.stringify({ box, frame })}`);
        // Nothing lies over it, and nothing clips it: each corner is the button's own.
        const isWhole = await button.evaluate((element) => {
          const { left, right, top, bottom } = element.getBoundingClientRect();
          return [[left + 6, top + 6], [right - 6, top + 6], [left + 6, bottom - 6], [right - 6, bottom - 6]]
            .every(([x, y]) => element.contains(document.elementFromPoint(x, y)));
        });
        assert.ok(isWhole, `${label} of ${name} is covered`);
      }
      await person.closeDialog();
    }
  });

  test("every page begins at its top", { context: { viewport: { width: 1000, height: 300 } } }, async (person) => {
    for (let i = 0; i < 12; i++) await person.agent.call("POST", "/v1/run", { code: `print(${i})` });
    await person.open("#/status");
    const top = () => person.page.locator(".scroll").evaluate((element) => element.scrollTop);
    await eventually(async () => {
      await person.page.locator(".scroll").evaluate((element) => element.scrollTo(0, 200));
      return (await top()) === 200;
    }, "a page that is scrolled down");
    await person.role("link", /approvals/i).click();
    await sees(person.role("heading", "Approvals"));
    assert.equal(await top(), 0);
  });

  test("who wants little motion sees none", { context: { reducedMotion: "reduce" } }, async (person) => {
    const cell = await person.converse();
    await cell.start("import time\ntime.sleep(600)");
    await sees(cell.stop);
    const moving = await person.page.evaluate(() => document.getAnimations()
      .filter((animation) => animation.playState === "running" && (animation.effect?.getComputedTiming().duration ?? 0) > 20)
      .map((animation) => `${animation.animationName ?? animation.transitionProperty} of ${animation.effect?.target?.className}`));
    assert.deepEqual(moving, []);
    await cell.stop.click();
    await cell.over();
  });
});
