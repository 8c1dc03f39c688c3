// SPDX-License-Identifier: Apache-2.0
// A session without a sandbox: what it made is on disk, and one click brings it back.
import { useState } from "preact/hooks";
import { wakeSession } from "../api/calls";
import type { Missing, Session } from "../api/types";
import { failed, toast } from "../state/toasts";
import { Button } from "../ui";
import { IconHistory } from "../ui/icons";
import { bytes, visible } from "./format";
import { sessionChanged } from "./load";

const NAMES_MAX = 20;

function awakeText(missing: readonly Missing[]): string {
  if (missing.length === 0) return "The session is awake: variables and files are back";
  const names = missing.slice(0, NAMES_MAX).map(({ name }) => visible(name)).join(", ");
  const rest = missing.length > NAMES_MAX ? ` and ${missing.length - NAMES_MAX} more` : "";
  return `The session is awake: variables and files are back, except ${names}${rest}, which could not be kept`;
}

export function Asleep({ session }: { session: Session }) {
  const [busy, setBusy] = useState(false);
  const wake = () => {
    setBusy(true);
    wakeSession(session.id)
      .then(({ woken }) => {
        sessionChanged(session.id);
        toast(awakeText(woken?.missing ?? []), "good");
      })
      .catch((cause: unknown) => failed("wake the session", cause))
      .finally(() => setBusy(false));
  };
  return (
    <div class="asleep">
      <p class="panel-note">
        The session is asleep. Its variables and files are on disk{session.kept ? ` (${bytes(session.kept.bytes)})` : ""}; the next run wakes it, too.
      </p>
      <Button size="small" tone="primary" icon={IconHistory} busy={busy} onClick={wake}>Wake</Button>
    </div>
  );
}
