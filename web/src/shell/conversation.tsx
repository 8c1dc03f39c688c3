// SPDX-License-Identifier: Apache-2.0
// The page of one conversation: its head, its cells, and files dropped anywhere on it.
import { useEffect, useState } from "preact/hooks";
import { CellList } from "../cells";
import { DropZone } from "../panels/drop";
import { UploadTray } from "../panels/tray";
import { uploadFiles } from "../panels/upload";
import { ApiError } from "../api/client";
import type { Conversation } from "../state/conversation";
import { openConversation, openSession } from "../state/conversations";
import { connection } from "../state/feed";
import { go } from "../state/route";
import { Button, EmptyState, Loading } from "../ui";
import { IconChat } from "../ui/icons";
import { ConversationHead } from "./conversation_head";
import { PageHead } from "./head";

export function ConversationPage({ conversation }: { conversation: Conversation }) {
  return (
    <>
      <ConversationHead key={conversation.id} conversation={conversation} />
      <DropZone class="scroll stage" onFiles={(files) => void uploadFiles(conversation, files)}>
        <CellList key={conversation.id} conversation={conversation} />
      </DropZone>
      {/* Where nothing else is, what has arrived is what the page is about. */}
      <div class={conversation.cells.value.length === 0 ? "tray-first" : undefined}><UploadTray /></div>
    </>
  );
}

interface OpeningProps {
  id: string;
  kind: "conversation" | "session";
}

/** Until it is there, and when it cannot be had. */
export function Opening({ id, kind }: OpeningProps) {
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [tries, setTries] = useState(0);
  const isOn = connection.value === "on";

  useEffect(() => {
    let isWanted = true;
    setProblem(null);
    const open = kind === "conversation" ? openConversation(id) : openSession(id);
    open.then(
      (conversation) => { if (isWanted && kind === "session") go(`#/c/${conversation.id}`); },
      (cause: unknown) => { if (isWanted) setProblem(cause instanceof ApiError ? cause : new ApiError(-1, "internal", String(cause))); },
    );
    return () => { isWanted = false; };
  }, [id, kind, tries, isOn]);

  if (!problem || problem.isAway || problem.status === 401) return <><PageHead /><Loading label={`Opening the ${kind}`} /></>;
  const isGone = problem.status === 404;
  return (
    <>
      <PageHead />
      <EmptyState icon={IconChat} title={isGone ? `This ${kind} is not there` : `The ${kind} could not be opened`}>
        <p>{isGone ? "It was deleted, it has ended, or it belongs to another token." : problem.message}</p>
        <p class="empty-deeds">
          <Button onClick={() => go("#/")}>To the start</Button>
          {!isGone && <Button tone="primary" onClick={() => setTries(tries + 1)}>Try again</Button>}
        </p>
      </EmptyState>
    </>
  );
}
