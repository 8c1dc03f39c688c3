// SPDX-License-Identifier: Apache-2.0
// Questions as promises: `await askConfirm(...)`, `await askText(...)`. One at a time; <Asks/> in the layout shows it.
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Button } from "./button";
import { Dialog } from "./dialog";

interface Question {
  title: string;
  text?: string;
  action: string; // what the main button says: a verb
  tone?: "primary" | "danger";
  field?: { label: string; value: string; max: number; optional?: boolean; lines?: number };
  answer: (text: string | null) => void; // null: called off
}

const questions = signal<readonly Question[]>([]);

function put(question: Omit<Question, "answer">): Promise<string | null> {
  return new Promise((resolve) => {
    const asked: Question = {
      ...question,
      answer: (text) => {
        questions.value = questions.value.filter((other) => other !== asked);
        resolve(text);
      },
    };
    questions.value = [...questions.value, asked];
  });
}

export async function askConfirm(ask: { title: string; text: string; action: string; tone?: "primary" | "danger" }): Promise<boolean> {
  return (await put(ask)) !== null;
}

/** The text, trimmed; null when it was called off. Empty only where the field is optional. */
export function askText(ask: {
  title: string; text?: string; label: string; value?: string; action: string;
  tone?: "primary" | "danger"; max?: number; optional?: boolean; lines?: number;
}): Promise<string | null> {
  const { label, value = "", max = 200, optional, lines, ...rest } = ask;
  return put({ ...rest, field: { label, value, max, optional, lines } });
}

function Asked({ question }: { question: Question }) {
  const { title, text, action, tone = "primary", field, answer } = question;
  const input = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  const submit = () => {
    if (!field) return answer("");
    const typed = input.current!.value.trim();
    if (typed || field.optional) answer(typed);
    else input.current!.focus();
  };
  const common = field && { ref: input, class: "input", maxLength: field.max, "data-autofocus": "" };
  return (
    <Dialog title={title} size="small" onClose={() => answer(null)} actions={
      <>
        <Button onClick={() => answer(null)}>Cancel</Button>
        <Button tone={tone} onClick={submit} data-autofocus={field ? undefined : ""}>{action}</Button>
      </>
    }>
      {text && <p class="dialog-text">{text}</p>}
      {field && (
        <label class="field">
          <span class="field-label">{field.label}</span>
          {field.lines
            ? <textarea {...common} rows={field.lines} defaultValue={field.value} />
            : <input {...common} type="text" autocomplete="off" defaultValue={field.value}
                onFocus={(event) => event.currentTarget.select()}
                onKeyDown={(event) => { if (event.key === "Enter" && !event.isComposing) submit(); }} />}
        </label>
      )}
    </Dialog>
  );
}

export function Asks() {
  const question = questions.value[0];
  return question ? <Asked key={question.title} question={question} /> : null;
}
