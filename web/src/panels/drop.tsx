// SPDX-License-Identifier: Apache-2.0
// A place that takes files which are dropped on it, and shows so while they are above it.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

interface DropZoneProps {
  class?: string;
  onFiles: (files: File[]) => void;
  children: ComponentChildren;
}

const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;

export function DropZone({ class: name = "", onFiles, children }: DropZoneProps) {
  const [isOver, setOver] = useState(false);
  const depth = useRef(0); // enters minus leaves: each child has its own

  const move = (by: number) => (event: DragEvent) => {
    if (!hasFiles(event)) return;
    depth.current = Math.max(0, depth.current + by);
    setOver(depth.current > 0);
  };
  return (
    <div class={`${name} drop-zone${isOver ? " drop-over" : ""}`} onDragEnter={move(1)} onDragLeave={move(-1)}
      onDragOver={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault(); // else the browser would open the file instead of the page
        event.dataTransfer!.dropEffect = "copy";
      }}
      onDrop={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        event.stopPropagation();
        depth.current = 0;
        setOver(false);
        onFiles([...event.dataTransfer!.files]);
      }}>
      {children}
      {isOver && <div class="drop-hint" aria-hidden="true">Drop to upload</div>}
    </div>
  );
}
