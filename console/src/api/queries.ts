/** The data of the screens. Events of the stream make the queries fetch again. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useSettings, type Language } from "../settings";
import { getAgents, getApprovals, getEntries, getFlow, getFlows, getMe, getThread } from "./client";

export const useMe = () =>
  useQuery({ queryKey: ["me"], queryFn: getMe, staleTime: Infinity, refetchOnWindowFocus: "always" });

/** With example questions in the user's language. */
export const agentsQuery = (language: Language) =>
  queryOptions({ queryKey: ["agents", language], queryFn: () => getAgents(language), staleTime: 60_000 });
export const useAgents = () => useQuery(agentsQuery(useSettings().language));

/** Of all users, if the signed-in one may answer for them. */
export function useApprovals() {
  const owner = useMe().data?.rights.act ? "*" : "";
  return useQuery({ queryKey: ["approvals", owner], queryFn: () => getApprovals(owner) });
}

export const useThread = (thread: string | null) =>
  useQuery({ queryKey: ["thread", thread], queryFn: () => getThread(thread ?? ""), enabled: thread !== null });

export const useEntries = (run: string, enabled: boolean) =>
  useQuery({ queryKey: ["entries", run], queryFn: () => getEntries(run), enabled, staleTime: Infinity });

export const useFlows = () => useQuery({ queryKey: ["flows"], queryFn: getFlows, staleTime: 60_000 });

/** Without a digest the current version. A version never changes. */
export const useFlow = (plugin: string, flow: string, digest: string | undefined, enabled = true) =>
  useQuery({
    queryKey: ["flow", plugin, flow, digest ?? null],
    queryFn: () => getFlow(plugin, flow, digest),
    enabled,
    staleTime: digest === undefined ? 10_000 : Infinity,
  });
