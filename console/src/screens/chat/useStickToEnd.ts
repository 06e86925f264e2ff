import { useLayoutEffect, useRef, useState } from "react";

const NEAR_PX = 60;

/**
 * Keeps a scrolling box at its end while content is added, unless the reader has scrolled up.
 *
 * What the reader looks at stays in place when earlier content appears above it: `shown` is how much there is.
 */
export function useStickToEnd(content: unknown, shown: number) {
  const box = useRef<HTMLDivElement>(null);
  const [isAtEnd, setIsAtEnd] = useState(true);

  function jump() {
    box.current?.scrollTo({ top: box.current.scrollHeight });
    setIsAtEnd(true);
  }

  function onScroll() {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    setIsAtEnd(scrollHeight - scrollTop - clientHeight < NEAR_PX);
  }

  useLayoutEffect(() => {
    if (isAtEnd && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [content, isAtEnd]);

  const before = useRef({ shown, height: 0 });
  useLayoutEffect(() => {
    const height = box.current?.scrollHeight ?? 0;
    const isEarlier = box.current && shown - before.current.shown > 1 && box.current.scrollTop < NEAR_PX;
    if (isEarlier && !isAtEnd && box.current) box.current.scrollTop += height - before.current.height;
    before.current = { shown, height };
  });

  return { box, onScroll, isAtEnd, jump };
}
