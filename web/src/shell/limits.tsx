// SPDX-License-Identifier: Apache-2.0
// Limits for the runs of a conversation: time for each run, memory and Python for its session.
import { signal } from "@preact/signals";
import { useEffect, useId, useState } from "preact/hooks";
import * as calls from "../api/calls";
import type { Policy, Status, Use } from "../api/types";
import { own } from "../output/checks";
import { formatBytes, formatMs } from "../output/format";
import type { Conversation } from "../state/conversation";
import { sessions } from "../state/feed";
import { chosenPolicy, defaultTime, longestTime, memoryOf, policies, timesOf } from "../state/policies";
import { preloadText } from "../state/runtimes";
import { settings } from "../state/settings";
import { toast } from "../state/toasts";
import { Button, Dialog } from "../ui";
import { restart } from "./deeds";

const asked = signal<{ conversation: Conversation; use: Use } | null>(null);

/** Opens the dialog; `suggested` is chosen in it already. */
export function askLimits(conversation: Conversation, suggested: Use = {}): void {
  asked.value = { conversation, use: { ...conversation.use.peek(), ...suggested } };
}

interface PickProps {
  label: string;
  hint: string;
  value: string;
  options: readonly { value: string; label: string }[];
  onChange: (value: string) => void;
}

function Pick({ label, hint, value, options, onChange }: PickProps) {
  const id = useId();
  // A value that this daemon does not have stays visible: else the choice would change behind the person's back.
  const all = options.some((option) => option.value === value) ? options : [...options, { value, label: `${value} (not on this daemon)` }];
  return (
    <div class="field">
      <label class="field-label" for={id}>{label}</label>
      <select id={id} class="input" value={value} aria-describedby={`${id}-hint`} onChange={(event) => onChange(event.currentTarget.value)}>
        {all.map((option) => <option key={option.value} value={option.value}>{option.label}</option>)}
      </select>
      <p id={`${id}-hint`} class="field-hint">{hint}</p>
    </div>
  );
}

const PRELOADS_SHOWN = 4;

/** The features that set a policy apart from the others. */
export function policyText(policy: Policy | undefined): string {
  if (!policy) return "";
  const [usual, most] = [defaultTime(policy), longestTime(policy)];
  const time = usual < most ? `runs of ${formatMs(usual)}, up to ${formatMs(most)} when asked` : `runs of ${formatMs(most)}`;
  const more = [own(policy["guard"], "enabled") === true && "imports are checked first", policy["approve"] === true && "a person allows each run"];
  return [formatBytes(memoryOf(policy)), time, ...more].filter(Boolean).join(", ");
}

const timeText = ({ timeout_ms }: Use) => (timeout_ms ? formatMs(timeout_ms) : "as long as the policy says");

type Runtime = Status["runtimes"][number];

export const runtimeText = ({ name, preload }: Runtime) => `${name}: ${preload.length ? `${preloadText(preload, PRELOADS_SHOWN)} loaded already` : "plain Python, imports load when asked for"}`;

/** The hint with the full text of the choice: its box may have no room for all of it. */
export const withChosen = (hint: string, text: string) => (text ? `${hint} ${text}.` : hint);

/** "The policy heavy: 8 GiB, ...": what it says, which is not yet what a session has that runs. */
export const policyChosen = (policy: Policy | undefined) => (policy ? `The policy ${policy.name}: ${policyText(policy)}` : "");

/** The contents of a runtime, where it is chosen by name. */
export function runtimeOf(runtimes: readonly Runtime[], name: string | undefined): string {
  const found = runtimes.find((one) => one.name === name);
  return found ? `The runtime ${runtimeText(found)}` : "";
}

/** "The default (heavy): 8 GiB, ..."; the name only where it says more. */
const defaultText = (name: string, plain: string, text: string) => `The default${name && name !== plain ? ` (${name})` : ""}${text ? `: ${text}` : ""}`;

function useRuntimes(): Runtime[] {
  const [found, setFound] = useState<Runtime[]>([]);
  useEffect(() => {
    calls.status().then(({ runtimes }) => setFound(runtimes), () => {}); // the default is still there
  }, []);
  return found;
}

function Limits({ conversation, use: given }: { conversation: Conversation; use: Use }) {
  const [use, setUse] = useState<Use>(given);
  const runtimes = useRuntimes();
  const close = () => { asked.value = null; };
  const session = sessions.value.get(conversation.session.value ?? "");
  const chosen = settings.value;
  const usual = policies.value.find(({ name }) => name === (chosen.policy || "default"));
  const policy = policies.value.find(({ name }) => name === (use.policy || chosen.policy || "default")) ?? chosenPolicy(conversation);
  const isOther = session !== undefined &&
    ((use.policy ?? "") !== (conversation.use.value.policy ?? "") || (use.runtime ?? "") !== (conversation.use.value.runtime ?? ""));
  const change = (more: Use) => {
    const next = { ...use, ...more };
    setUse(Object.fromEntries(Object.entries(next).filter(([, value]) => value)) as Use);
  };
  const save = async () => {
    close();
    const choice = { policy: use.policy || chosen.policy || "default", runtime: use.runtime || chosen.runtime || "auto" };
    if (isOther && !(await restart(conversation, choice))) return;
    const most = longestTime(policy);
    const before = timeText(conversation.use.peek());
    conversation.use.value = use.timeout_ms && most ? { ...use, timeout_ms: Math.min(use.timeout_ms, most) } : use;
    conversation.touch();
    const after = timeText(conversation.use.peek());
    if (!isOther && after !== before) toast(`Each run may take ${after} from now on`, "good", "Variables and files stay.");
  };
  return (
    <Dialog title="Limits of this conversation" onClose={close} actions={
      <>
        <Button onClick={close}>Cancel</Button>
        <Button tone={isOther ? "danger" : "primary"} onClick={() => void save()}>{isOther ? "Save and restart the session" : "Save"}</Button>
      </>
    }>
      <Pick label="Time for each run" hint={`The policy allows up to ${formatMs(longestTime(policy))}. A single cell can have its own, by the clock above it.`}
        value={String(use.timeout_ms ?? "")} onChange={(value) => change({ timeout_ms: Number(value) })}
        options={[{ value: "", label: `The policy's default (${formatMs(defaultTime(policy))})` },
          ...timesOf(policy).map((ms) => ({ value: String(ms), label: formatMs(ms) }))]} />
      <Pick label="Policy" hint={withChosen("How much memory the session has, and how long its runs may take at most.", policyChosen(policy))}
        value={use.policy ?? ""} onChange={(value) => change({ policy: value })}
        options={[{ value: "", label: defaultText(chosen.policy, "default", policyText(usual)) }, ...policies.value.map((one) => ({ value: one.name, label: `${one.name}: ${policyText(one)}` }))]} />
      <Pick label="Runtime" hint={withChosen("Which Python, with which packages.", runtimeOf(runtimes, use.runtime))} value={use.runtime ?? ""} onChange={(value) => change({ runtime: value })}
        options={[{ value: "", label: defaultText(chosen.runtime, "auto", chosen.runtime && chosen.runtime !== "auto" ? "" : "what the policy says, else base") }, ...runtimes.map((one) => ({ value: one.name, label: runtimeText(one) }))]} />
      {isOther && <p class="limits-note" role="status">Memory and Python belong to the session, so it is restarted. Its files stay, and so do the cells, what they showed, and the states that are on disk. Its variables go: run the cells again after that.</p>}
    </Dialog>
  );
}

/** For the layout: shows the dialog when it was asked for. */
export function LimitsDialog() {
  const open = asked.value;
  return open && <Limits key={open.conversation.id} {...open} />;
}
