import type { Step } from "./diff";

/** `replaced` is the text whose place the item took. */
export type Row = { count: number } | { step: Step<string>; replaced?: string };

/** Unchanged items in a row become one line; with `pairs`, a text that took the place of another becomes one row. */
export function groupSteps(steps: readonly Step<string>[], isWhole: boolean, pairs: boolean): Row[] {
  const rows: Row[] = [];
  steps.forEach((step, index) => {
    const next = steps[index + 1];
    const last = rows.at(-1);
    if (step.change === "same" && !isWhole) {
      if (last && "count" in last) last.count += 1;
      else rows.push({ count: 1 });
    } else if (pairs && step.change === "removed" && next?.change === "added") {
      rows.push({ step: next, replaced: step.item });
    } else if (!(pairs && step.change === "added" && steps[index - 1]?.change === "removed")) {
      rows.push({ step });
    }
  });
  return rows;
}
