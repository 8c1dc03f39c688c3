// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface SectionProps {
  title: string;
  note?: string;
  children: ComponentChildren;
}

export function Section({ title, note, children }: SectionProps) {
  const id = useId();
  return (
    <section class="status-section" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {note && <p class="status-note">{note}</p>}
      {children}
    </section>
  );
}
