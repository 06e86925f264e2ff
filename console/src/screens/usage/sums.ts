/** The numbers of the screen, from the server's rows. */
import { barChart, type Chart, type Line } from "../../parts/chart/chart";
import type { LimitState, UsageAnswer } from "./api";

export const COUNTS = [
  "requests",
  "refused",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "estimated_tokens",
  "cost",
] as const;
export type CountName = (typeof COUNTS)[number];
/** `cached_tokens` are a part of `input_tokens`. */
export type Counts = Record<CountName, number>;

export type UsageChartName = "requests" | "tokens" | "cost";
export type SeriesName = "requests" | "refused" | "input" | "cached" | "output" | "estimated" | "cost";

export function sumUp(days: Counts[]): Counts {
  return Object.fromEntries(COUNTS.map((name) => [name, days.reduce((total, day) => total + day[name], 0)])) as Counts;
}

/** Every day of the period, also those without usage. */
export function listDays({ since, until }: Pick<UsageAnswer, "since" | "until">): string[] {
  const days: string[] = [];
  const day = new Date(`${since}T00:00:00Z`);
  while (days.length < 400 && day.toISOString().slice(0, 10) <= until) {
    days.push(day.toISOString().slice(0, 10));
    day.setUTCDate(day.getUTCDate() + 1);
  }
  return days;
}

/** Midnight in the browser's time zone, in which charts write dates: a day keeps its date wherever it is shown. */
export function timeOf(day: string): number {
  return new Date(`${day}T00:00:00`).getTime() / 1000;
}

export function buildCharts(usage: UsageAnswer, days: string[]): Chart<UsageChartName>[] {
  const known = new Map(usage.days.map((row) => [row.day, row]));
  const line = (name: SeriesName, color: string, read: (row: Counts) => number): Line => ({
    name,
    isWord: true,
    color,
    values: days.map((day) => {
      const row = known.get(day);
      return row ? read(row) : 0;
    }),
  });
  return [
    barChart("tokens", [
      line("input", "--accent", (row) => row.input_tokens - row.cached_tokens),
      line("cached", "--step", (row) => row.cached_tokens),
      line("output", "--tool", (row) => row.output_tokens),
      line("estimated", "--warning", (row) => row.estimated_tokens),
    ]),
    barChart("cost", [line("cost", "--accent", (row) => row.cost)], (value, format) =>
      format.cost(value, usage.currency),
    ),
    barChart("requests", [
      line("requests", "--success", (row) => row.requests),
      line("refused", "--danger", (row) => row.refused),
    ]),
  ];
}

export type Level = "fine" | "warning" | "full";
const WARNING_SHARE = 0.8;

export interface Fill {
  /** What is used, or runs at the moment. */
  taken: number;
  /** Of the limit, from 0 to 1. */
  takenShare: number;
  reservedShare: number;
  level: Level;
}

/** How full a limit is. What is reserved counts, as it does for the next request. */
export function fill({ kind, most, used, reserved, running }: LimitState): Fill {
  const taken = kind === "runs" ? running : used;
  const takenShare = Math.min(1, taken / most);
  const share = (taken + reserved) / most;
  return {
    taken,
    takenShare,
    reservedShare: Math.min(1 - takenShare, reserved / most),
    level: share >= 1 ? "full" : share >= WARNING_SHARE ? "warning" : "fine",
  };
}
