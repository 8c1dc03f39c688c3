// SPDX-License-Identifier: Apache-2.0
// While something waits for a person, the page says so wherever it is.
import { go, route } from "../state/route";
import { Button } from "../ui";
import { IconHand } from "../ui/icons";
import { visible } from "../panels/format";
import { approve, cards, heldCount, isOpen } from "./held";
import { askerOf } from "./who";
import "./agents.css";

export function HeldBanner() {
  const count = heldCount.value;
  if (count === 0 || route.value.page === "approvals") return <div role="status" class="unseen" />;
  const mayDecide = approve.value?.may ?? false;
  const first = cards.value.find(isOpen)?.run;
  return (
    <div class="held-banner" role="status">
      <IconHand size={16} />
      <p>
        <strong>{count === 1 ? "A run waits" : `${count} runs wait`} for {mayDecide ? "your approval" : "approval"}</strong>
        {first && <span class="held-line">{askerOf(first.who)}: <code>{visible(first.line ?? "")}</code></span>}
      </p>
      <Button size="small" onClick={() => go("#/approvals")}>Review</Button>
    </div>
  );
}
