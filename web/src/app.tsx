// SPDX-License-Identifier: Apache-2.0
// The whole page: which part is shown follows from the address (state/route.ts).
import { effect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { HeldBanner, watchAgents } from "./agents";
import { runAll } from "./cells/run";
import { Approvals } from "./pages/approvals";
import { SettingsPage } from "./pages/settings";
import { StatusPage } from "./pages/status";
import { Welcome } from "./pages/welcome";
import { Panel } from "./panels/panel";
import { Banner } from "./shell/banner";
import { ConversationPage, Opening } from "./shell/conversation";
import { PageHead } from "./shell/head";
import { Help, useKeys } from "./shell/help";
import { Layout } from "./shell/layout";
import { LimitsDialog } from "./shell/limits";
import { watchSearch } from "./shell/search";
import { Sidebar } from "./shell/sidebar";
import { current, watchConversations } from "./state/conversations";
import { startFeed } from "./state/feed";
import { watchPolicies } from "./state/policies";
import { route } from "./state/route";
import { watchSelf } from "./state/self";
import "./state/settings";
import { Asks, Toasts } from "./ui";

/** The conversation that the address names, once it is open. */
function shownConversation() {
  const at = route.value;
  const open = current.value;
  return at.page === "conversation" && open?.id === at.id ? open : null;
}

function Page() {
  const at = route.value;
  const open = shownConversation();
  if (open) return <ConversationPage conversation={open} />;
  switch (at.page) {
    case "conversation":
    case "session":
      return <Opening key={at.id} id={at.id} kind={at.page} />;
    case "approvals":
      return <><PageHead /><div key={at.page} class="scroll"><Approvals /></div></>;
    case "status":
      return <><PageHead /><div key={at.page} class="scroll"><StatusPage /></div></>;
    case "settings":
      return <SettingsPage />;
    case "welcome":
      return <Welcome />;
  }
}

const titles = { welcome: "", approvals: "Approvals", status: "Status", settings: "Settings", session: "Session" };

/** Tabs are told apart by their titles, and say that something runs. */
function titleOf(): string {
  const at = route.value;
  const open = shownConversation();
  const name = open ? open.name.value : at.page === "conversation" ? "" : titles[at.page];
  const isOn = open?.cells.value.some((cell) => cell.phase.value === "running") ?? false;
  return `${isOn ? "● " : ""}${name ? `${name} · ` : ""}Vivarium`;
}

const runShown = () => {
  const open = current.peek();
  if (open?.sandbox.peek() && route.peek().page === "conversation") void runAll(open);
};

/** A file that is dropped beside a drop zone must not make the browser leave the page for it. */
function stayOnDrops(): void {
  for (const type of ["dragover", "drop"] as const) {
    addEventListener(type, (event) => {
      if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "none";
    });
  }
}

let isStarted = false;
function start(): void {
  if (isStarted) return;
  isStarted = true;
  watchSelf();
  watchPolicies();
  watchConversations();
  watchSearch();
  watchAgents();
  startFeed();
  stayOnDrops();
  effect(() => { document.title = titleOf(); });
}

export function App() {
  useEffect(start, []);
  useKeys(runShown);
  const open = shownConversation();
  return (
    <>
      <Layout sidebar={<Sidebar />} banner={<><Banner /><HeldBanner /></>} panel={open ? <Panel key={open.id} conversation={open} /> : undefined}>
        <Page />
      </Layout>
      <Toasts />
      <Asks />
      <Help />
      <LimitsDialog />
    </>
  );
}
