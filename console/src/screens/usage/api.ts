/** What was used in the last days, and the state of the limits. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/client";
import type * as Api from "../../api/schema";
import type { Narrow } from "../../api/types";
import type words from "../../words/usage/en.json";
import type { Counts } from "./sums";

export const GROUPS = ["user", "agent", "model", "key", "purpose"] as const;
export type Group = (typeof GROUPS)[number];
export const PERIODS = ["7d", "30d", "90d", "365d"] as const;
export type Period = (typeof PERIODS)[number];
type DaysOf<P> = P extends `${infer Days}d` ? Days : never;

export const daysOf = (period: Period) => period.slice(0, -1) as DaysOf<Period>;

export type UsageAnswer = Narrow<
  Api.UsageLine,
  {
    by: Group;
    /** A day without usage is not in it. */
    days: (Counts & { day: string })[];
    /** The largest first. */
    groups: (Counts & Partial<Record<Group, string>>)[];
  }
>;

/** A kind of limits is what has a word here. */
type KindOf<Name> = Name extends `usage.kind.${infer Kind}` ? Kind : never;

export type LimitState = {
  limit: string;
  subject: string;
  kind: KindOf<keyof typeof words>;
  /** Amounts of cost are in the currency. */
  most: number;
  used: number;
  reserved: number;
  running: number;
  /** Requests in the queue of the limit. */
  waiting?: number;
  /** Not for concurrent runs. */
  resets_at?: string;
};

/** Those of which the least is left come first. */
export type LimitsAnswer = Narrow<Api.LimitsLine, { limits: LimitState[] }>;

const REFRESH_MS = 10_000;

export const useUsage = (by: Group, period: Period) =>
  useQuery({
    queryKey: ["usage", by, period],
    queryFn: () => call<UsageAnswer>(`usage?${new URLSearchParams({ by, days: daysOf(period) })}`),
    refetchInterval: REFRESH_MS,
    placeholderData: (previous) => previous, // the page does not disappear while another period loads
  });

export const useLimits = () =>
  useQuery({
    queryKey: ["usage", "limits"],
    queryFn: () => call<LimitsAnswer>("usage/limits"),
    refetchInterval: REFRESH_MS,
  });
