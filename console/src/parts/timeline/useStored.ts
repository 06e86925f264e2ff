/** What the server has stored of a thread. News are lost while the stream connects again, as it does for a new thread;
 *  the log is not, so what it is ahead of is read again. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useThread } from "../../api/queries";
import type { ThreadAnswer } from "../../api/types";
import type { TimelineRun } from "../../log/timeline";
import { endedSince } from "./ended";

export function useStored(thread: string, runs: readonly TimelineRun[]): ThreadAnswer | undefined {
  const queries = useQueryClient();
  const { data, isFetching } = useThread(thread);
  const ahead = endedSince(data?.runs, runs).join(" ");
  const read = useRef(""); // once for the same runs: what is not stored by then comes with news
  useEffect(() => {
    if (ahead === "" || isFetching || read.current === ahead) return;
    read.current = ahead;
    void queries.invalidateQueries({ queryKey: ["thread", thread] });
  }, [queries, thread, ahead, isFetching]);
  return data;
}
