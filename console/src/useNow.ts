import { useCallback, useSyncExternalStore } from "react";

const MINUTE_MS = 60_000;

/** The time, which moves every `interval` milliseconds; never with 0. */
export function useNow(interval = MINUTE_MS): number {
  const step = interval || MINUTE_MS;
  const subscribe = useCallback(
    (listener: () => void) => {
      if (interval === 0) return () => {};
      const timer = setInterval(listener, interval);
      return () => clearInterval(timer);
    },
    [interval],
  );
  return useSyncExternalStore(subscribe, () => Math.floor(Date.now() / step) * step);
}
