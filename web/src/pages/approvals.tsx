// SPDX-License-Identifier: Apache-2.0
// Runs that a policy holds until a person has looked at them, and below them what everybody runs.
import { useEffect, useRef } from "preact/hooks";
import { Activity } from "../agents/activity";
import { HeldCard } from "../agents/card";
import { FollowSwitch } from "../agents/follow";
import { approve, cards, clearDecided, heldError, isOpen, loadHeld, moreHeld } from "../agents/held";
import { Trouble } from "../panels/trouble";
import { change, settings } from "../state/settings";
import { Button, EmptyState } from "../ui";
import { IconHand, IconLock } from "../ui/icons";
import "../agents/agents.css";
import "../panels/panels.css";

const SHOWN_MAX = 12; // those behind come when these are cleared: code is long, and a flood of it must not stop the page

/** Tells what this browser lacks to decide. */
function HowToDecide({ needs }: { needs: "nothing" | "key" | "token" }) {
  const key = useRef<HTMLInputElement>(null);
  if (needs === "token") {
    return (
      <div class="decide-how" role="note">
        <IconLock size={16} />
        <p>You may look, and not decide: that takes a token with <code>oversee: true</code>. Set it in the settings.</p>
      </div>
    );
  }
  return (
    <form class="decide-how" onSubmit={(event) => {
      event.preventDefault();
      const typed = key.current!.value.trim();
      if (typed) {
        change({ approveKey: typed });
        void loadHeld();
      }
    }}>
      <IconLock size={16} />
      <div>
        <p>{settings.value.approveKey ? "The key that this browser has is not the right one." : "To decide, this browser needs the key of the daemon."} Open the address that <code>viv serve</code> printed, or paste the key from <code>approve.key</code> in its state folder.</p>
        <label class="field"><span class="field-label">Approve key</span><input ref={key} class="input" type="password" autocomplete="off" /></label>
        <Button tone="primary" type="submit">Use this key</Button>
      </div>
    </form>
  );
}

function Held() {
  const all = cards.value;
  const mayDecide = approve.value?.may ?? false;
  if (all.length === 0) {
    return (
      <EmptyState icon={IconHand} title="Nothing waits for you">
        <p>A policy with <code>approve: true</code> holds each run here, with its code, until you allow it. Nothing of it runs before.</p>
      </EmptyState>
    );
  }
  const behind = Math.max(0, all.length - SHOWN_MAX) + moreHeld.value;
  const decided = all.filter((card) => !isOpen(card)).length;
  return (
    <>
      {!mayDecide && approve.value && <HowToDecide needs={approve.value.needs} />}
      {all.slice(0, SHOWN_MAX).map((card) => <HeldCard key={card.run.id} card={card} mayDecide={card.run.may ?? mayDecide} />)}
      {behind > 0 && <p class="judge-note">and {behind} more behind these</p>}
      {decided > 0 && <Button onClick={clearDecided}>Clear the {decided === 1 ? "one that is decided" : `${decided} that are decided`}</Button>}
    </>
  );
}

export function Approvals() {
  useEffect(() => void loadHeld(), []);
  return (
    <div class="approvals">
      <header class="approvals-head">
        <h1>Approvals</h1>
        <FollowSwitch />
      </header>
      {heldError.value && <Trouble what="What waits" error={heldError.value} onRetry={() => void loadHeld()} />}
      <section aria-label="Runs that wait for approval"><Held /></section>
      <Activity />
    </div>
  );
}
