// SPDX-License-Identifier: Apache-2.0
// Which cells are near the screen. Those that never were show their text and nothing else, so that a conversation of
// hundreds of cells opens at once; one that was near once stays as it is.
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

const NEAR = "700px 0px";
const FIRST = 5; // cells that are on the screen at the start: no need to look

const told = new WeakMap<Element, () => void>();
let observer: IntersectionObserver | null = null;

function observe(element: Element, tell: () => void): () => void {
  // The margin counts where the window scrolls, scrollMargin where a part of the page does.
  const options: IntersectionObserverInit & { scrollMargin: string } = { rootMargin: NEAR, scrollMargin: NEAR };
  observer ??= new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) told.get(target)?.();
  }, options);
  told.set(element, tell);
  observer.observe(element);
  return () => {
    told.delete(element);
    observer?.unobserve(element);
  };
}

/** Whether the element of `ref` is near, and a way to say that it has to be. */
export function useNear(ref: RefObject<Element | null>, number: number): [boolean, () => void] {
  const [isNear, setNear] = useState(number <= FIRST || !("IntersectionObserver" in globalThis));
  const come = () => setNear(true);
  useLayoutEffect(() => (isNear || !ref.current ? undefined : observe(ref.current, come)), [isNear]);
  return [isNear, come];
}
