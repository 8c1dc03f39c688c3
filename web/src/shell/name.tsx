// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect, useRef } from "preact/hooks";

interface NameFieldProps {
  value: string;
  onDone: (name: string | null) => void; // null: nothing changed
}

/** A name that is being changed in its place: Enter or leaving takes it, Escape does not. */
export function NameField({ value, onDone }: NameFieldProps) {
  const input = useRef<HTMLInputElement>(null);
  const isDone = useRef(false);
  const finish = (isTaken: boolean) => {
    if (isDone.current) return; // closing it takes the focus away, which must not count as a second answer
    isDone.current = true;
    const name = input.current!.value.trim();
    onDone(isTaken && name && name !== value ? name : null);
  };
  useLayoutEffect(() => {
    input.current!.focus();
    input.current!.select();
  }, []);
  return (
    <input ref={input} class="input name-field" type="text" aria-label="Conversation name" maxLength={200} autocomplete="off"
      defaultValue={value} onBlur={() => finish(true)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Enter" && !event.isComposing) finish(true);
        if (event.key === "Escape") finish(false);
      }} />
  );
}
