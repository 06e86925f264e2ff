/** The data of the screens. Events of the stream make the queries fetch again. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useSettings, type Language } from "../settings";
import {
  getAgents,
  getApprovals,
  getEntries,
  getFailures,
  getFlow,
  getFlows,
  getMe,
  getThread,
  getWatchedAgents,
} from "./client";
import type { Approval } from "./types";

export const useMe = () =>
  useQuery({ queryKey: ["me"], queryFn: getMe, staleTime: Infinity, refetchOnWindowFocus: "always" });

/** With example questions in the user's language. */
export const agentsQuery = (language: Language) =>
  queryOptions({ queryKey: ["agents", language], queryFn: () => getAgents(language), staleTime: 60_000 });
export const useAgents = () => useQuery(agentsQuery(useSettings().language));

const FAILURES_INTERVAL_MS = 60_000;

/** Runs that failed in the window, of the agents that the user may watch. */
export const useFailures = (window: string) =>
  useQuery({
    queryKey: ["failures", window],
    queryFn: () => getFailures(window),
    placeholderData: (previous) => previous,
    enabled: useMe().data?.rights.watch != null,
    refetchInterval: FAILURES_INTERVAL_MS,
  });

/** Names of the agents that one may use or watch, for filters. */
export function useKnownAgents(): string[] {
  const used = useAgents().data ?? [];
  const watches = useMe().data?.rights.watch != null;
  const watched = useQuery({ queryKey: ["agents", "watch"], queryFn: getWatchedAgents, enabled: watches }).data ?? [];
  return [...new Set([...used, ...watched].map(({ name }) => name))];
}

/** Whether a run continues with an answer; the question stays listed until that run ends. */
export const isAnswered = (approval: Approval) => approval.answered_in !== null;

/** Of all users, if the signed-in one may answer for them. */
export function useApprovals() {
  const owner = useMe().data?.rights.act ? "*" : "";
  return useQuery({ queryKey: ["approvals", owner], queryFn: () => getApprovals(owner) });
}

/** How many questions wait for the user. */
export const useWaiting = () => useApprovals().data?.filter((approval) => !isAnswered(approval)).length ?? 0;

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
