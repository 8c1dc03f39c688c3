// SPDX-License-Identifier: Apache-2.0
// The four examples of examples/, each as a conversation: the file itself, and a cell before or after it. The code is
// fetched when one is chosen: it is not what the first look at the page waits for.
import type { CellRecord } from "../api/types";
import { newId } from "../state/conversation";

export interface Example {
  name: string;
  what: string;
  note: string; // above the cells
  first?: string; // a cell before the file's: something to look at, short enough to stand on one screen with its result
  code: () => Promise<{ default: string }>;
  next?: string; // a cell after it: the session keeps what it made
}

export const examples: readonly Example[] = [
  {
    name: "Sales statistics",
    what: "A year as a chart, then in numbers",
    note: "# Sales statistics\nA year of monthly sales. Change a number and press Shift+Enter.",
    first: `months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
sales = [12500, 13800, 15200, 14100, 16800, 18200,
         17500, 19100, 20300, 18900, 22400, 25600]

_chart = {"type": "bar", "title": "A year of sales",
          "categoryKey": "month", "valueKeys": ["sales"],
          "data": [{"month": month, "sales": value}
                   for month, value in zip(months.split(), sales)]}`,
    code: () => import("./examples/sales_statistics.py?raw"),
  },
  {
    name: "Quadratic equations",
    what: "Real, complex and degenerate roots",
    note: "# Quadratic equations\nSolves a·x² + b·x + c = 0. The last cell solves one of your own.",
    code: () => import("./examples/quadratic.py?raw"),
    next: "solve(2, -7, 3)",
  },
  {
    name: "E-mail validator",
    what: "Says which rule an address breaks",
    note: "# E-mail validator\nChecks addresses against a practical subset of RFC 5322. The last cell tries another one.",
    code: () => import("./examples/email_validator.py?raw"),
    next: `what_is_wrong("someone@example")`,
  },
  {
    name: "Binary search",
    what: "And the cases it usually gets wrong",
    note: "# Binary search\nThirteen cases, empty lists and duplicates among them. The last cell searches on.",
    code: () => import("./examples/binary_search.py?raw"),
    next: "binary_search(range(0, 1000, 7), 693)",
  },
];

/** The file as a cell: without the line about its licence, which is there for files. */
const withoutLicence = (code: string) => code.replace(/^# SPDX-License-Identifier: .*\n/, "").trimEnd();

export async function cellsOf(example: Example): Promise<CellRecord[]> {
  const { default: code } = await example.code();
  const cell = (kind: CellRecord["kind"], source: string): CellRecord => ({ id: newId(), kind, source, run: null });
  const sources = [example.first, withoutLicence(code), example.next].filter((source) => source !== undefined);
  return [cell("note", example.note), ...sources.map((source) => cell("code", source))];
}

/** A table to try with: what `make run` reads, too. */
export async function sampleFile(): Promise<File> {
  const { default: text } = await import("./examples/sales.csv?raw");
  return new File([text], "sales.csv", { type: "text/csv" });
}
