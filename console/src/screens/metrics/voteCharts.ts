/** The charts of votes: how many, and the share of good answers by agent and by model. */
import { barChart, type Chart, type Line } from "../../parts/chart/chart";
import { DAY_S } from "../../parts/chart/ticks";
import type { FeedbackCount } from "../../parts/feedback/api";
import { COLORS } from "./charts";

export type VoteChartName = "votes" | "vote_agents" | "vote_models";
export type VoteChart = Chart<VoteChartName>;

export const HOUR_S = 3600;

/** The beginning of each hour or day of a period that ends now, in seconds. */
export function bucketTimes(now: number, seconds: number, step: number): number[] {
  const last = Math.floor(now / 1000 / step) * step;
  const first = Math.floor((now / 1000 - seconds) / step) * step;
  return Array.from({ length: (last - first) / step + 1 }, (_, index) => first + index * step);
}

export const bucketOf = (seconds: number) => (seconds > DAY_S ? "day" : "hour");

/** `unknown` is the text for votes on answers without an agent or a model. */
export function buildVoteCharts(counts: readonly FeedbackCount[], times: number[], unknown: string): VoteChart[] {
  const points = sums(counts, times);
  return [
    barChart("votes", [
      { name: "up", isWord: true, color: "--success", values: points.map(({ up }) => up) },
      { name: "down", isWord: true, color: "--danger", values: points.map(({ down }) => down) },
    ]),
    shareChart("vote_agents", counts, times, ({ agent }) => agent ?? unknown),
    shareChart("vote_models", counts, times, ({ model }) => model ?? unknown),
  ];
}

/** One line for each name, those with the most votes first; null where there is no vote. */
function shareChart(
  name: VoteChartName,
  counts: readonly FeedbackCount[],
  times: number[],
  nameOf: (count: FeedbackCount) => string,
): VoteChart {
  const groups = new Map<string, FeedbackCount[]>();
  for (const count of counts) groups.set(nameOf(count), [...(groups.get(nameOf(count)) ?? []), count]);
  const total = (group: FeedbackCount[]) => group.reduce((sum, { up, down }) => sum + up + down, 0);
  const lines = [...groups]
    .sort(([, a], [, b]) => total(b) - total(a))
    .map(([line, group], index): Line => ({
      name: line,
      isWord: false,
      color: COLORS[index % COLORS.length] ?? "--accent",
      values: sums(group, times).map(({ up, down }) => (up + down === 0 ? null : up / (up + down))),
    }));
  return {
    name,
    shape: "lines",
    lines,
    hasSums: false,
    isFractional: true,
    hasZeros: true,
    show: (value, format) => format.share(value),
  };
}

function sums(counts: readonly FeedbackCount[], times: number[]): { up: number; down: number }[] {
  const found = new Map(times.map((time) => [time, { up: 0, down: 0 }]));
  for (const { start, up, down } of counts) {
    const point = found.get(Date.parse(start) / 1000);
    if (point) Object.assign(point, { up: point.up + up, down: point.down + down });
  }
  return [...found.values()];
}
