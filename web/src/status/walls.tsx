// SPDX-License-Identifier: Apache-2.0
// The walls between a sandbox and this machine, and those that this machine could have.
import type { Backend, WallFact } from "../api/types";
import { IconButton } from "../ui";
import { IconCheck, IconClose, IconCopy } from "../ui/icons";
import { failed, toast } from "../state/toasts";
import { visible } from "../panels/format";

function Mark({ isOn }: { isOn: boolean }) {
  return isOn ? <span class="mark mark-on"><IconCheck size={14} /> on</span> : <span class="mark mark-off"><IconClose size={14} /> off</span>;
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied", "good");
  } catch (cause) {
    failed("copy", cause);
  }
}

/** Why something is off, and what turns it on: a command to copy, or words. */
function WhyOff({ why, remedy, isCommand }: { why: string | null; remedy: string | null; isCommand: boolean }) {
  if (!why && !remedy) return null;
  return (
    <div class="why-off">
      {why && <p>{visible(why)}</p>}
      {remedy && !isCommand && <p class="fact-what">{visible(remedy)}</p>}
      {remedy && isCommand && (
        <p class="remedy">
          <code>{visible(remedy)}</code>
          <IconButton size="small" icon={IconCopy} label="Copy how to turn it on" onClick={() => void copy(remedy)} />
        </p>
      )}
    </div>
  );
}

function Facts({ list }: { list: readonly WallFact[] }) {
  return (
    <ul class="facts">
      {list.map((wall) => (
        <li key={wall.name} class="fact">
          <p class="fact-head"><strong>{visible(wall.name)}</strong> <Mark isOn={wall.on} /></p>
          {wall.what && <p class="fact-what">{wall.what}</p>}
          {!wall.on && <WhyOff why={wall.why} remedy={wall.remedy} isCommand />}
        </li>
      ))}
    </ul>
  );
}

export function Walls({ facts, names }: { facts: readonly WallFact[] | undefined; names: readonly string[] }) {
  // A daemon that does not say more says which stand.
  const list = facts ?? names.map((name) => ({ name, on: true, what: "", why: null, remedy: null }));
  // The ids are what the user wall is made of, and no wall of their own.
  const [walls, below] = [list.filter((wall) => wall.name !== "ids"), list.filter((wall) => wall.name === "ids")];
  const on = walls.filter((wall) => wall.on).length;
  return (
    <>
      <p class="status-note">{on === walls.length ? `All ${on} walls stand.` : `${on} of ${walls.length} walls stand.`}</p>
      <Facts list={walls} />
      {below.length > 0 && <p class="status-note">What the user wall is made of:</p>}
      {below.length > 0 && <Facts list={below} />}
    </>
  );
}

export function Backends({ backends, active }: { backends: readonly Backend[]; active: string }) {
  return (
    <ul class="facts">
      {backends.map((backend) => (
        <li key={backend.name} class="fact">
          <p class="fact-head">
            <strong>{visible(backend.name)}</strong> <Mark isOn={backend.available} />
            {backend.name === active && <span class="mark mark-used">in use</span>}
          </p>
          <p class="fact-what">{backend.isolation} · for {backend.for.join(", ")}</p>
          {(backend.lacks ?? []).length > 0 && <p class="fact-what">its sessions lack {(backend.lacks ?? []).join(", ")}</p>}
          {!backend.available && <WhyOff why={backend.why} remedy={backend.remedy} isCommand={false} />}
        </li>
      ))}
    </ul>
  );
}
