// SPDX-License-Identifier: Apache-2.0
// The bar above the cells: what the conversation is called, how its session is, and what can be done with all of it.
import { useComputed } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { interruptRun, runAll } from "../cells/run";
import type { Conversation } from "../state/conversation";
import { connection, sessions } from "../state/feed";
import { isOthers } from "../state/self";
import { restarting } from "../state/session";
import { isNarrow, isPanelOpen, togglePanel } from "../state/layout";
import { Button, IconButton, Menu, Switch } from "../ui";
import { IconClock, IconDownload, IconPanel, IconPencil, IconPlayAll, IconRefresh, IconStop, IconTrash, IconUpload } from "../ui/icons";
import { askDelete, askRestart, rename, switchSandbox } from "./deeds";
import { OpenMenu } from "./head";
import { mod } from "./help";
import { askLimits } from "./limits";
import { NameField } from "./name";
import { exportNotebook, importNotebook } from "./notebook";

const words = {
  none: ["No session yet", "The first run makes one"],
  restarting: ["Restarting…", "The session starts anew; cells that are run now wait for it"],
  starting: ["Starting", "The session is being made"],
  idle: ["Ready", "The session is live and waits for a run"],
  running: ["Running", "A cell runs"],
  frozen: ["Resting", "The session is frozen to save memory; the next run thaws it"],
  asleep: ["Asleep", "Its variables and files are on disk; the next run wakes it"],
  lost: ["Lost", "The session is gone; the next run makes a new one"],
  ended: ["Ended", "The session has ended; the next run makes a new one"],
  watching: ["Watching", "The session belongs to another token: you see what it does, and cannot run in it"],
  away: ["Away", "The daemon does not answer; what you type is kept in this browser until it does"],
  unsaved: ["Not saved", "The last change could not be saved; it is tried again, at the latest with the next one"],
} as const;

/** One word for how it is: the most urgent of what could be said. */
function stateOf(conversation: Conversation): keyof typeof words {
  const id = conversation.session.value;
  const session = sessions.value.get(id ?? "");
  if (connection.value === "away") return "away";
  if (restarting.value.has(conversation.id)) return "restarting";
  if (conversation.saving.value === "failed") return "unsaved";
  if (conversation.cells.value.some((cell) => cell.phase.value === "running")) return "running";
  if (isOthers(session)) return "watching";
  if (session) return session.state;
  return id && connection.value === "on" ? "ended" : "none";
}

function SessionState({ conversation }: { conversation: Conversation }) {
  const session = sessions.value.get(conversation.session.value ?? "");
  const state = useComputed(() => stateOf(conversation)).value;
  const [label, more] = words[state];
  const about = session ? `${more}. Policy ${session.policy}, runtime ${session.runtime}, ${session.backend}.` : `${more}.`;
  return (
    <span class="session" title={about}>
      <span class={`dot dot-${state}`} />
      <span role="status">{label}</span>
    </span>
  );
}

function Title({ conversation }: { conversation: Conversation }) {
  const [isRenaming, setRenaming] = useState(false);
  const name = conversation.name.value;
  if (isRenaming) {
    return <NameField value={name} onDone={(next) => { setRenaming(false); if (next) void rename(conversation.id, next); }} />;
  }
  return (
    <div class="title">
      <h1 class="head-title" title={name} onDblClick={() => setRenaming(true)}>{name}</h1>
      <IconButton class="title-edit" size="small" label="Rename" icon={IconPencil} onClick={() => setRenaming(true)} />
    </div>
  );
}

export function ConversationHead({ conversation }: { conversation: Conversation }) {
  const file = useRef<HTMLInputElement>(null);
  const isBusy = useComputed(() =>
    conversation.cells.value.some(({ phase }) => phase.value !== "idle" && phase.value !== "over")).value;
  const hasCode = useComputed(() => conversation.cells.value.some(({ kind, source }) => kind.value === "code" && source.value.trim() !== "")).value;
  const mayRun = conversation.sandbox.value && hasCode && !isOthers(sessions.value.get(conversation.session.value ?? ""));
  const take = (input: HTMLInputElement) => {
    const chosen = input.files?.[0];
    input.value = ""; // so that the same file can be chosen again
    if (chosen) void importNotebook(chosen);
  };
  return (
    <header class="head head-conversation">
      <OpenMenu />
      <Title conversation={conversation} />
      <div class="head-tools">
        <SessionState conversation={conversation} />
        <Switch label="Run code" checked={conversation.sandbox.value} onChange={(isOn) => switchSandbox(conversation, isOn)} />
        {isBusy
          ? <Button tone="danger" icon={IconStop} title={`Interrupt (${mod}+.)`} onClick={() => void interruptRun(conversation)}>Interrupt</Button>
          : <Button icon={IconPlayAll} title={`Run all (${mod}+Shift+Enter)`} disabled={!mayRun}
              onClick={() => void runAll(conversation)}>Run all</Button>}
        <Menu label="More actions" items={[
          { label: "Export notebook", icon: IconDownload, run: () => exportNotebook(conversation) },
          { label: "Import notebook", icon: IconUpload, run: () => file.current?.click() },
          "line",
          { label: "Time, memory and Python…", icon: IconClock, disabled: isOthers(sessions.value.get(conversation.session.value ?? "")), run: () => askLimits(conversation) },
          { label: "Restart session", icon: IconRefresh, disabled: !conversation.session.value || isOthers(sessions.value.get(conversation.session.value)), run: () => void askRestart(conversation) },
          { label: "Delete conversation", icon: IconTrash, tone: "danger", run: () => void askDelete(conversation.id, conversation.name.peek()) },
        ]} />
        <IconButton label={isPanelOpen.value ? "Hide the panel" : "Show the panel"} keys={isNarrow.value ? undefined : `${mod}+J`}
          icon={IconPanel} aria-expanded={isPanelOpen.value} onClick={togglePanel} />
      </div>
      <input ref={file} hidden type="file" accept=".ipynb,application/x-ipynb+json,application/json" aria-label="Notebook to import"
        onChange={(event) => take(event.currentTarget)} />
    </header>
  );
}
