/** Gives the screens the event stream, and lets its news refresh their queries. */
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useSyncExternalStore, type ReactNode } from "react";
import { API_URL } from "../api/client";
import { isAnswered } from "../api/queries";
import type { Approval } from "../api/types";
import { LiveClient, type LiveSnapshot } from "./live";

const live = new LiveClient(API_URL);
const LiveContext = createContext(live);

export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  useEffect(
    () =>
      live.onNews((news) => {
        if (news === "signed_out") queries.setQueryData(["me"], null);
        else if (news === "run" || news === "thread") refetchThreads(queries);
        else if (news === "plugin") refetchPlugins(queries);
        else void queries.invalidateQueries({ queryKey: ["approvals"] });
      }),
    [queries],
  );
  return <LiveContext value={live}>{children}</LiveContext>;
}

/** The end of a run also removes the question that it answered from the list. */
function refetchThreads(queries: QueryClient): void {
  void queries.invalidateQueries({ queryKey: ["thread"] });
  const known = queries.getQueriesData<Approval[]>({ queryKey: ["approvals"] });
  if (known.some(([, approvals]) => approvals?.some(isAnswered)))
    void queries.invalidateQueries({ queryKey: ["approvals"] });
}

function refetchPlugins(queries: QueryClient): void {
  for (const key of ["plugins", "plugin-file", "flows", "flow"]) void queries.invalidateQueries({ queryKey: [key] });
}

export const useLive = (): LiveClient => useContext(LiveContext);

export function useLiveSnapshot(): LiveSnapshot {
  const client = useLive();
  return useSyncExternalStore(client.subscribe, client.getSnapshot);
}

/** Follows the thread while the screen is there; null follows only the news. */
export function useShownThread(thread: string | null): LiveSnapshot {
  const client = useLive();
  useEffect(() => client.show(thread), [client, thread]);
  return useLiveSnapshot();
}
