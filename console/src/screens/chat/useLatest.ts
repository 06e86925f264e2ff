import { useState } from "react";

const STEP = 60;

/** The latest items, and a way to the earlier ones: drawing thousands of messages takes seconds. */
export function useLatest<T>(items: readonly T[]) {
  const [count, setCount] = useState(STEP);
  const first = Math.max(0, items.length - count);
  return {
    shown: first === 0 ? items : items.slice(first),
    hasEarlier: first > 0,
    showEarlier: () => setCount(items.length - first + STEP),
  };
}
