// SPDX-License-Identifier: Apache-2.0
// Files on their way into the open conversation, and the offer to chart what has arrived. It floats over the page, since
// files may be dropped anywhere.
import { current } from "../state/conversations";
import { Button, IconButton, Progress } from "../ui";
import { IconChart, IconCheck, IconClose, IconError, IconFile, IconTable } from "../ui/icons";
import { bytes } from "./format";
import { insertAndRun } from "./insert";
import { workbookCell } from "./starter";
import { closeUpload, nameOf, uploads, type Upload } from "./upload";
import "./tray.css";

const SHOWN = 4; // the others are counted

function Sending({ upload, sent }: { upload: Upload; sent: number }) {
  const { size } = upload.file;
  const isSent = sent >= size;
  return (
    <>
      <Progress value={isSent ? undefined : sent / Math.max(1, size)} label={`Upload of ${nameOf(upload)}`} />
      <p class="tray-note">{isSent ? "Waits for its turn in the session" : `${bytes(sent)} of ${bytes(size)}`}</p>
    </>
  );
}

function Asks({ upload }: { upload: Upload }) {
  return (
    <div class="tray-asks" role="group" aria-label={`${nameOf(upload)} is there already`}>
      <span class="tray-note">It is there already.</span>
      <Button size="small" onClick={() => upload.answer?.("replace")}>Replace</Button>
      <Button size="small" onClick={() => upload.answer?.("both")}>Keep both</Button>
    </div>
  );
}

function Done({ upload, starter, note }: { upload: Upload; starter: string | null; note: string }) {
  if (starter === null) return <p class="tray-note">{note || `${bytes(upload.file.size)}, ready to use`}</p>;
  const isWorkbook = workbookCell(upload.path) !== null;
  const chart = () => {
    closeUpload(upload);
    void insertAndRun(upload.conversation, starter);
  };
  return (
    <Button tone="primary" size="small" icon={isWorkbook ? IconTable : IconChart} class="tray-chart" onClick={chart}>
      <span class="tray-label">{isWorkbook ? "Read" : "Chart"} {nameOf(upload)}</span>
    </Button>
  );
}

function Row({ upload, asking }: { upload: Upload; asking: Upload | undefined }) {
  const state = upload.state.value;
  const Icon = state.at === "done" && !state.note ? IconCheck : state.at === "failed" ? IconError : IconFile;
  const isOver = state.at === "done" || state.at === "failed";
  return (
    <li class={`tray-row tray-${state.at}`}>
      <Icon size={16} />
      <div class="tray-main">
        <p class="tray-name" title={nameOf(upload)}>{nameOf(upload)}</p>
        {state.at === "waiting" && <p class="tray-note">{asking ? `Waits for your answer about ${nameOf(asking)}` : "Waiting"}</p>}
        {state.at === "asks" && <Asks upload={upload} />}
        {state.at === "sending" && <Sending upload={upload} sent={state.sent} />}
        {state.at === "done" && <Done upload={upload} starter={state.starter} note={state.note} />}
        {state.at === "failed" && (
          <p class="tray-note" role="alert">
            Not uploaded: {state.message}
            {state.remedy && <span class="tray-remedy"> {state.remedy}</span>}
          </p>
        )}
      </div>
      <IconButton size="small" icon={IconClose} label={isOver ? `Dismiss ${nameOf(upload)}` : `Cancel the upload of ${nameOf(upload)}`}
        onClick={() => closeUpload(upload)} />
    </li>
  );
}

/** For the layout: shows what is uploaded into the conversation that is open. */
export function UploadTray() {
  const conversation = current.value;
  const mine = uploads.value.filter((upload) => upload.conversation === conversation);
  if (mine.length === 0) return null;
  // Files that ask, are being sent or failed come before those that are done.
  const rank = { asks: 0, sending: 1, failed: 2, done: 3, waiting: 4 } as const;
  const sorted = mine.toSorted((a, b) => rank[a.state.value.at] - rank[b.state.value.at]);
  const shown = sorted.slice(0, SHOWN);
  const asking = mine.find((upload) => upload.state.value.at === "asks");
  return (
    <section class="tray" aria-label="Uploads">
      <ul aria-live="polite">{shown.map((upload) => <Row key={upload.path} upload={upload} asking={asking} />)}</ul>
      {mine.length > shown.length && (
        <p class="tray-more">
          and {mine.length - shown.length} more
          <Button size="small" tone="quiet" onClick={() => mine.forEach(closeUpload)}>Dismiss all</Button>
        </p>
      )}
    </section>
  );
}
