// SPDX-License-Identifier: Apache-2.0
// One run that waits. Allowing is a deliberate act: the button is dead for a moment after the card appears and whenever it
// has moved, until the whole code is there, and for the keyboard it asks once more.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { go } from "../state/route";
import { askConfirm, Button } from "../ui";
import { IconCheck, IconClock, IconClose } from "../ui/icons";
import { bytes, span, visible } from "../panels/format";
import { CodeToJudge, useWhole } from "./code";
import { allow, deny, type Card, type Fate } from "./held";
import { useNow } from "../ui/now";
import { RunDialog } from "./run_dialog";
import { askerOf, WhoLine } from "./who";

export const ARM_MS = 1000;
const WHY_MAX = 500;
const INPUTS_MAX = 5000; // that are listed: more than the daemon ever tells

const FATES: Record<Exclude<Fate, "held">, string> = {
  deciding: "One moment",
  allowed: "You allowed it",
  denied: "You denied it",
  elsewhere: "Decided elsewhere",
  late: "Nobody allowed it in time: denied",
};

/** True once the element has kept its place in the list for ARM_MS. What moves it starts the wait anew; that the reader
 * scrolls does not. */
export function useArmed(element: { current: HTMLElement | null }, isWanted: boolean): boolean {
  const [isArmed, setArmed] = useState(false);
  useEffect(() => {
    setArmed(false);
    if (!isWanted) return;
    let stillSince = performance.now();
    let place = "";
    const look = () => {
      const box = element.current?.getBoundingClientRect();
      const list = element.current?.closest(".approvals")?.getBoundingClientRect();
      const now = box ? `${Math.round(box.left)} ${Math.round(box.top - (list?.top ?? 0))}` : "";
      if (now !== place || document.hidden) {
        place = now;
        stillSince = performance.now();
      }
      setArmed(performance.now() - stillSince >= ARM_MS);
    };
    look();
    const timer = setInterval(look, 100);
    return () => clearInterval(timer);
  }, [isWanted]);
  return isArmed;
}

interface Input {
  kind: string;
  name: string | null;
  size: number | null;
  text: string | null; // its beginning, or all of it
}

/** The inputs that go along with the code; malformed ones are left out. */
export function inputsOf(inputs: unknown): Input[] {
  if (!Array.isArray(inputs)) return [];
  return inputs.slice(0, INPUTS_MAX).flatMap((one: unknown) => {
    const { kind, name, size, text } = (one ?? {}) as Record<string, unknown>;
    if (typeof kind !== "string") return [];
    return [{
      kind, name: typeof name === "string" ? name : null, size: typeof size === "number" ? size : null,
      text: typeof text === "string" ? text : null,
    }];
  });
}

const isCut = ({ text, size }: Input) => text !== null && size !== null && new TextEncoder().encode(text).length < size;

function Inputs({ inputs }: { inputs: unknown }) {
  const list = inputsOf(inputs);
  if (list.length === 0) return null;
  return (
    <div class="card-inputs">
      <h3>What goes along</h3>
      <ul>
        {list.map((one, i) => (
          <li key={i}>
            {visible(one.kind)}{one.name !== null && <> <code>{visible(one.name)}</code></>}{one.size !== null && `, ${bytes(one.size)}`}
            {one.text !== null && one.text !== "" && <>: <code>{visible(one.text)}</code>{isCut(one) && " and more"}</>}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Countdown({ untilMs }: { untilMs: number }) {
  const left = untilMs - useNow(1000);
  return (
    <span class={left < 60_000 ? "card-clock card-clock-soon" : "card-clock"} title="Then it is denied by itself">
      <IconClock size={14} /> {left > 0 ? span(left) : "time is up"}
    </span>
  );
}

interface DecideProps {
  card: Card;
  isReady: boolean; // the whole code is on the screen
  name: string;
}

function Decide({ card, isReady, name }: DecideProps) {
  const box = useRef<HTMLDivElement>(null);
  const why = useRef<HTMLInputElement>(null);
  const pressed = useRef(false); // a press that began on this button while it was armed
  const isArmed = useArmed(box, isReady && card.fate === "held");
  const byKey = async () => {
    const isSure = await askConfirm({ title: "Allow this run?", text: `It was asked for by ${askerOf(card.run.who)}, under the policy ${card.run.policy}.`, action: "Allow" });
    if (isSure) void allow(card);
  };
  return (
    <div ref={box} class="card-decide">
      <label class="field card-why">
        <span class="field-label">Reason <span class="field-hint">(optional, told to who asked)</span></span>
        <input ref={why} class="input" type="text" maxLength={WHY_MAX} autocomplete="off" />
      </label>
      <Button icon={IconClose} aria-label={`Deny ${name}`} onClick={() => void deny(card, why.current!.value.trim())}>Deny</Button>
      <Button tone="primary" icon={IconCheck} aria-label={`Allow ${name}`} disabled={!isArmed}
        title={isArmed ? undefined : "In a moment: first look at what it does"}
        onPointerDown={() => (pressed.current = isArmed)}
        onClick={(event) => {
          // A click without a press of the pointer comes from the keyboard, where a key meant for another place is
          // quickly pressed: it asks once more.
          if (event.detail === 0) void byKey();
          else if (pressed.current) void allow(card);
          pressed.current = false;
        }}>
        Allow
      </Button>
    </div>
  );
}

export function HeldCard({ card, mayDecide }: { card: Card; mayDecide: boolean }) {
  const { run, fate } = card;
  const whole = useWhole(run);
  const [isAllShown, setAllShown] = useState(false);
  const [isWatched, setWatched] = useState(false);
  const titleId = useId();
  const line = visible(run.line ?? "") || "A run";
  return (
    <article class={`card card-${fate}`} aria-labelledby={titleId}>
      <header class="card-head">
        <h2 id={titleId}>{askerOf(run.who)} wants to run this</h2>
        {fate === "held" && <Countdown untilMs={run.until_ms} />}
      </header>
      <dl class="card-facts">
        <div><dt>Who</dt><dd><WhoLine who={run.who} /></dd></div>
        <div><dt>Policy</dt><dd>{visible(run.policy)}</dd></div>
        <div><dt>Runtime</dt><dd>{visible(run.runtime)}</dd></div>
        <div><dt>Where</dt><dd>{run.session === null ? "a fresh sandbox"
          : <button type="button" class="link" onClick={() => go(`#/s/${run.session}`)}>session {run.session.slice(4, 12)}</button>}</dd></div>
      </dl>
      <CodeToJudge whole={whole} label={`Code of ${line}`} onAllShown={setAllShown} />
      <Inputs inputs={run.inputs} />
      <footer class="card-foot">
        {fate === "held" && mayDecide && <Decide card={card} isReady={isAllShown} name={line} />}
        {fate === "held" && !mayDecide && <p class="judge-note">You may look, and not decide.</p>}
        {fate !== "held" && (
          <p class="card-fate" role="status">
            {FATES[fate]}
            {card.why && <span class="card-reason">{visible(card.why)}</span>}
            {fate === "allowed" && <Button size="small" onClick={() => (run.session === null ? setWatched(true) : go(`#/s/${run.session}`))}>Watch it</Button>}
          </p>
        )}
      </footer>
      {isWatched && <RunDialog row={run} onClose={() => setWatched(false)} />}
    </article>
  );
}
