// SPDX-License-Identifier: Apache-2.0
// Tables: what is shown is what the code had, and questions go to the whole of it.
import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as calls from "../../src/api/calls";
import { ApiError } from "../../src/api/client";
import type { Session } from "../../src/api/types";
import { chosenText, moved } from "../../src/output/tables/active";
import { widthOf } from "../../src/output/tables/columns";
import { heldCsv } from "../../src/output/tables/explorer";
import { heldRows, heldSummary, passes } from "../../src/output/tables/held";
import { ALL, setFilter, turnSort, type Op, type Query } from "../../src/output/tables/query";
import { queryText, readSummary } from "../../src/output/tables/session";
import { plainTable, readTable, type Column, type Page } from "../../src/output/tables/table";
import { compare, exactText, grouped, isNumeric, shownText } from "../../src/output/tables/values";
import { TableView } from "../../src/output/tables/view";
import { sessions } from "../../src/state/feed";
import { toasts } from "../../src/state/toasts";

const XSS = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>';
const column = (more: Partial<Column>): Column => ({ key: "0", name: "n", levels: ["n"], dtype: "", decimals: null, missing: "None", ...more });
const read = (value: unknown) => readTable(value) as Page;

/** What the runner tells of a frame with two index levels and every kind of value. */
const FRAME = {
  columns: ["count", "price", "x big", "day", "note"],
  column_levels: [["", "count"], ["", "price"], ["x", "big"], ["", "day"], ["", "note"]],
  rows: [
    [1234567, 1234567.89, "9007199254740993", "2024-01-05T00:00:00", XSS],
    [2, null, "18446744073709551615", null, "plain"],
    [30, "inf", "5", "2023-12-31T23:59:59.123456789", null],
  ],
  total: 3,
  dtypes: ["int64", "float64", "uint64", "datetime64[ns]", "object"],
  decimals: [null, 2, null, null, null],
  index: { names: ["region", null], dtypes: ["object", "int64"], rows: [["North", 2024], ["South", 2024], ["West", 2025]] },
  missing: { "1": "NaN", "3": "NaT", "4": "None" },
  handle: "~3",
};

describe("a column", () => {
  it("of numbers is wide enough for every digit in the widest of common fonts", () => {
    const count = column({ name: "a", levels: ["a"], dtype: "float64", decimals: 6 });
    const rows = [{ at: 0, index: [], cells: [384] }, { at: 1, index: [], cells: [-1234.5] }];
    const [digit, mark, padding] = [8.3, 4.7, 20]; // DejaVu Sans at 13 px; both sides of a cell
    expect(widthOf(count, rows, 1)).toBeGreaterThanOrEqual("1234500000".length * digit + "-,.".length * mark + padding);
  });

  it("of dates, of words in capitals and with a wide name is wide enough, whatever its type", () => {
    const room = (more: Partial<Column>, value: unknown) => {
      const one = column({ name: "d", levels: ["d"], ...more });
      return widthOf(one, [{ at: 0, index: [value], cells: [value] }], 0) - 20;
    };
    // Inter at 13 px with digits of one width, as Chromium measures them.
    expect(room({ dtype: "object" }, "2021-01-01")).toBeGreaterThanOrEqual(80);
    expect(room({ key: "i0", dtype: "object" }, "2021-01-01")).toBeGreaterThanOrEqual(80);
    expect(room({ dtype: "datetime64[ns]" }, "2024-01-01T10:00:00")).toBeGreaterThanOrEqual(140);
    expect(room({ dtype: "object" }, "WARMWOOD")).toBeGreaterThanOrEqual(90);
    expect(room({ levels: ["Unnamed: 0"], dtype: "int64" }, 1)).toBeGreaterThanOrEqual(84 + 14);
    expect(room({ dtype: "object" }, "x".repeat(1000))).toBe(320);
  });
});

describe("a table that came", () => {
  it("keeps its index, types, decimals, levels and handle", () => {
    const table = read(FRAME);
    expect(table.index.map(({ key, name, dtype }) => [key, name, dtype])).toEqual([["i0", "region", "object"], ["i1", "", "int64"]]);
    expect(table.columns[1]).toMatchObject({ key: "1", dtype: "float64", decimals: 2, missing: "NaN" });
    expect(table.columns[2]!.levels).toEqual(["x", "big"]);
    expect(table.rows[2]).toEqual({ at: 2, index: ["West", 2025], cells: FRAME.rows[2] });
    expect(table).toMatchObject({ total: 3, matched: 3, handle: "~3", asOf: null });
  });

  it("of a page tells where its rows stand in the whole", () => {
    const page = readTable({ columns: ["a"], rows: [[1], [2]], total: 100_000, matched: 7, numbers: [17, 3], as_of: "c1" }, 5) as Page;
    expect(page).toMatchObject({ total: 100_000, matched: 7, asOf: { state: "c1", blockedBy: "" } });
    expect(page.rows.map(({ at }) => at)).toEqual([17, 3]);
    expect((readTable({ columns: ["a"], rows: [[1], [2]] }, 5) as Page).rows.map(({ at }) => at)).toEqual([5, 6]);
  });

  it("that is none is refused with a reason, and odd members are ignored", () => {
    expect(readTable(null)).toContain("no lists");
    expect(readTable({ columns: [1, {}], rows: [[1], 2] })).toContain("row 2");
    const odd = read({ columns: [{ a: 1 }, null], rows: [[1, 2]], total: "x", dtypes: 7, index: { rows: 5, names: {} }, handle: "../x", missing: [] });
    expect(odd.columns.map(({ name }) => name)).toEqual(['{"a": 1}', ""]);
    expect(odd).toMatchObject({ total: 1, handle: null, index: [] });
  });
});

describe("a value", () => {
  it("is shown with pandas' decimals and separators, and copied whole", () => {
    const price = column({ dtype: "float64", decimals: 2, missing: "NaN" });
    expect(shownText(1234567.891, price)).toBe("1,234,567.89");
    expect(exactText(1234567.891, price)).toBe("1234567.891");
    expect(shownText(-0.5, price)).toBe("-0.50");
    expect(shownText("inf", price)).toBe("inf");
    expect(shownText(null, price)).toBe("NaN");
  });

  it("of a column without fixed decimals is shown as pandas prints it: in powers of ten, or alone without noise", () => {
    expect([1e-7, 1234.5, 0, -2e10].map((value) => shownText(value, column({ dtype: "float64" })))).toEqual(["1.000000e-07", "1.234500e+03", "0.000000e+00", "-2.000000e+10"]);
    const mixed = column({ dtype: "object" });
    expect([0.1 + 0.2, 1226239.5350000001, 5.00000000001, 12345, 1e-9, "x"].map((value) => shownText(value, mixed))).toEqual(["0.3", "1,226,239.535", "5.0", "12,345", "1e-9", "x"]);
    expect(exactText(0.1 + 0.2, mixed)).toBe("0.30000000000000004");
  });

  it("keeps the sign of a zero", () => {
    const price = column({ dtype: "float64", decimals: 2 });
    expect([shownText(-0, price), shownText(0, price, "-0.0"), shownText(0, price), exactText(-0, price)]).toEqual(["-0.00", "-0.00", "0.00", "-0.0"]);
    expect([shownText(-0, column({})), shownText(0, column({ dtype: "object" }), "-0.0")]).toEqual(["-0.0", "-0.0"]);
    expect(heldCsv(plainTable(["a"], [[-0], [0]]), ALL).text).toBe("a\r\n-0.0\r\n0\r\n");
  });

  it("that is complex is compared by its real, then by its imaginary part", () => {
    const sorted = ["(-10+0j)", "(-2+0j)", "-3j", "(1e-05+2j)", "(2-5j)", "(2+5j)", "(10+1j)", "(10+infj)"];
    expect([...sorted].reverse().sort(compare)).toEqual(sorted);
  });

  it("keeps integers beyond 2^53", () => {
    expect(shownText("9007199254740993", column({ dtype: "int64" }))).toBe("9,007,199,254,740,993");
    expect(exactText("9007199254740993", column({ dtype: "int64" }))).toBe("9007199254740993");
    expect(compare("9007199254740993", "9007199254740992")).toBe(1);
    expect(compare("9007199254740993", 9007199254740992)).toBe(1);
  });

  it("that counts nothing has no separators: years, ids, labels of rows", () => {
    expect(shownText(2024, column({ name: "year", dtype: "int64" }))).toBe("2024");
    expect(shownText(12345, column({ name: "customer_id", dtype: "int64" }))).toBe("12345");
    expect(shownText(2024, column({ key: "i0", dtype: "int64" }))).toBe("2024");
    expect(shownText(12345, column({ dtype: "int64" }))).toBe("12,345");
    expect(["Unnamed: 0", "userId", "orderID", "ids", "yr"].map((name) => shownText(24999, column({ name, dtype: "int64" })))).toEqual(Array(5).fill("24999"));
    expect(["paid", "grid"].map((name) => shownText(24999, column({ name, dtype: "int64" })))).toEqual(Array(2).fill("24,999"));
    expect([2499, -9999, 10000].map((value) => shownText(value, column({ name: "founded", dtype: "int64" })))).toEqual(["2499", "-9999", "10,000"]);
    expect(shownText(2499.5, column({ dtype: "float64", decimals: 1 }))).toBe("2,499.5");
    expect(grouped("-1234567.1234567")).toBe("-1,234,567.1234567");
  });

  it("that is a moment keeps its nanoseconds and loses only its zeros", () => {
    const day = column({ dtype: "datetime64[ns]", missing: "NaT" });
    expect(shownText("2024-01-05T00:00:00", day)).toBe("2024-01-05");
    expect(shownText("2023-12-31T23:59:59.123456789", day)).toBe("2023-12-31 23:59:59.123456789");
    expect(shownText("2024-01-05T00:00:00+02:00", day)).toBe("2024-01-05 00:00:00+02:00");
    expect(shownText(null, day)).toBe("NaT");
  });

  it("that is midnight has its time where others of the column have one", () => {
    const table = read({
      columns: ["day"], dtypes: ["datetime64[ns]"], rows: [["2024-01-01T00:00:00"], ["2024-01-02T00:00:00"]],
      index: { names: [null], dtypes: ["datetime64[ns]"], rows: [["2024-01-01T23:00:00"], ["2024-01-02T00:00:00"]] },
    });
    expect(table.rows.map((row) => shownText(row.index[0], table.index[0]!))).toEqual(["2024-01-01 23:00:00", "2024-01-02 00:00:00"]);
    expect(table.rows.map((row) => shownText(row.cells[0], table.columns[0]!))).toEqual(["2024-01-01", "2024-01-02"]);
  });

  it("stands to the right by its type, and by itself where there is none", () => {
    expect(isNumeric(column({ dtype: "Int64" }), [])).toBe(true);
    expect(isNumeric(column({ dtype: "object" }), [1, 2])).toBe(false);
    expect(["int8", "uint64", "Int64"].map((dtype) => isNumeric(column({ dtype }), []))).toEqual([true, true, true]);
    expect(isNumeric(column({ dtype: "interval[int64, right]" }), ["(0, 1]"])).toBe(false);
    expect(isNumeric(column({}), ["1.5", "", "2"])).toBe(true);
    expect(isNumeric(column({}), ["1.5", "x"])).toBe(false);
  });
});

describe("rows at hand", () => {
  const table = read(FRAME);
  const firsts = (query: Partial<Query>) => heldRows(table, { ...ALL, ...query }).map(({ at }) => at);
  const by = (key: string, isDown = false) => firsts({ sort: { key, isDown } });
  const only = (key: string, op: Op, value = "") => firsts({ filters: [{ key, op, value }] });

  it("are ordered exactly, what is missing last either way", () => {
    expect(by("2")).toEqual([2, 0, 1]);
    expect(by("2", true)).toEqual([1, 0, 2]);
    expect(by("1")).toEqual([0, 2, 1]);
    expect(by("1", true)).toEqual([2, 0, 1]);
    expect(by("i0", true)).toEqual([2, 1, 0]);
    expect(by("3")).toEqual([2, 0, 1]);
  });

  it("pass filters by value, text and absence", () => {
    expect(only("2", "gt", "9007199254740992")).toEqual([0, 1]);
    expect(only("1", "missing")).toEqual([1]);
    expect(only("1", "present")).toEqual([0, 2]);
    expect(only("4", "contains", "PLA")).toEqual([1]);
    expect(only("0", "eq", "30")).toEqual([2]);
    expect(only("0", "ne", "30")).toEqual([0, 1]);
    expect(passes(true, { key: "0", op: "eq", value: "true" }, column({ dtype: "bool" }))).toBe(true);
    expect(passes(null, { key: "0", op: "ne", value: "1" }, column({}))).toBe(false);
  });

  it("of any kind are told apart where JSON does not: floats that are whole, and each way to be missing", () => {
    const page = read({
      columns: ["v"], dtypes: ["object"], decimals: [null], total: 5, rows: [[1.0], [1], [1e16], [null], [null]],
      index: { names: [null], dtypes: ["object"], rows: [[2.0], [2], [null], ["a"], ["b"]], missing: { "0": "NaN" }, texts: { "0": { "0": "2.0" } } },
      missing: { "0": "NaN" }, texts: { "0": { "0": "1.0", "2": "1e+16", "4": "None", "9": "x", x: "y" }, __proto__x: { "0": "z" }, "1": 7 },
    });
    const [one, label] = [page.columns[0]!, page.index[0]!];
    const texts = page.rows.map((row) => shownText(row.cells[0], one, row.texts?.["0"]));
    expect(texts).toEqual(["1.0", "1", "1e+16", "NaN", "None"]);
    expect(page.rows.slice(0, 2).map((row) => shownText(row.index[0], label, row.texts?.["i0"]))).toEqual(["2.0", "2"]);
    expect(exactText(null, one, "None")).toBe("None");
    expect(shownText(1234567, one, "1234567.0")).toBe("1,234,567.0");
    expect(heldRows(page, { ...ALL, search: "none" }).map((row) => row.at)).toEqual([4]);
  });

  it("are found by what is shown, index and missing values among it", () => {
    expect(firsts({ search: "1,234" })).toEqual([0]);
    expect(firsts({ search: "south" })).toEqual([1]);
    expect(firsts({ search: "nat" })).toEqual([1]);
    expect(firsts({ search: "nowhere" })).toEqual([]);
  });

  it("are summed up: values, missing, distinct, ends, bins", () => {
    const numbers = plainTable(["n"], Array.from({ length: 100 }, (_, i) => [i < 90 ? i : null]));
    const summary = heldSummary(numbers.rows, numbers.columns[0]!, true);
    expect(summary).toMatchObject({ count: 90, missing: 10, distinct: 90, min: 0, max: 89, mean: 44.5 });
    expect(summary.histogram!.counts.reduce((sum, count) => sum + count)).toBe(90);
    const words = plainTable(["w"], [["b"], ["a"], ["b"]]);
    expect(heldSummary(words.rows, words.columns[0]!, false).top).toEqual([{ value: "b", count: 2 }, { value: "a", count: 1 }]);
  });

  it("become CSV with their index, exact, in the order asked for", () => {
    const { text, count } = heldCsv(table, { ...ALL, sort: { key: "0", isDown: false } });
    expect(count).toBe(3);
    expect(text.split("\r\n").slice(0, 3)).toEqual([
      "region,,count,price,x big,day,note", "South,2024,2,,18446744073709551615,,plain",
      "West,2025,30,inf,5,2023-12-31T23:59:59.123456789,",
    ]);
  });
});

describe("a question", () => {
  it("is told by places, filters as they were typed", () => {
    let query = turnSort(ALL, "3");
    expect(queryText(query)).toEqual({ sort: "3:asc", filter: undefined, search: undefined });
    query = turnSort(query, "3");
    expect(queryText(query).sort).toBe("3:desc");
    expect(turnSort(query, "3").sort).toBeNull();
    query = setFilter(setFilter(query, "i0", { key: "i0", op: "eq", value: "North" }), "1", { key: "1", op: "missing", value: "" });
    expect(JSON.parse(queryText({ ...query, search: "x y" }).filter!)).toEqual([{ column: "i0", op: "eq", value: "North", typed: true }, { column: "1", op: "missing" }]);
  });

  it("has a summary that is checked", () => {
    expect(readSummary({ count: 5, missing: -1, distinct: "x", histogram: { edges: [0, 1], counts: [1, 2] }, top: 3 })).toMatchObject({
      count: 5, missing: 0, distinct: null, histogram: null, top: [],
    });
  });
});

describe("keys", () => {
  const extent = { rows: 100, columns: 3, page: 10 };
  const press = (key: string, ctrlKey = false) => moved({ row: 5, column: 1 }, { key, ctrlKey, metaKey: false }, extent);
  it("lead from cell to cell, to the head, and no further", () => {
    expect(press("ArrowDown")).toEqual({ row: 6, column: 1 });
    expect(press("PageDown")).toEqual({ row: 15, column: 1 });
    expect(press("End", true)).toEqual({ row: 99, column: 2 });
    expect(moved({ row: 0, column: 0 }, { key: "ArrowUp", ctrlKey: false, metaKey: false }, extent)).toEqual({ row: -1, column: 0 });
    expect(press("x")).toBeNull();
  });

  it("copy what is chosen, exact; nothing where a row has not come", () => {
    const table = read(FRAME);
    const rows = { at: (n: number) => table.rows[n] } as Parameters<typeof chosenText>[1];
    const columns = [...table.index, ...table.columns];
    expect(chosenText({ row: 1, column: 4, from: { row: -1, column: 3 } }, rows, columns, false)).toBe("price\tx big\n1234567.89\t9007199254740993\nNaN\t18446744073709551615");
    expect(chosenText({ row: 7, column: 0, from: { row: 0, column: 0 } }, rows, columns, false)).toBeNull();
  });
});

describe("a table that is shown", () => {
  beforeEach(() => vi.restoreAllMocks());
  afterEach(cleanup);
  const cells = () => screen.getAllByRole("row").slice(1).map((row) => [...row.querySelectorAll("th, td:not([aria-hidden])")].map((cell) => cell.textContent));

  it("names the levels of its columns in the head of the index, as pandas prints them", async () => {
    const pivot = { columns: ["1", "2"], column_names: ["qty"], rows: [[3, 4]], total: 1, dtypes: ["int64", "int64"], index: { names: ["shop"], dtypes: ["object"], rows: [["A"]] } };
    render(<TableView table={read(pivot)} />);
    const head = await screen.findByRole("columnheader", { name: "shop, columns by qty" });
    expect([...head.querySelectorAll(".table-level, .table-name")].map((part) => part.textContent)).toEqual(["qty", "shop"]);
    expect(within(head).getByRole("button", { name: "Filter and summary of shop" })).toBeTruthy();
    expect(read({ ...FRAME, column_names: [null, null] }).index.every(({ above }) => above === undefined)).toBe(true);
  });

  it("has its index, its types, and nothing of it is markup", async () => {
    const { container } = render(<TableView table={read(FRAME)} />);
    await screen.findByRole("grid");
    expect(cells()[0]).toEqual(["North", "2024", "1,234,567", "1,234,567.89", "9,007,199,254,740,993", "2024-01-05 00:00:00", XSS]);
    expect(cells()[1]).toEqual(["South", "2024", "2", "NaN", "18,446,744,073,709,551,615", "NaT", "plain"]);
    expect(screen.getByRole("columnheader", { name: "x big" }).textContent).toContain("uint64");
    expect(container.querySelector("img, script")).toBeNull();
  });

  it("shows a row's own text of a value", async () => {
    render(<TableView table={read({ ...FRAME, texts: { "0": { "1": "2.0" }, "4": { "2": "<NA>" } } })} />);
    await screen.findByRole("grid");
    expect(cells().map((row) => [row[2], row.at(-1)])).toEqual([["1,234,567", XSS], ["2.0", "plain"], ["30", "<NA>"]]);
  });

  it("asks the session for an order of the whole table", async () => {
    const ask = vi.spyOn(calls, "readTable").mockResolvedValue({ columns: ["n"], rows: [[-5], [0]], total: 100_000, matched: 100_000, numbers: [99_999, 0] });
    const held = { columns: ["n"], dtypes: ["int64"], rows: Array.from({ length: 1000 }, (_, i) => [i]), total: 100_000, handle: "~1" };
    render(<TableView table={read(held)} session="ses_1" />);
    await screen.findByRole("grid");
    expect(ask).not.toHaveBeenCalled();
    fireEvent.click(within(screen.getByRole("columnheader", { name: "n" })).getAllByRole("button")[0]!);
    await waitFor(() => expect(cells()[0]).toEqual(["99999", "-5"]));
    expect(ask.mock.calls[0]!.slice(0, 3)).toEqual(["ses_1", "~1", { sort: "0:asc", filter: undefined, search: undefined, offset: 0, limit: 200 }]);
    expect(screen.getByText("100,000 rows × 1 column")).toBeTruthy();
  });

  it("says that only the rows at hand are asked when the session has it no more", async () => {
    vi.spyOn(calls, "readTable").mockRejectedValue(new ApiError(404, "not_found", "the session no longer holds this table; run the cell again"));
    const held = { columns: ["n"], dtypes: ["int64"], rows: [[3], [1], [2]], total: 100_000, handle: "~1" };
    render(<TableView table={read(held)} session="ses_1" />);
    fireEvent.click(within(await screen.findByRole("columnheader", { name: "n" })).getAllByRole("button")[0]!);
    await screen.findByText("The session no longer has this table. Run the cell again to see all of it.");
    expect(screen.queryByRole("button", { name: "Ask again" })).toBeNull();
    expect(cells().map(([, value]) => value)).toEqual(["1", "2", "3"]);
    expect(screen.getByText(/cover only the 3 rows that are here, not all 100,000/)).toBeTruthy();
    expect(screen.getByText("3 of 100,000 rows are here × 1 column")).toBeTruthy();
  });

  it("never mixes its rows with those of a frame that has changed since", async () => {
    const held = { columns: ["a", "b"], dtypes: ["int64", "int64"], rows: [[3, 0], [1, 0], [2, 0]], total: 100_000, handle: "~1" };
    const said = "This frame has changed since it was shown: run the cell again to see all of it.";
    const now = { ...held, rows: [[1, -5], [2, -5], [3, -5]], live: true, matched: 100_000, numbers: [1, 2, 0] };
    const ask = vi.spyOn(calls, "readTable");
    const sort = async (column: string) => fireEvent.click(within(await screen.findByRole("columnheader", { name: column })).getAllByRole("button")[0]!);
    for (const answer of [{ ...now, changed: true }, { ...now, total: 50_000 }, { ...now, columns: ["b", "c"] }]) {
      ask.mockResolvedValue(answer);
      render(<TableView table={read(held)} session="ses_1" />);
      await sort("a");
      await screen.findByText(said);
      expect(cells().map(([, ...values]) => values)).toEqual([["1", "0"], ["2", "0"], ["3", "0"]]);
      expect(screen.getByText("3 of 100,000 rows are here × 2 columns")).toBeTruthy();
      const asked = ask.mock.calls.length;
      await sort("b");
      expect(ask.mock.calls.length).toBe(asked);
      cleanup();
    }
    ask.mockRejectedValueOnce(new ApiError(400, "bad_request", "sort: there is no column 1")).mockResolvedValue({ columns: ["a"], rows: [[1]], total: 100_000, changed: true });
    render(<TableView table={read(held)} session="ses_1" />);
    await sort("b");
    await screen.findByText(said);
    expect(screen.queryByText(/there is no column/)).toBeNull();
  });

  it("neither sums up nor saves a frame that has changed as if it were the one that is shown", async () => {
    const held = { columns: ["n"], dtypes: ["int64"], rows: Array.from({ length: 1000 }, (_, i) => [i]), total: 100_000 };
    vi.spyOn(calls, "readTable").mockResolvedValue({ ...held, changed: true });
    vi.spyOn(calls, "tableSummary").mockResolvedValue({ total: 100_000, columns: [{ name: "n", count: 100_000 }], changed: true });
    const csv = vi.spyOn(calls, "tableCsv");
    render(<TableView table={read(held)} session="ses_1" variable="df" />);
    fireEvent.click(await screen.findByRole("button", { name: "Filter and summary of n" }));
    await screen.findByText("No summary: df has changed since it was shown: open it again to see all of it");
    fireEvent.click(screen.getByRole("button", { name: "Save as CSV" }));
    await waitFor(() => expect(toasts.value.map(({ text }) => text).join()).toContain("df has changed"));
    expect(csv).not.toHaveBeenCalled();
  });

  it("says nothing of a session that does not answer when all of its rows are here", async () => {
    const ask = vi.spyOn(calls, "readTable").mockRejectedValue(new ApiError(409, "conflict", "the session is asleep; wake it, or run something in it"));
    const held = { columns: ["n"], dtypes: ["int64"], rows: [[3], [1], [2]], total: 3, handle: "~1" };
    render(<TableView table={read(held)} session="ses_1" />);
    fireEvent.click(within(await screen.findByRole("columnheader", { name: "n" })).getAllByRole("button")[0]!);
    await waitFor(() => expect(cells().map(([, value]) => value)).toEqual(["1", "2", "3"]));
    await waitFor(() => expect(ask).toHaveBeenCalled());
    expect(screen.queryByText(/could not be asked|no longer has|are here/)).toBeNull();
    expect(screen.getByText("3 rows × 1 column")).toBeTruthy();
  });

  it("is asked for again by itself when its session has woken, and says then whether it is still there", async () => {
    const ask = vi.spyOn(calls, "readTable").mockRejectedValue(new ApiError(409, "conflict", "the session is asleep; wake it, or run something in it"));
    const at = (state: Session["state"]) => (sessions.value = new Map([["ses_1", { id: "ses_1", state } as Session]]));
    at("asleep");
    const held = { columns: ["n"], dtypes: ["int64"], rows: [[3], [1], [2]], total: 100_000, handle: "~1" };
    render(<TableView table={read(held)} session="ses_1" />);
    fireEvent.click(within(await screen.findByRole("columnheader", { name: "n" })).getAllByRole("button")[0]!);
    await screen.findByText(/the session is asleep/);
    const asked = ask.mock.calls.length;
    at("starting");
    ask.mockRejectedValueOnce(new ApiError(404, "not_found", "the session no longer holds this table; run the cell again"));
    at("idle");
    await screen.findByText("The session no longer has this table. Run the cell again to see all of it.");
    expect(screen.queryByText(/the session is asleep/)).toBeNull();
    expect(ask.mock.calls.length).toBe(asked + 1);
    sessions.value = new Map();
  });

  it("tells a refused question in the daemon's words, and keeps asking the session", async () => {
    const ask = vi.spyOn(calls, "readTable").mockRejectedValue(new ApiError(400, "bad_request", "filter: the column wants a number"));
    const held = { columns: ["n"], dtypes: ["int64"], rows: [[3], [1]], total: 2, handle: "~1" };
    render(<TableView table={read(held)} session="ses_1" />);
    const head = await screen.findByRole("columnheader", { name: "n" });
    fireEvent.click(within(head).getAllByRole("button")[0]!);
    await screen.findByText(/wants a number/);
    expect(screen.getByText("2 rows × 1 column")).toBeTruthy();
    ask.mockResolvedValue({ columns: ["n"], rows: [[1], [3]], total: 2, matched: 2 });
    fireEvent.click(screen.getByRole("button", { name: "Ask again" }));
    await waitFor(() => expect(cells().map(([, value]) => value)).toEqual(["1", "3"]));
  });

  it("refuses a decimal comma, which nobody means as thousands", async () => {
    render(<TableView table={read({ columns: ["n"], dtypes: ["float64"], rows: [[1.5], [15], [1500]] })} />);
    fireEvent.click(await screen.findByRole("button", { name: "Filter and summary of n" }));
    const menu = screen.getByRole("dialog", { name: "Column n" });
    const ask = (value: string) => {
      fireEvent.input(within(menu).getByRole("textbox"), { target: { value } });
      fireEvent.submit(menu.querySelector("form")!);
    };
    for (const value of ["1,5", "1,50", "1500,5", ",5"]) {
      ask(value);
      expect((await within(menu).findByRole("alert")).textContent).toContain("1.5");
    }
    ask("1,500");
    await screen.findByText("1 of 3 rows match");
  });

  it("does not say that no row passes a filter that was refused", async () => {
    vi.spyOn(calls, "readTable").mockRejectedValue(new ApiError(400, "bad_request", "filter: the column wants a number"));
    vi.spyOn(calls, "tableSummary").mockResolvedValue({ total: 1200, columns: [{ name: "n", count: 1200 }] });
    const held = { columns: ["n"], dtypes: ["int64"], rows: [[3], [1]], total: 1200, handle: "~1" };
    render(<TableView table={read(held)} session="ses_1" />);
    fireEvent.click(await screen.findByRole("button", { name: "Filter and summary of n" }));
    const menu = screen.getByRole("dialog", { name: "Column n" });
    fireEvent.input(within(menu).getByRole("textbox"), { target: { value: "abc" } });
    fireEvent.submit(menu.querySelector("form")!);
    await screen.findByText(/wants a number/);
    expect(screen.queryByText("No row passes.")).toBeNull();
    expect(screen.getByText("1,200 rows × 1 column")).toBeTruthy();
  });

  it("does not say how many rows match before it knows", async () => {
    let answer: (page: unknown) => void = () => {};
    vi.spyOn(calls, "readTable").mockImplementation(() => new Promise((resolve) => (answer = resolve)));
    const held = { columns: ["n"], dtypes: ["int64"], rows: Array.from({ length: 1000 }, (_, i) => [i]), total: 100_000, handle: "~1" };
    render(<TableView table={read(held)} session="ses_1" />);
    fireEvent.input(await screen.findByRole("searchbox", { name: "Search rows" }), { target: { value: "x" } });
    await screen.findByText("Searching…");
    expect(screen.queryByText("No row passes.")).toBeNull();
    expect(screen.getByRole("grid").getAttribute("aria-rowcount")).toBe("-1");
    answer({ columns: ["n"], rows: [], total: 100_000, matched: 0 });
    await screen.findByText("0 of 100,000 rows match");
    expect(screen.getByText("No row passes.")).toBeTruthy();
  });

  it("keeps an order that was chosen while a search was typed", async () => {
    render(<TableView table={plainTable(["n"], Array.from({ length: 20 }, (_, i) => [i % 10]))} />);
    fireEvent.input(await screen.findByRole("searchbox", { name: "Search rows" }), { target: { value: "3" } });
    fireEvent.click(within(screen.getByRole("columnheader", { name: "n" })).getAllByRole("button")[0]!);
    await screen.findByText("2 of 20 rows match");
    expect(screen.getByRole("columnheader", { name: "n" }).getAttribute("aria-sort")).toBe("ascending");
  });

  it("grows a column for longer numbers of further rows, and leaves it as wide", async () => {
    const ask = vi.spyOn(calls, "readTable").mockResolvedValue({ columns: ["n"], rows: [[9_999_999_999]], total: 1000, matched: 1000, numbers: [999] });
    const held = { columns: ["n"], dtypes: ["int64"], rows: Array.from({ length: 1000 }, (_, i) => [i % 10]), total: 1000, handle: "~1" };
    const { container } = render(<TableView table={read(held)} session="ses_1" />);
    const sort = async () => fireEvent.click(within(await screen.findByRole("columnheader", { name: "n" })).getAllByRole("button")[0]!);
    const width = () => parseFloat(container.querySelectorAll("col")[2]!.style.width);
    await sort();
    await waitFor(() => expect(cells()[0]).toEqual(["999", "9,999,999,999"]));
    await waitFor(() => expect(width()).toBeGreaterThanOrEqual(10 * 8.3 + 3 * 4.7 + 20));
    const grown = width();
    ask.mockResolvedValue({ columns: ["n"], rows: [[1]], total: 1000, matched: 1000, numbers: [0] });
    await sort();
    await waitFor(() => expect(cells()[0]).toEqual(["0", "1"]));
    expect(width()).toBe(grown);
  });

  it("names the exact ends of a histogram", async () => {
    vi.spyOn(calls, "tableSummary").mockResolvedValue({ total: 2, columns: [{
      name: "n", count: 2, missing: 0, distinct: 2, min: "-9223372036854775808", max: "9223372036854775807",
      histogram: { edges: [-9223372036854775808, 0, 9223372036854775808], counts: [1, 1] },
    }] });
    render(<TableView table={read({ columns: ["n"], dtypes: ["int64"], rows: [[1]], total: 2, handle: "~1" })} session="ses_1" />);
    fireEvent.click(await screen.findByRole("button", { name: "Filter and summary of n" }));
    await screen.findByRole("img", { name: /from -9,223,372,036,854,775,808 to 9,223,372,036,854,775,807;/ });
  });

  it("does not order what it has only as text", async () => {
    render(<TableView table={read({ columns: ["q", "i"], dtypes: ["period[Q-DEC]", "interval[int64, right]"], rows: [["2024Q1", "(0, 1]"], ["2024Q2", "(1, 2]"]], total: 2 })} />);
    const filter = async (column: string, op: string, value: string) => {
      fireEvent.click(await screen.findByRole("button", { name: `Filter and summary of ${column}` }));
      const menu = screen.getByRole("dialog", { name: `Column ${column}` });
      fireEvent.change(within(menu).getByRole("combobox"), { target: { value: op } });
      fireEvent.input(within(menu).getByRole("textbox"), { target: { value } });
      fireEvent.submit(menu.querySelector("form")!);
      return menu;
    };
    expect((await filter("q", "gt", "2024-02-01")).textContent).toContain("Only the session can compare periods");
    expect((await filter("i", "gt", "(0, 1]")).textContent).toContain("An interval is neither more nor less than a value.");
    fireEvent.keyDown(screen.getByRole("dialog", { name: "Column i" }), { key: "Escape" });
    await filter("i", "eq", "(0, 1]");
    await waitFor(() => expect(cells().map((row) => row.at(-1))).toEqual(["(0, 1]"]));
  });

  it("filters by a column's menu, with a summary of the whole column", async () => {
    vi.spyOn(calls, "tableSummary").mockResolvedValue({ total: 5, columns: [{ name: "n", count: 4, missing: 1, distinct: 3, min: 1, max: 1234, histogram: { edges: [0, 1, 2], counts: [3, 1] } }] });
    const ask = vi.spyOn(calls, "readTable").mockResolvedValue({ columns: ["n"], rows: [[1234]], total: 5, matched: 1, numbers: [4] });
    const held = { columns: ["n"], dtypes: ["int64"], rows: [[3], [1]], total: 5, handle: "~1" };
    render(<TableView table={read(held)} session="ses_1" />);
    fireEvent.click(await screen.findByRole("button", { name: "Filter and summary of n" }));
    const menu = screen.getByRole("dialog", { name: "Column n" });
    await within(menu).findByRole("img", { name: /Histogram of 2 bins/ });
    expect(menu.textContent).toMatch(/Values4Missing1Distinct3Min1Max1234/);
    fireEvent.change(within(menu).getByRole("combobox"), { target: { value: "gt" } });
    fireEvent.input(within(menu).getByRole("textbox"), { target: { value: "1000" } });
    fireEvent.submit(menu.querySelector("form")!);
    await screen.findByText("1 of 5 rows match");
    expect(cells()).toEqual([["4", "1234"]]);
    expect(ask.mock.calls.at(-1)![2]).toMatchObject({ filter: '[{"column":"0","op":"gt","value":"1000","typed":true}]' });
    fireEvent.click(screen.getByRole("button", { name: "Remove the filter n > 1000" }));
    await screen.findByText("5 rows × 1 column");
  });

  it("asks the session for the summary of its index, too", async () => {
    const answer = { total: 2500, columns: [{ name: "n", count: 1 }], index: [{ name: "", dtype: "int64", count: 2500, missing: 0, distinct: 2500, min: 0, max: 2499 }] };
    vi.spyOn(calls, "tableSummary").mockResolvedValue(answer);
    const rows = Array.from({ length: 1000 }, (_, i) => [i]);
    const held = { columns: ["n"], dtypes: ["int64"], rows, total: 2500, handle: "~1", index: { names: [null], dtypes: ["int64"], rows } };
    render(<TableView table={read(held)} session="ses_1" />);
    fireEvent.click(await screen.findByRole("button", { name: "Filter and summary of Index" }));
    const menu = screen.getByRole("dialog", { name: "Column Index" });
    await waitFor(() => expect(menu.textContent).toMatch(/Values2,500Missing0Distinct2,500Min0Max2499$/));
  });

  it("of 10,000 columns has those in sight in the document", async () => {
    const wide = plainTable(Array.from({ length: 10_000 }, (_, i) => `c${i}`), [Array.from({ length: 10_000 }, (_, i) => i)]);
    render(<TableView table={wide} />);
    expect((await screen.findByRole("grid")).getAttribute("aria-colcount")).toBe("10001");
    expect(screen.getAllByRole("columnheader").length).toBeLessThan(60);
  });
});
