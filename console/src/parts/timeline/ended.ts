import type { RunLine } from "../../api/types";
import type { TimelineRun } from "../../log/timeline";

/** The runs that have ended in the log, and are in progress or unknown in the lines. */
export function endedSince(
  lines: readonly Pick<RunLine, "id" | "outcome">[] | undefined,
  runs: readonly Pick<TimelineRun, "id" | "state">[],
): string[] {
  const stored = new Set((lines ?? []).filter((line) => line.outcome !== "running").map((line) => line.id));
  return runs.filter((run) => run.state !== "running" && !stored.has(run.id)).map((run) => run.id);
}
