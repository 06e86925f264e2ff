/** How many entries of a run's log a flow shows: all that there are, or as many as the reader has chosen. */
import { useEffect, useState } from "react";
import type { Entry } from "../../log/events";

/** A step that was shorter is shown for this long, so that a quick flow can be seen. */
const MIN_STEP_MS = 150;
/** With more steps than this to catch up with, they are not shown one by one. */
const MAX_BEHIND = 12;

export interface Position {
  value: number;
  total: number;
  isFollowing: boolean;
  /** The end follows the run again. */
  change: (value: number) => void;
}

export function usePosition(entries: readonly Entry[]): Position {
  const total = entries.length;
  const [chosen, setChosen] = useState<number | null>(null);
  const played = usePlayed(entries);
  return {
    value: Math.min(chosen ?? played, total),
    total,
    isFollowing: chosen === null,
    change: (value) => setChosen(value >= total ? null : Math.max(0, value)),
  };
}

/** Follows the end, and stays at the start of each step for `MIN_STEP_MS`. What there was before is not played. */
function usePlayed(entries: readonly Entry[]): number {
  const [played, setPlayed] = useState({ position: entries.length, heldUntil: 0 });
  const { position, heldUntil } = played;
  const target = nextStop(entries, position);
  useEffect(() => {
    if (target === position) return;
    const isStep = entries[target - 1]?.event.type === "StepStarted";
    const advance = () => setPlayed({ position: target, heldUntil: isStep ? Date.now() + MIN_STEP_MS : 0 });
    const timer = setTimeout(advance, Math.max(0, heldUntil - Date.now()));
    return () => clearTimeout(timer);
  }, [entries, target, position, heldUntil]);
  return position > entries.length ? entries.length : position; // another run may have fewer
}

/** The position after the next start of a step, or the end. */
export function nextStop(entries: readonly Entry[], position: number): number {
  const starts: number[] = [];
  for (let index = position; index < entries.length; index++) {
    if (entries[index]?.event.type === "StepStarted") starts.push(index + 1);
  }
  const [next] = starts;
  return next === undefined || starts.length > MAX_BEHIND ? entries.length : next;
}
