/** Numbers over time. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/client";
import type * as Api from "../../api/schema";
import type { Narrow } from "../../api/types";

export const WINDOWS = ["1h", "24h", "7d", "30d"] as const;
export type Window = (typeof WINDOWS)[number];

export type Counts = Record<string, number[]>;

export type Metrics = Narrow<Api.MetricsLine, { window: Window }>;

export const REFRESH_MS = 10_000;

export const useMetrics = (window: Window, agent: string, enabled: boolean) =>
  useQuery({
    queryKey: ["metrics", window, agent],
    queryFn: () => call<Metrics>(`metrics?${new URLSearchParams({ window, ...(agent && { agent }) })}`),
    enabled,
    refetchInterval: REFRESH_MS,
    placeholderData: (previous) => previous, // charts do not disappear while another period loads
  });
