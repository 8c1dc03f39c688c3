// SPDX-License-Identifier: Apache-2.0
// Beside the cells: what the session holds now, and what it held before.
import { effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Conversation } from "../state/conversation";
import { onRun, sessions } from "../state/feed";
import { isOthers } from "../state/self";
import { EmptyState, Tabs } from "../ui";
import { IconFolder, IconHistory, IconLock, IconVariable } from "../ui/icons";
import { Asleep } from "./asleep";
import { Files } from "./files";
import { visible } from "./format";
import { sessionChanged } from "./load";
import { Timeline } from "./timeline";
import { Variables } from "./variables";
import "./panels.css";

export type PanelTab = "variables" | "files" | "timeline";

/** Which tab is open; the same in every conversation. */
export const panelTab = signal<PanelTab>("variables");

const TABS = [
  { name: "variables", label: "Variables", icon: IconVariable },
  { name: "files", label: "Files", icon: IconFolder },
  { name: "timeline", label: "Timeline", icon: IconHistory },
] as const;

/** Loads anew when a run of the session ends, and when its head moves: by a checkpoint, or by going back elsewhere. */
function useChanges(conversation: Conversation): void {
  useEffect(() => {
    let before = "";
    const stopHead = effect(() => {
      const id = conversation.session.value;
      const session = id === null ? undefined : sessions.value.get(id);
      const now = session ? `${session.id} ${session.head} ${session.runs} ${session.state === "lost"} ${session.state === "asleep"}` : "";
      if (now !== "" && before !== "" && now !== before) sessionChanged(session!.id);
      before = now || before;
    });
    const stopRuns = onRun((row) => {
      if (row.session !== null && row.session === conversation.session.peek() && row.state === "over") sessionChanged(row.session);
    });
    return () => {
      stopHead();
      stopRuns();
    };
  }, [conversation]);
}

/** Shown for a session of another token: only its runs may be seen. */
function Others({ token }: { token: string | null | undefined }) {
  return (
    <EmptyState icon={IconLock} title="This session belongs to somebody else">
      <p>{token ? `It is ${visible(token)}'s: you` : "You"} see its runs, and not its variables, files and states.</p>
    </EmptyState>
  );
}

export function Panel({ conversation }: { conversation: Conversation }) {
  useChanges(conversation);
  const tab = panelTab.value;
  const id = conversation.session.value;
  const session = id === null ? undefined : sessions.value.get(id);
  if (isOthers(session)) return <Others token={session?.token} />;
  return (
    <Tabs label="What the session holds" tabs={TABS} current={tab} onChange={(name) => (panelTab.value = name)}>
      {session?.state === "asleep" && <Asleep session={session} />}
      {tab === "variables" && session?.state !== "asleep" && <Variables conversation={conversation} />}
      {tab === "files" && session?.state !== "asleep" && <Files conversation={conversation} />}
      {tab === "timeline" && <Timeline conversation={conversation} />}
    </Tabs>
  );
}
