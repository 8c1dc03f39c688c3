// SPDX-License-Identifier: Apache-2.0
// Where the keyboard is in a table, and what is chosen around it.
import type { Rows } from "./rows";
import type { Column } from "./table";
import { exactText } from "./values";
import { valueOf } from "./held";

export interface Place {
  row: number; // -1: the head
  column: number; // the index first
}

export interface Active extends Place {
  from: Place; // the other corner of what is chosen
}

export const START: Active = { row: 0, column: 0, from: { row: 0, column: 0 } };

export interface Extent {
  rows: number;
  columns: number;
  page: number; // rows in sight
}

/** Where a key leads; null when it leads nowhere. */
export function moved(active: Place, event: { key: string; ctrlKey: boolean; metaKey: boolean }, { rows, columns, page }: Extent): Place | null {
  const far = event.ctrlKey || event.metaKey;
  const to = (row: number, column: number): Place => ({
    row: Math.max(-1, Math.min(rows - 1, row)), column: Math.max(0, Math.min(columns - 1, column)),
  });
  const { row, column } = active;
  switch (event.key) {
    case "ArrowUp":
      return to(far ? 0 : row - 1, column);
    case "ArrowDown":
      return to(far ? rows - 1 : row + 1, column);
    case "ArrowLeft":
      return to(row, far ? 0 : column - 1);
    case "ArrowRight":
      return to(row, far ? columns - 1 : column + 1);
    case "PageUp":
      return to(Math.max(0, row - page), column);
    case "PageDown":
      return to(row + page, column);
    case "Home":
      return to(far ? 0 : row, 0);
    case "End":
      return to(far ? rows - 1 : row, columns - 1);
    default:
      return null;
  }
}

export function isChosen({ row, column, from }: Active, at: Place): boolean {
  const within = (value: number, a: number, b: number) => value >= Math.min(a, b) && value <= Math.max(a, b);
  return within(at.row, row, from.row) && within(at.column, column, from.column);
}

/** The chosen cells as exact text, divided by tabs; null when some of their rows are not here. */
export function chosenText(active: Active, rows: Rows, columns: readonly Column[], isNumbered: boolean): string | null {
  const [top, bottom] = [Math.min(active.row, active.from.row), Math.max(active.row, active.from.row)];
  const chosen = columns.slice(Math.min(active.column, active.from.column), Math.max(active.column, active.from.column) + 1);
  const lines: string[] = [];
  for (let number = top; number <= bottom; number++) {
    if (number < 0) {
      lines.push(chosen.map(({ name }) => name).join("\t"));
      continue;
    }
    const row = rows.at(number);
    if (!row) return null;
    lines.push(chosen.map((column) => (isNumbered && column === columns[0] ? String(row.at) : exactText(valueOf(row, column.key), column, row.texts?.[column.key]))).join("\t"));
  }
  return lines.join("\n");
}
