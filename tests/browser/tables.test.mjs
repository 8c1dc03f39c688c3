// SPDX-License-Identifier: Apache-2.0
// Frames: every digit, the index, and questions that are asked of all rows.
import { readFile } from "node:fs/promises";
import { assert, eventually, gone, says, sees } from "./lib/expect.mjs";
import { subject } from "./lib/runner.mjs";

const LARGE = "import pandas as pd\nN = 100_000\n" +
  "df = pd.DataFrame({'name': [f'n{i:06}' for i in range(N)], 'value': [(i * 7919) % N for i in range(N)],\n" +
  "                   'price': [i / 8 for i in range(N)]})\ndf";
const EXACT = "import pandas as pd\n" +
  "df = pd.DataFrame({'big': [2**53 + 1, 2**62 + 3], 'price': [1234567.89, float('nan')], 'when': pd.to_datetime(['2024-01-05', None]),\n" +
  "                   'year': [2023, 2024], 'word': ['moss', None]},\n" +
  "                  index=pd.MultiIndex.from_tuples([('North', 'a'), ('South', 'b')], names=['region', None]))\ndf";

const DATED = "import pandas as pd\ndf = pd.DataFrame({'day': ['2021-01-01', '2021-12-31'], 'Unnamed: 0': [2498, 2499], 'when': pd.to_datetime(['2024-01-01 10:00:01', '2024-10-20 20:00:00']),\n" +
  "                   'CODE': ['WARMWOOD', 'ÄMM']}, index=pd.Index(['2021-01-01', '2022-06-28'], name='Unnamed: 0.1'))\ndf";

const HOURLY = "import pandas as pd\ndf = pd.DataFrame({'n': [1, 2, 3]}, index=pd.date_range('2024-01-01 22:00', periods=3, freq='H'))\ndf";

const head = (grid, name) => grid.getByRole("columnheader", { name, exact: true });
const sorter = (grid, name) => head(grid, name).getByRole("button").first();
const firstRow = (grid) => grid.getByRole("row").nth(1);

async function saved(person, button) {
  const [download] = await Promise.all([person.page.waitForEvent("download"), button.click()]);
  return (await readFile(await download.path())).toString();
}

/** Opens a variable of the session in its dialog. */
async function variable(person, name) {
  const panel = await person.tab("Variables");
  await panel.getByRole("button", { name: new RegExp(`^Show ${name}\\b`) }).click();
  const dialog = person.page.getByRole("dialog", { name, exact: true });
  await sees(dialog.getByRole("grid"));
  return dialog;
}

/** A large frame, in the panel's dialog: what there is of it and around it. */
async function large(person) {
  const cell = await person.converse();
  await cell.run(LARGE);
  const place = await variable(person, "df");
  return { place, grid: place.getByRole("grid") };
}

export default subject("tables", {}, (test) => {
  test("midnight in an hourly index is shown with its time, as pandas prints it", async (person) => {
    const cell = await person.converse();
    await cell.run(HOURLY);
    await says(cell.output, "2024-01-01 23:00:00");
    await says(cell.output, "2024-01-02 00:00:00");
  });

  test("a frame keeps its index, its decimals and every digit, in the cell and in the panel", async (person) => {
    const cell = await person.converse();
    await cell.run(EXACT);
    const dialogOf = async () => (await variable(person, "df")).getByRole("grid");
    for (const find of [async () => cell.output.getByRole("grid"), dialogOf]) {
      const grid = await find();
      await sees(grid);
      for (const name of ["region", "big", "price", "when", "year"]) await sees(head(grid, name));
      const rows = grid.getByRole("row");
      await says(rows.nth(1), /North\s+a\s+9,007,199,254,740,993\s+1,?234,?567\.89\s+2024-01-05\s+2023\s+moss/);
      await says(rows.nth(2), /South\s+b\s+4,611,686,018,427,387,907\s+NaN\s+NaT\s+2024\s+None/);
      await person.picture(find === dialogOf ? "frame-panel" : "frame-cell");
    }
    const csv = await saved(person, person.page.getByRole("dialog").getByRole("button", { name: "Save as CSV" }));
    assert.match(csv, /^North,a,9007199254740993,1234567\.89,2024-01-05/m);
  });

  test("a table never mixes the rows of a frame before and after a change", async (person) => {
    const cell = await person.converse();
    await cell.run("import pandas as pd\nN = 600_000\ndf = pd.DataFrame({'a': range(N), 'b': 0.0, 's': 'x'})\ndf");
    await says(cell.output, "600,000 rows × 3 columns");
    await (await person.another()).run("df['b'] = -5.0\ndf.drop(columns='a', inplace=True)\ndf.drop(index=range(300_000), inplace=True)");
    await says(person.cell(2).output, "Done");
    person.watch.expects(/^400 GET .*\/vars\/~.*there is no column/); // by then, "s" is the second one
    await sorter(cell.output.getByRole("grid"), "s").click();
    await says(cell.output, "This frame has changed since it was shown: run the cell again to see all of it.");
    await says(cell.output, "1,000 of 600,000 rows are here × 3 columns");
    await says(firstRow(cell.output.getByRole("grid")), /0\s+0\s+0\.0\s+x/);
    await person.picture("table-changed");
  });

  test("an order is that of all rows, and any row can be gone to", async (person) => {
    const { place, grid } = await large(person);
    await says(place, "100,000 rows × 3 columns");
    await sorter(grid, "price").click();
    await sorter(grid, "price").click();
    await eventually(async () => (await head(grid, "price").getAttribute("aria-sort")) === "descending", "an order");
    await says(firstRow(grid), /99999\s+n099999/);
    await person.picture("table-sorted");
    await sorter(grid, "price").click();
    await says(firstRow(grid), "n000000");
    const field = place.getByRole("textbox", { name: /^go to row/i });
    await field.fill("54,321");
    await field.press("Enter");
    await says(grid, "n054321");
    await gone(grid.getByText("n000000", { exact: true }));
    await person.picture("table-goto");
  });

  test("a frame in a cell is asked as a whole, though no variable holds it", async (person) => {
    const cell = await person.converse();
    await cell.run(LARGE.replace("df = ", "(").replace(/\)\ndf$/, "))"));
    const grid = cell.output.getByRole("grid");
    await sees(grid);
    await says(cell.output, "100,000 rows × 3 columns");
    await sorter(grid, "price").click();
    await sorter(grid, "price").click();
    await says(firstRow(grid), /99999\s+n099999/);
    await grid.getByRole("button", { name: "Filter and summary of price" }).click();
    await says(person.role("dialog", "Column price"), /Values\s*100,000/);
    await person.picture("table-cell-whole");
  });

  test("rows are fetched as one scrolls", async (person) => {
    const { place, grid } = await large(person);
    await grid.evaluate((element) => (element.parentElement.scrollTop = element.parentElement.scrollHeight));
    await says(grid, "n099999");
    assert.ok((await grid.getByRole("row").count()) < 80, "all rows are in the document");
  });

  test("filters and search are asked of all rows", async (person) => {
    const { place, grid } = await large(person);
    await place.getByRole("searchbox", { name: "Search rows" }).fill("N09999");
    await says(place, "10 of 100,000 rows match");
    await says(firstRow(grid), "n099990");
    await grid.getByRole("button", { name: "Filter and summary of value" }).click();
    const menu = person.role("dialog", "Column value");
    await menu.getByRole("combobox").selectOption("is at least");
    await menu.getByRole("textbox").fill("50000");
    await menu.getByRole("button", { name: "Filter", exact: true }).click();
    await gone(menu);
    await eventually(async () => /^[1-9] of 100,000 rows match/m.test(await place.innerText()), "fewer rows");
    const csv = await saved(person, place.getByRole("button", { name: "Save as CSV" }));
    const lines = csv.trim().split(/\r?\n/);
    assert.ok(lines.length > 1 && lines.length < 11 && lines.slice(1).every((line) => /^\d+,n09999\d,[5-9]\d{4},/.test(line)), csv.slice(0, 200));
    await person.picture("table-filtered");
  });

  test("a column has a summary of all its rows, with a histogram", async (person) => {
    const { place, grid } = await large(person);
    await grid.getByRole("button", { name: "Filter and summary of price" }).click();
    const menu = person.role("dialog", "Column price");
    await sees(menu.getByRole("img", { name: /^Histogram/ }));
    await says(menu, /Values\s*100,000/);
    await says(menu, /Max\s*12,499\.875/);
    await person.picture("table-summary");
    await person.page.keyboard.press("Escape");
    await gone(menu);
  });

  test("a table is used by the keyboard alone", async (person) => {
    await person.context.grantPermissions(["clipboard-write"]);
    const cell = await person.converse();
    await cell.run("import pandas as pd\npd.DataFrame({'a': [30, 1, *range(2, 20)], 'b': [0.125, 2**0.5, *range(18)]}, index=list('xyzabcdefghijklmnopq'))");
    const grid = cell.output.getByRole("grid");
    await sees(grid);
    await grid.focus();
    const keys = (...names) => names.reduce((before, name) => before.then(() => person.page.keyboard.press(name)), Promise.resolve());
    await keys("ArrowRight", "ArrowUp", "Enter");
    await eventually(async () => (await head(grid, "a").getAttribute("aria-sort")) === "ascending", "an order");
    await says(firstRow(grid), /y\s+1/);
    await keys("ArrowDown", "ArrowRight", "Control+C");
    const search = cell.output.getByRole("searchbox", { name: "Search rows" });
    await eventually(async () => { // a copy takes its time
      await search.fill("");
      await search.press("Control+V");
      return (await search.inputValue()) === "1.4142135623730951";
    }, "the whole number");
    await search.fill("");
    await says(cell.output, "20 rows × 2 columns");
    await grid.focus();
    await keys("ArrowUp", "ArrowUp", "Space");
    const menu = person.role("dialog", "Column b");
    await sees(menu);
    await keys("Escape");
    await gone(menu);
  });

  test("when the session is gone, the rows that were kept are shown, and say so", async (person) => {
    const cell = await person.converse();
    await cell.run(LARGE);
    const grid = cell.output.getByRole("grid");
    await sees(grid);
    person.watch.expectsAbsence();
    for (const { id } of await person.agent.sessions()) await person.agent.call("DELETE", `/v1/sessions/${id}`);
    await sorter(grid, "price").click();
    await sorter(grid, "price").click();
    await says(cell.output, /cover only the [\d,]+ rows that are here, not all 100,000/);
    await says(firstRow(grid), "n000999");
    await person.picture("table-kept");
  });

  test("a CSV file is shown by the same table", async (person) => {
    const cell = await person.converse();
    await cell.run("open('t.csv', 'w').write('id,big\\n' + ''.join(f'{i},{2**53 + i}\\n' for i in range(300)))");
    const panel = await person.tab("Files");
    await panel.getByRole("button", { name: /t\.csv/ }).first().click();
    const grid = person.page.getByRole("dialog").getByRole("grid");
    await sees(grid);
    await sorter(grid, "big").click();
    await sorter(grid, "big").click();
    await says(firstRow(grid), "9007199254741291");
    await person.picture("table-csv");
  });

  for (const width of [1280, 390]) {
    test(`no value and no name is cut where there is room, at ${width} pixels`, { context: { viewport: { width, height: 800 } } }, async (person) => {
      await person.open();
      if (width < 600) await person.openMenu();
      const cell = await person.converse();
      await cell.run(DATED);
      const grid = cell.output.getByRole("grid");
      await sees(grid);
      await says(grid, "2021-01-01");
      for (const colorScheme of ["light", "dark"]) {
        await person.page.emulateMedia({ colorScheme });
        await person.settle();
        const cut = await grid.evaluate((table) => [...table.querySelectorAll("th, td, th span")].filter((one) => one.scrollWidth > one.clientWidth && one.clientWidth > 0 && getComputedStyle(one).textOverflow === "ellipsis").map((one) => one.textContent));
        assert.deepEqual(cut, []);
        await person.picture(`table-dates-${width}-${colorScheme}`);
      }
    });
  }

  test("a table fits a phone", { context: { viewport: { width: 375, height: 700 }, hasTouch: true, isMobile: true } }, async (person) => {
    await person.open();
    await person.openMenu();
    const cell = await person.converse();
    await cell.run(LARGE);
    const grid = cell.output.getByRole("grid");
    await sees(grid);
    await grid.getByRole("button", { name: "Filter and summary of value" }).click();
    await sees(person.role("dialog", "Column value").getByRole("img", { name: /^Histogram/ }));
    await person.picture("table-phone-menu");
    await person.page.keyboard.press("Escape");
    await grid.scrollIntoViewIfNeeded();
    await person.picture("table-phone");
    const hasMore = () => grid.evaluate((table) => getComputedStyle(table.parentElement.parentElement, "::after").backgroundImage.includes("gradient"));
    await cell.run("import pandas as pd\npd.DataFrame({f'column {i}': [i] for i in range(20)})");
    await sees(grid);
    await eventually(hasMore, "a shadow over the columns that are cut off");
    await person.settle();
    await person.picture("table-phone-wide");
    await grid.evaluate((table) => table.parentElement.scrollTo(1e6, 0));
    await eventually(async () => !(await hasMore()), "no shadow at the last column");
    await cell.run("pd.DataFrame({'a': [1]})");
    await eventually(async () => !(await hasMore()), "no shadow where all is in sight");
    const over = await person.page.evaluate(() => document.scrollingElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(over <= 0, `the page scrolls sideways by ${over} px`);
  });
});
