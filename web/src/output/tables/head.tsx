// SPDX-License-Identifier: Apache-2.0
// The head of one column: a click on its name sorts, the mark beside it opens its filter and summary, its edge is drawn.
import { IconFilter } from "../../ui/icons";
import type { Sort } from "./query";
import type { Column } from "./table";

interface HeadProps {
  column: Column;
  id: string;
  place: number; // aria-colindex
  isNumber: boolean;
  isActive: boolean;
  isFiltered: boolean;
  sort: Sort | null;
  left?: number; // of one that stays
  onSort: () => void;
  onMenu: (anchor: HTMLElement) => void;
  onDraw?: (event: unknown) => void;
  onFit: () => void;
}

export function Head({ column, id, place, isNumber, isActive, isFiltered, sort, left, onSort, onMenu, onDraw, onFit }: HeadProps) {
  const isSorted = sort?.key === column.key;
  const name = column.levels.filter(Boolean).join(" ") || (column.key.startsWith("i") ? "Index" : "(no name)");
  const { above = [] } = column;
  const beside = above.length ? `, columns by ${above.filter(Boolean).join(", ")}` : "";
  const classes = ["table-head", isNumber && "is-number", isActive && "is-active", left !== undefined && "is-fixed", isSorted && "is-sorted"];
  return (
    <th scope="col" id={id} class={classes.filter(Boolean).join(" ")} aria-colindex={place} aria-label={name + beside}
      aria-sort={isSorted ? (sort.isDown ? "descending" : "ascending") : "none"} style={left === undefined ? undefined : { left: `${left}px` }}>
      <div class="table-head-row">
        <button type="button" tabIndex={-1} class="table-sorter" onClick={onSort} title={`${name}${column.dtype ? ` (${column.dtype})` : ""}: click to sort`}>
          {above.map((level, i) => <span key={`above${i}`} class="table-level">{level || "\u00a0"}</span>)}
          {column.levels.map((level, i) => (
            <span key={i} class={i < column.levels.length - 1 ? "table-level" : "table-name"}>
              {level || "\u00a0"}
              {isSorted && i === column.levels.length - 1 && <span class="table-sort" aria-hidden="true">{sort.isDown ? " ↓" : " ↑"}</span>}
            </span>
          ))}
          {column.dtype && <span class="table-dtype">{column.dtype}</span>}
        </button>
        <button type="button" tabIndex={-1} class={isFiltered ? "table-more is-on" : "table-more"} aria-haspopup="dialog"
          aria-label={`Filter and summary of ${name}`} title="Filter and summary" onClick={(event) => onMenu(event.currentTarget)}>
          <IconFilter size={13} />
        </button>
      </div>
      {onDraw && <span class="table-edge" aria-hidden="true" onMouseDown={onDraw} onTouchStart={onDraw} onDblClick={onFit} />}
    </th>
  );
}
