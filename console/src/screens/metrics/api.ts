/** Numbers over time. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/client";
import type { Values } from "../../parts/chart/chart";

export const WINDOWS = ["1h", "24h", "7d", "30d"] as const;
export type Window = (typeof WINDOWS)[number];

export type Counts = Record<string, number[]>;

export interface Metrics {
  window: Window;
  /** Seconds between two times. */
  step: number;
  /** Starts of the points, in seconds since 1970. */
  times: number[];
  /** From when on nothing is missing, if that is within the window. */
  since: string | null;
  currency: string;
  running: number;
  series: {
    runs: Counts;
    agents: Counts;
    errors: Counts;
    /** In seconds, as all durations here. */
    seconds: { p50: Values; p95: Values };
    first_token: { p50: Values; p95: Values } | null;
    tokens: { in: number[]; out: number[]; cached: number[] };
    cost: Values;
    model_calls: Counts;
    tool_calls: Counts | null;
  };
}

const REFRESH_MS = 10_000;

export const useMetrics = (window: Window, agent: string, enabled: boolean) =>
  useQuery({
    queryKey: ["metrics", window, agent],
    queryFn: () => call<Metrics>(`metrics?${new URLSearchParams({ window, ...(agent && { agent }) })}`),
    enabled,
    refetchInterval: REFRESH_MS,
    placeholderData: (previous) => previous, // charts do not disappear while another period loads
  });
