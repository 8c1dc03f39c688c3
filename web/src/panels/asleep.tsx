// SPDX-License-Identifier: Apache-2.0
// A session without a sandbox: what it made is on disk, and one click brings it back.
import { useState } from "preact/hooks";
import { wakeSession } from "../api/calls";
import type { Session } from "../api/types";
import { failed, toast } from "../state/toasts";
import { Button } from "../ui";
import { IconHistory } from "../ui/icons";
import { bytes } from "./format";
import { sessionChanged } from "./load";

export function Asleep({ session }: { session: Session }) {
  const [busy, setBusy] = useState(false);
  const wake = () => {
    setBusy(true);
    wakeSession(session.id)
      .then(() => {
        sessionChanged(session.id);
        toast("The session is awake: variables and files are back, as far as they could be kept", "good");
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
