// SPDX-License-Identifier: Apache-2.0
// TanStack's virtualizer as a hook: which rows or columns are in sight.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer, type VirtualItem } from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useState } from "preact/hooks";

interface Options {
  box: { current: HTMLElement | null };
  count: number;
  size: (index: number) => number;
  isHorizontal?: boolean;
  before: number; // what stands in front and does not scroll away: the head, the index
  overscan: number;
  version: unknown; // when it changes, sizes have changed
}

export interface Sight {
  items: VirtualItem[];
  before: number; // what is left out in front of the items, and behind them
  after: number;
  show: (index: number) => void;
  top: (index: number) => void;
}

const FIRST = 20; // shown until the box has a size

export function useSight({ box, count, size, isHorizontal = false, before, overscan, version }: Options): Sight {
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const options = {
    count, getScrollElement: () => box.current, estimateSize: size, horizontal: isHorizontal, overscan,
    scrollMargin: 0, scrollPaddingStart: 0, scrollPaddingEnd: before, paddingEnd: 0,
    scrollToFn: elementScroll, observeElementRect, observeElementOffset, onChange: () => draw(0),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  virtual.setOptions(options);
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  useLayoutEffect(() => virtual.measure(), [version]);

  let items = virtual.getVirtualItems();
  if (!items.length && count) items = virtual.measurementsCache.slice(0, FIRST);
  const end = virtual.getTotalSize();
  return {
    items, before: items[0]?.start ?? 0, after: items.length ? Math.max(0, end - items.at(-1)!.end) : 0,
    show: (index) => virtual.scrollToIndex(index, { align: "auto" }),
    top: (index) => virtual.scrollToIndex(index, { align: "start" }),
  };
}
