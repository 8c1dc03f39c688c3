// SPDX-License-Identifier: Apache-2.0
// A JSON value as a tree that opens branch by branch: nothing that is shut exists in the page.
import { useState } from "preact/hooks";
import { isRecord, textOf } from "./checks";
import { formatCount, plural } from "./format";
import { Tool } from "./parts";

const PAGE = 100; // members that are shown at once
const TEXT_MAX = 2000;
const DEPTH_MAX = 60;

function Leaf({ value }: { value: unknown }) {
  if (typeof value === "string") return <span class="json-text">{JSON.stringify(textOf(value, TEXT_MAX))}</span>;
  if (typeof value === "number") return <span class="json-number">{Object.is(value, -0) ? "-0.0" : String(value)}</span>;
  return <span class="json-word">{textOf(value) || "null"}</span>;
}

function preview(value: object): string {
  return Array.isArray(value) ? `[${plural(value.length, "item")}]` : `{${plural(Object.keys(value).length, "member")}}`;
}

function Branch({ name, value, isOpen: isFirst, depth }: { name: string | null; value: object; isOpen: boolean; depth: number }) {
  const [isOpen, setOpen] = useState(isFirst);
  const [count, setCount] = useState(PAGE);
  const label = name === null ? null : <span class="json-name">{textOf(name, 200)}: </span>;
  const names = isOpen && !Array.isArray(value) ? Object.keys(value) : null;
  const total = Array.isArray(value) ? value.length : (names?.length ?? 0);
  const at = (i: number): [string, unknown] =>
    Array.isArray(value) ? [String(i), value[i]] : [names![i]!, (value as Record<string, unknown>)[names![i]!]];
  return (
    <div class="json-branch">
      <button type="button" class="json-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class={isOpen ? "out-mark is-open" : "out-mark"} aria-hidden="true" />
        {label}
        <span class="out-soft">{preview(value)}</span>
      </button>
      {isOpen && (
        <div class="json-members">
          {Array.from({ length: Math.min(count, total) }, (_, i) => {
            const [member, part] = at(i);
            return <Node key={i} name={member} value={part} isOpen={false} depth={depth + 1} />;
          })}
          {total > count && <Tool label={`Show ${formatCount(Math.min(PAGE, total - count))} more`} onClick={() => setCount(count + PAGE)} />}
        </div>
      )}
    </div>
  );
}

function Node({ name, value, isOpen, depth }: { name: string | null; value: unknown; isOpen: boolean; depth: number }) {
  if ((Array.isArray(value) || isRecord(value)) && depth < DEPTH_MAX) return <Branch name={name} value={value} isOpen={isOpen} depth={depth} />;
  return (
    <div class="json-leaf">
      {name !== null && <span class="json-name">{textOf(name, 200)}: </span>}
      <Leaf value={value} />
    </div>
  );
}

export const JsonView = ({ value }: { value: unknown }) => (
  <div class="json">
    <Node name={null} value={value} isOpen={true} depth={0} />
  </div>
);
