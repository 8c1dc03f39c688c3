// SPDX-License-Identifier: Apache-2.0
// A small plain table of texts: for previews. Cells are texts whatever they hold.
const CELL_MAX = 120;
const COLUMNS_MAX = 100;

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return text.length > CELL_MAX ? `${text.slice(0, CELL_MAX)}…` : text;
}

interface GridProps {
  label: string;
  columns: readonly unknown[];
  rows: readonly (readonly unknown[])[];
  first?: number; // number of the first row
}

export function Grid({ label, columns, rows, first = 0 }: GridProps) {
  const shown = columns.slice(0, COLUMNS_MAX);
  return (
    <div class="grid-scroll" tabIndex={0} role="region" aria-label={label}>
      <table class="grid">
        <thead>
          <tr>
            <th scope="col" class="grid-number"><span class="unseen">Row</span></th>
            {shown.map((name, i) => <th key={i} scope="col">{cellText(name)}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={first + i}>
              <th scope="row" class="grid-number">{first + i}</th>
              {shown.map((_, j) => <td key={j} class={typeof row[j] === "number" ? "grid-figure" : undefined}>{cellText(row[j])}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
      {columns.length > shown.length && <p class="grid-more">and {columns.length - shown.length} more columns</p>}
    </div>
  );
}
