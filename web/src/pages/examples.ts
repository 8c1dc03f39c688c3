// SPDX-License-Identifier: Apache-2.0
// The four examples of examples/, each as a conversation: the file itself, and a cell that goes on from it. The code is
// fetched when one is chosen: it is not what the first look at the page waits for.
import type { CellRecord } from "../api/types";
import { newId } from "../state/conversation";

export interface Example {
  name: string;
  what: string;
  note: string; // above the cells
  code: () => Promise<{ default: string }>;
  next: string; // a second cell: the session keeps what the first one made
}

export const examples: readonly Example[] = [
  {
    name: "Sales statistics",
    what: "A year in numbers, then as a chart",
    note: "# Sales statistics\nA year of monthly sales. Run the second cell for the chart: the session keeps what the first one made.",
    code: () => import("./examples/sales_statistics.py?raw"),
    next: `import matplotlib.pyplot as plt

plt.figure(figsize=(8, 4))
plt.bar(MONTHS, sales, color="#7fb069", label="sales")
plt.plot(MONTHS, start + slope * np.arange(12), color="#2f6f4f", label="trend")
plt.title("A year of sales")
plt.legend()
plt.show()`,
  },
  {
    name: "Quadratic equations",
    what: "Real, complex and degenerate roots",
    note: "# Quadratic equations\nSolves a·x² + b·x + c = 0. The second cell asks for one of your own.",
    code: () => import("./examples/quadratic.py?raw"),
    next: "solve(2, -7, 3)",
  },
  {
    name: "E-mail validator",
    what: "Says which rule an address breaks",
    note: "# E-mail validator\nChecks addresses against a practical subset of RFC 5322. The second cell tries another one.",
    code: () => import("./examples/email_validator.py?raw"),
    next: `what_is_wrong("someone@example")`,
  },
  {
    name: "Binary search",
    what: "And the cases it usually gets wrong",
    note: "# Binary search\nThirteen cases, empty lists and duplicates among them. The second cell searches on.",
    code: () => import("./examples/binary_search.py?raw"),
    next: "binary_search(range(0, 1000, 7), 693)",
  },
];

/** The file as a cell: without the line about its licence, which is there for files. */
const withoutLicence = (code: string) => code.replace(/^# SPDX-License-Identifier: .*\n/, "").trimEnd();

export async function cellsOf(example: Example): Promise<CellRecord[]> {
  const { default: code } = await example.code();
  const cell = (kind: CellRecord["kind"], source: string): CellRecord => ({ id: newId(), kind, source, run: null });
  return [cell("note", example.note), cell("code", withoutLicence(code)), cell("code", example.next)];
}

/** A table to try with: what `make run` reads, too. */
export async function sampleFile(): Promise<File> {
  const { default: text } = await import("./examples/sales.csv?raw");
  return new File([text], "sales.csv", { type: "text/csv" });
}
