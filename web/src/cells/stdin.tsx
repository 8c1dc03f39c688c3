// SPDX-License-Identifier: Apache-2.0
// A line to type into while the code waits for input().
import { useEffect, useRef, useState } from "preact/hooks";
import * as calls from "../api/calls";
import { failed } from "../state/toasts";
import { Button } from "../ui";

interface StdinProps {
  run: string;
  number: number;
}

export function StdinLine({ run, number }: StdinProps) {
  const [text, setText] = useState("");
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);

  // Typing can go on at once, unless somebody is typing elsewhere by now.
  useEffect(() => {
    const { activeElement } = document;
    if (!activeElement || activeElement === document.body || activeElement.closest(".cell")?.contains(field.current)) field.current?.focus();
  }, []);

  const send = async (deed: () => Promise<unknown>) => {
    setBusy(true);
    try {
      await deed();
      setText("");
    } catch (cause) {
      failed("send the input", cause);
    } finally {
      setBusy(false);
      field.current?.focus();
    }
  };

  return (
    <form class="stdin" onSubmit={(event) => { event.preventDefault(); void send(() => calls.sendStdin(run, `${text}\n`)); }}>
      <label class="stdin-label" for={`stdin-${run}`}>Input</label>
      <input ref={field} id={`stdin-${run}`} class="stdin-field" value={text} autocomplete="off" spellcheck={false} readOnly={isBusy}
        placeholder="The code may be waiting for input" aria-label={`Input for cell ${number}`}
        onInput={(event) => setText(event.currentTarget.value)} />
      <Button type="submit" tone="primary" size="small" disabled={isBusy}>Send</Button>
      <Button size="small" tone="quiet" disabled={isBusy} title="Tell the code that there is no more input"
        onClick={() => void send(() => calls.endStdin(run))}>End input</Button>
    </form>
  );
}
