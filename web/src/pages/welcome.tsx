// SPDX-License-Identifier: Apache-2.0
// The first look: what this is, in one line, and things to do with one click each.
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Acts, agentRuns } from "../agents/activity";
import { runAll } from "../cells/run";
import { DropZone } from "../panels/drop";
import { chartFirst, showEnd } from "../panels/insert";
import { uploadFiles } from "../panels/upload";
import { isMaking, startConversation } from "../shell/deeds";
import { PageHead } from "../shell/head";
import { importNotebook } from "../shell/notebook";
import { createConversation } from "../state/conversations";
import { settings } from "../state/settings";
import { failed, toast } from "../state/toasts";
import { Button, IconButton, Spinner } from "../ui";
import { IconChart, IconCode, IconCopy, IconFile, IconPlay, IconUpload, Logo } from "../ui/icons";
import { cellsOf, examples, sampleFile, type Example } from "./examples";
import "../agents/agents.css";
import "../panels/panels.css";
import "./welcome.css";

const RUNS_SHOWN = 5; // of agents; more are under Approvals

const busy = signal<string | null>(null); // what was clicked and is being made

/** Only one at a time: a second click on something slow must not make two. */
async function once(what: string, deed: () => Promise<void>): Promise<void> {
  if (busy.peek() !== null) return;
  busy.value = what;
  try {
    await deed();
  } catch (cause) {
    failed(what, cause);
  } finally {
    busy.value = null;
  }
}

const startExample = (example: Example) => once(`start "${example.name}"`, async () => {
  const conversation = await createConversation({ name: example.name, cells: await cellsOf(example), sandbox: true });
  void runAll(conversation).then(() => {
    const last = conversation.cells.peek().at(-1);
    // Code that is longer than a screen: what it showed is what the click was for.
    if (last && !example.first) showEnd(last);
  });
});

async function startWith(files: readonly File[]): Promise<void> {
  const notebook = files.find((file) => /\.ipynb$/i.test(file.name));
  if (notebook && files.length === 1) return importNotebook(notebook);
  if (!files.length) return;
  await once("upload", async () => {
    const [first] = files;
    const conversation = await createConversation({ name: first!.name, sandbox: true });
    void uploadFiles(conversation, files).then(() => chartFirst(conversation));
  });
}

function Drop() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div class="drop">
      <span class="drop-icon"><IconChart size={24} /></span>
      <div class="drop-words">
        <h2>Drop a CSV here</h2>
        <p>It becomes a table and an interactive chart at once. Any other file works too, and a notebook (.ipynb) is imported.</p>
      </div>
      <div class="drop-deeds">
        <Button tone="primary" icon={IconUpload} busy={busy.value === "upload"} onClick={() => input.current?.click()}>Choose a file</Button>
        <Button icon={IconFile} onClick={() => void sampleFile().then((file) => startWith([file]), (cause) => failed("read the sample", cause))}>Try sales.csv</Button>
      </div>
      <input ref={input} hidden type="file" multiple aria-label="Upload a file"
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = "";
          void startWith(files);
        }} />
    </div>
  );
}

function Examples() {
  return (
    <section aria-labelledby="examples-title">
      <h2 id="examples-title" class="welcome-head">Examples <span>one click makes a conversation and runs it</span></h2>
      <ul class="examples" aria-label="Examples">
        {examples.map((example) => (
          <li key={example.name}>
            <button type="button" class="example" disabled={busy.value !== null} onClick={() => void startExample(example)}>
              <span class="example-icon">{busy.value === `start "${example.name}"` ? <Spinner size={14} /> : <IconPlay size={14} />}</span>
              <span class="example-name"><span class="unseen">Example: </span>{example.name}</span>{" "}
              <span class="example-what">{example.what}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Line({ label, text }: { label: string; text: string }) {
  const copy = () => navigator.clipboard.writeText(text).then(() => toast("Copied", "good"), (cause) => failed("copy", cause));
  return (
    <div class="agent-line">
      <span class="agent-label">{label}</span>
      <code>{text}</code>
      <IconButton size="small" label={`Copy the line for ${label}`} icon={IconCopy} onClick={() => void copy()} />
    </div>
  );
}

/** Others come in by other doors; what they do shows up here. */
function Agents() {
  const rows = agentRuns();
  const token = settings.value.token ? ` -H "Authorization: Bearer $VIVARIUM_TOKEN"` : "";
  return (
    <section aria-labelledby="agents-title">
      <h2 id="agents-title" class="welcome-head">Agents <span>what they run appears here as it happens</span></h2>
      <div class="agents">
        <Line label="MCP" text={`${location.origin}/mcp`} />
        <Line label="curl" text={`curl -s ${location.origin}/v1/run${token} -d '{"code":"6*7"}'`} />
      </div>
      {rows.length > 0 && (
        <div class="agent-runs">
          <Acts rows={rows.slice(0, RUNS_SHOWN)} />
          {rows.length > RUNS_SHOWN && <a href="#/approvals">All that agents ran</a>}
        </div>
      )}
    </section>
  );
}

export function Welcome() {
  return (
    <>
      <PageHead />
      <DropZone class="scroll" onFiles={(files) => void startWith(files)}>
        <div class="welcome">
          <div class="hero">
            <Logo size={44} />
            <h1>Vivarium</h1>
            <p>Glass walls for Python: everything inside can be seen, nothing gets out.</p>
            <Button icon={IconCode} busy={isMaking.value} onClick={() => void startConversation()}>Start with an empty cell</Button>
          </div>
          <Drop />
          <Examples />
          <Agents />
          <p class="welcome-foot">
            A run that hangs, crashes or eats all memory costs nothing but itself.<br />
            <kbd>Shift+Enter</kbd> runs a cell, <kbd>?</kbd> shows all keys.
          </p>
        </div>
      </DropZone>
    </>
  );
}
