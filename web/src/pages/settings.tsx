// SPDX-License-Identifier: Apache-2.0
// The page of the settings that this browser remembers: who asks, how it looks, and what new conversations start with.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { FollowSwitch } from "../agents/follow";
import * as calls from "../api/calls";
import { ApiError } from "../api/client";
import type { Policy, Status } from "../api/types";
import { PageHead } from "../shell/head";
import { policyChosen, policyText, runtimeOf, runtimeText, withChosen } from "../shell/limits";
import { connection, restartFeed } from "../state/feed";
import { change, settings, type Settings } from "../state/settings";
import { Button, Switch } from "../ui";
import { IconCheck, IconError, IconMoon, IconSun } from "../ui/icons";
import "./settings.css";

function Section({ title, children }: { title: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <section class="settings-section" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <div class="settings-body">{children}</div>
    </section>
  );
}

type Answer = { isGood: boolean; text: string } | null;

/** The daemon's answer to this token, as a sentence. */
async function ask(hasToken: boolean): Promise<Answer> {
  try {
    const { version, caller } = await calls.status();
    const isUsed = hasToken && typeof caller?.token === "string";
    const said = isUsed ? "The daemon knows this token." : hasToken ? "No token is needed here; this one is not used." : "No token is needed here.";
    return { isGood: true, text: `${said} The daemon is Vivarium ${version}.` };
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause;
    if (cause.isAway) return { isGood: false, text: "The daemon does not answer, so the token could not be tried. It is kept." };
    if (cause.status === 401) return { isGood: false, text: hasToken ? "The daemon does not know this token." : "This daemon asks for a token." };
    return { isGood: false, text: cause.message };
  }
}

function Access() {
  const [token, setToken] = useState(settings.peek().token);
  const [isShown, setShown] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const answer = useSignal<Answer>(null);
  const id = useId();
  const use = async (event: Event) => {
    event.preventDefault();
    const typed = token.trim();
    const isNew = typed !== settings.peek().token;
    setBusy(true);
    change({ token: typed });
    answer.value = await ask(typed !== "");
    setBusy(false);
    if (isNew || connection.peek() !== "on") restartFeed();
  };
  return (
    <Section title="Access">
      <form class="field" onSubmit={(event) => void use(event)}>
        <label class="field-label" for={id}>Token</label>
        <div class="token">
          <input id={id} class="input" type={(isShown ? "text" : "password") as "text"} autocomplete="off" spellcheck={false} value={token} placeholder="none"
            onInput={(event) => { setToken(event.currentTarget.value); answer.value = null; }} />
          <Button aria-pressed={isShown} onClick={() => setShown(!isShown)}>{isShown ? "Hide" : "Show"}</Button>
          <Button tone="primary" type="submit" busy={isBusy}>Save and test</Button>
        </div>
        <p class={answer.value?.isGood ? "answer answer-good" : "answer answer-bad"} role="status">
          {answer.value && <>{answer.value.isGood ? <IconCheck size={16} /> : <IconError size={16} />} {answer.value.text}</>}
        </p>
        <p class="field-hint">Kept in this browser only. Whoever runs the daemon makes one with <code>viv token new NAME</code>.</p>
      </form>
      {settings.value.approveKey && (
        <div class="settings-row">
          <p>This browser holds the key to allow and deny runs.</p>
          <Button size="small" onClick={() => change({ approveKey: "" })}>Forget the key</Button>
        </div>
      )}
    </Section>
  );
}

const themes: { value: Settings["theme"]; label: string }[] = [
  { value: "system", label: "System" }, { value: "light", label: "Light" }, { value: "dark", label: "Dark" },
];

function Appearance() {
  return (
    <Section title="Appearance">
      <fieldset class="choices">
        <legend class="field-label">Theme</legend>
        <div class="segments">
          {themes.map(({ value, label }) => (
            <label key={value} class="segment">
              <input type="radio" name="theme" value={value} checked={settings.value.theme === value} onChange={() => change({ theme: value })} />
              <span>{value === "light" && <IconSun size={14} />}{value === "dark" && <IconMoon size={14} />}{label}</span>
            </label>
          ))}
        </div>
      </fieldset>
    </Section>
  );
}

interface ChoiceProps {
  label: string;
  hint: string;
  value: string;
  choices: ReadonlyMap<string, string> | null; // names with what they mean; null: not known yet
  onChange: (name: string) => void;
}

function Choice({ label, hint, value, choices, onChange }: ChoiceProps) {
  const id = useId();
  // A value that this daemon does not have stays visible: else the choice would change behind the person's back.
  const all = [...(choices ?? [])];
  if (value && !choices?.has(value)) all.push([value, choices ? `${value} (not on this daemon)` : value]);
  return (
    <div class="field">
      <label class="field-label" for={id}>{label}</label>
      <select id={id} class="input" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">The daemon's default</option>
        {all.map(([name, text]) => <option key={name} value={name}>{text}</option>)}
      </select>
      <p class="field-hint">{hint}</p>
    </div>
  );
}

function Defaults() {
  const [policies, setPolicies] = useState<Policy[] | null>(null);
  const [status, setStatus] = useState<Status | null>(null);
  const isOn = connection.value === "on";
  useEffect(() => {
    // A list that cannot be read leaves the daemon's default as the only choice; the banner says why.
    calls.policies().then(setPolicies, () => {});
    calls.status().then(setStatus, () => {});
  }, [isOn]);
  const { sandboxByDefault, policy, runtime } = settings.value;
  return (
    <>
      <Section title="New conversations">
        <Switch label="Run code in new conversations" checked={sandboxByDefault} onChange={(isSet) => change({ sandboxByDefault: isSet })} />
        <div class="pair">
          <Choice label="Policy" hint={withChosen("How much memory a session has, and how long its runs may take. None reaches the network.", policyChosen(policies?.find(({ name }) => name === (policy || "default"))))} value={policy}
            choices={policies && new Map(policies.map((one) => [one.name, `${one.name}: ${policyText(one)}`]))} onChange={(name) => change({ policy: name })} />
          <Choice label="Runtime" hint={withChosen("Which Python, with which packages.", runtimeOf(status?.runtimes ?? [], runtime))} value={runtime}
            choices={status && new Map(status.runtimes.map((one) => [one.name, runtimeText(one)]))} onChange={(name) => change({ runtime: name })} />
        </div>
      </Section>
      <Section title="Agents">
        <FollowSwitch />
        <p class="field-hint">When an agent starts a run, the page goes to its session.</p>
      </Section>
    </>
  );
}

export function SettingsPage() {
  return (
    <>
      <PageHead title="Settings" />
      <div class="scroll">
        <div class="settings">
          <Access />
          <Appearance />
          <Defaults />
        </div>
      </div>
    </>
  );
}
