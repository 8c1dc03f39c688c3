// SPDX-License-Identifier: Apache-2.0
// The list of conversations, and the ways to the other pages.
import { useComputed } from "@preact/signals";
import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { heldCount } from "../agents/held";
import type { ConversationRow, Session } from "../api/types";
import { conversations, current, isListed } from "../state/conversations";
import { connection, sessions } from "../state/feed";
import { closeDrawer, isNarrow, toggleSidebar } from "../state/layout";
import { route } from "../state/route";
import { Button, IconButton, Loading, Menu } from "../ui";
import { IconActivity, IconAgent, IconClose, IconGear, IconHand, IconHelp, IconPencil, IconPlus, IconSearch, IconSidebar, IconTrash, Logo } from "../ui/icons";
import { askDelete, isMaking, rename, startConversation } from "./deeds";
import { isHelpShown, mod } from "./help";
import { NameField } from "./name";
import { isFound, isLooking, isMoreLeft, linesFound, query } from "./search";
import { minute, shortAgo } from "./when";

const ROWS_SHOWN = 200; // more only when asked for: somebody may have thousands

const stateWords: Record<Session["state"], string> = {
  starting: "session is starting", idle: "session is live", running: "running", frozen: "session rests", asleep: "session sleeps", lost: "session is lost",
};

/** How its session is, for the eye; words for what matters are said after the name. */
function Dot({ session }: { session: Session | undefined }) {
  return <span class={`dot dot-${session?.state ?? "none"}`} title={session ? stateWords[session.state] : "no session"} aria-hidden="true" />;
}

function Running({ session }: { session: Session | undefined }) {
  return session?.state === "running" ? <span class="unseen"> (running)</span> : null;
}

function Row({ row }: { row: ConversationRow }) {
  const [isRenaming, setRenaming] = useState(false);
  const open = current.value;
  const name = open?.id === row.id ? open.name.value : row.name;
  const session = (open?.id === row.id ? open.session.value : row.session) ?? "";
  const live = sessions.value.get(session);
  const isHere = route.value.page === "conversation" && route.value.id === row.id;
  const line = linesFound.value.get(row.id);
  if (isRenaming) {
    const done = (next: string | null) => {
      setRenaming(false);
      if (next) void rename(row.id, next);
    };
    return <li class="row row-renaming"><NameField value={name} onDone={done} /></li>;
  }
  return (
    <li class="row">
      <a class="row-link" href={`#/c/${row.id}`} aria-current={isHere ? "page" : undefined} title={name} onClick={closeDrawer}
        onDblClick={(event) => { event.preventDefault(); setRenaming(true); }}>
        <Dot session={live} />
        <span class="row-text">
          <span class="row-name">{name}</span>
          <Running session={live} />
          {line && <span class="row-line">{line}</span>}
        </span>
        <span class="row-when" aria-hidden="true">{shortAgo(row.changed_ms, minute.value)}</span>
      </a>
      <Menu class="row-menu" size="small" label={`More actions for ${name}`} items={[
        { label: "Rename", icon: IconPencil, run: () => setRenaming(true) },
        { label: "Delete", icon: IconTrash, tone: "danger", run: () => void askDelete(row.id, name) },
      ]} />
    </li>
  );
}

function ConversationList() {
  const [isAll, setAll] = useState(false);
  const found = useComputed(() =>
    conversations.value.filter((row) => isFound(row.name, query.value) || linesFound.value.has(row.id)),
  ).value;
  const shown = isAll ? found : found.slice(0, ROWS_SHOWN);
  if (!isListed.value && connection.value === "connecting") return <Loading label="Loading the conversations" />;
  if (connection.value === "unauthorized") return <p class="side-note">With the daemon's token your conversations are listed here.</p>;
  if (conversations.value.length === 0) return <p class="side-note">Nothing here yet. What you start appears here and stays.</p>;
  if (found.length === 0 && !isLooking.value) return <p class="side-note" role="status">Nothing is called that or has it in a cell.</p>;
  return (
    <>
      {shown.length > 0 && <ul class="rows" aria-label="Conversations">{shown.map((row) => <Row key={row.id} row={row} />)}</ul>}
      {found.length > shown.length && (
        <Button tone="quiet" size="small" onClick={() => setAll(true)}>Show {found.length - shown.length} more</Button>
      )}
      {isLooking.value && <Loading label="Looking into cells" />}
      {isMoreLeft.value && !isLooking.value && <p class="side-note">Only the latest 1000 were looked into.</p>}
    </>
  );
}

/** Sessions that an agent or the command line made and nobody has looked at here yet. */
function SessionList() {
  const others = useComputed(() => {
    const known = new Set(conversations.value.map((row) => row.session));
    return [...sessions.value.values()].filter(({ id, name }) => !known.has(id) && isFound(name || id, query.value))
      .sort((a, b) => b.used_ms - a.used_ms);
  }).value;
  if (!isListed.value || others.length === 0) return null;
  return (
    <section class="side-section">
      <h2 class="side-head" title="Made over HTTP, MCP or the command line; open one to look at what it does">Other sessions</h2>
      <ul class="rows" aria-label="Other sessions">
        {others.slice(0, ROWS_SHOWN).map((session) => (
          <li key={session.id} class="row">
            <a class="row-link" href={`#/s/${session.id}`} onClick={closeDrawer} title={`${session.name || session.id}: open as a conversation`}>
              <IconAgent size={14} />
              <span class="row-name">{session.name || session.id.slice(0, 12)}</span>
              <Running session={session} />
              <Dot session={session} />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface PlaceProps {
  page: "approvals" | "status" | "settings";
  label: string;
  icon: ComponentType<{ size?: number }>;
  count?: number;
}

function Place({ page, label, icon: Icon, count = 0 }: PlaceProps) {
  return (
    <a class="place" href={`#/${page}`} aria-current={route.value.page === page ? "page" : undefined} onClick={closeDrawer}>
      <Icon size={16} />
      <span class="place-label">{label}</span>
      {count > 0 && <span class="badge">{count}<span class="unseen"> waiting</span></span>}
    </a>
  );
}

export function Sidebar() {
  return (
    <>
      <div class="side-top">
        <a class="brand" href="#/" onClick={closeDrawer}><Logo size={22} /><span>Vivarium</span></a>
        {isNarrow.value
          ? <IconButton label="Close menu" icon={IconClose} onClick={closeDrawer} />
          : <IconButton label="Hide the sidebar" keys={`${mod}+B`} icon={IconSidebar} onClick={toggleSidebar} />}
      </div>
      <div class="side-tools">
        <Button icon={IconPlus} busy={isMaking.value} title="New conversation (Alt+N)" onClick={() => void startConversation()}>New conversation</Button>
        <label class="search">
          <IconSearch size={14} />
          <input class="input" type="search" aria-label="Search conversations" placeholder="Search" maxLength={200} value={query.value}
            onInput={(event) => { query.value = event.currentTarget.value; }} />
        </label>
      </div>
      <div class="side-lists">
        <ConversationList />
        <SessionList />
      </div>
      <div class="side-places">
        <Place page="approvals" label="Approvals" icon={IconHand} count={heldCount.value} />
        <Place page="status" label="Status" icon={IconActivity} />
        <Place page="settings" label="Settings" icon={IconGear} />
        <IconButton class="side-help" label="Keyboard shortcuts" keys="?" icon={IconHelp} onClick={() => { isHelpShown.value = true; }} />
      </div>
    </>
  );
}
