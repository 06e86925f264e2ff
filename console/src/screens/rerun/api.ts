import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError, call, getEntries, getRun } from "../../api/client";
import { readLines } from "../../api/lines";
import type { RerunForm, RerunOutcome } from "../../api/schema";
import type { RunChanges } from "../../api/types";
import type { Entry, LogEvent } from "../../log/events";

const route = (run: string) => `runs/${encodeURIComponent(run)}/rerun`;

/** What of the run can be changed. */
export const useForm = (run: string) =>
  useQuery({
    queryKey: ["rerun", run],
    queryFn: () => call<RerunForm>(route(run)),
    retry: false,
    staleTime: Infinity, // it must not change below the hands
  });

/** The entries and the costs of the recorded runs. A transient run has none here. */
export const useRecorded = (runs: readonly string[]) =>
  useQuery({
    queryKey: ["rerun-runs", runs],
    queryFn: async () => ({
      entries: (await Promise.all(runs.map(getEntries))).flat(),
      costs: (await Promise.all(runs.map(getRun))).map(({ cost }) => cost ?? null),
    }),
    enabled: runs.length > 0,
    retry: false,
  });

export interface Progress {
  entries: Entry[];
  outcome: RerunOutcome | null;
  problem: string;
  isRunning: boolean;
}

type Line = { event: LogEvent } | { outcome: RerunOutcome };

const NOT_RUN: Progress = { entries: [], outcome: null, problem: "", isRunning: false };

/** Runs the run again, and stops with its page. */
export function useRerun(run: string) {
  const [progress, setProgress] = useState(NOT_RUN);
  const aborting = useRef<AbortController | null>(null);
  useEffect(() => () => aborting.current?.abort(), []);

  const start = useCallback(
    async (changes: RunChanges) => {
      const controller = new AbortController();
      aborting.current = controller;
      setProgress({ ...NOT_RUN, isRunning: true });
      const add = (line: Line) =>
        setProgress((known) =>
          "outcome" in line
            ? { ...known, outcome: line.outcome }
            : { ...known, entries: [...known.entries, makeEntry(line.event, known.entries)] },
        );
      let problem = "";
      try {
        await readLines<Line>(route(run), changes, add, controller.signal);
      } catch (error) {
        if (!controller.signal.aborted) problem = error instanceof ApiError ? error.message : String(error);
      }
      setProgress((known) => ({ ...known, problem, isRunning: false }));
    },
    [run],
  );
  return { ...progress, start, stop: () => aborting.current?.abort() };
}

/** The entry of an event that is stored nowhere. Its run is that of the last event that began one. */
function makeEntry(event: LogEvent, before: readonly Entry[]): Entry {
  const run = event.type === "RunStarted" ? event.run_id : (before.at(-1)?.run ?? "");
  return { run, id: String(before.length + 1), event };
}
