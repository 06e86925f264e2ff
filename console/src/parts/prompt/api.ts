import { useInfiniteQuery } from "@tanstack/react-query";
import { call } from "../../api/client";
import type { ModelCallPage } from "./calls";

const RUNNING_INTERVAL_MS = 2000;

/** What the models of the run were sent. Needs the right to read for its agent, also for one's own runs. */
export const useCalls = (run: string, isRunning: boolean) =>
  useInfiniteQuery({
    queryKey: ["calls", run, isRunning],
    queryFn: ({ pageParam, signal }) =>
      call<ModelCallPage>(
        `runs/${encodeURIComponent(run)}/calls?${new URLSearchParams(pageParam ? { after: pageParam } : {}).toString()}`,
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    refetchInterval: isRunning ? RUNNING_INTERVAL_MS : false,
    retry: false,
  });
