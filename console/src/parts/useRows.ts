import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";

const OVERSCAN = 5;

/** The rows of a long list that are in view. `box` is the element that scrolls; all rows have the same height. */
export function useRows(count: number, rowPx: number) {
  const box = useRef<HTMLDivElement>(null);
  // eslint-disable-next-line react-hooks/incompatible-library -- its functions are not memoized: no compiler is used
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
  });
  return {
    box,
    /** The positions of the rows, each with its distance from the top. */
    rows: virtual.getVirtualItems().map(({ index, start }) => ({ index, top: start })),
    height: virtual.getTotalSize(),
    scrollTo: (index: number) => virtual.scrollToIndex(index),
  };
}
