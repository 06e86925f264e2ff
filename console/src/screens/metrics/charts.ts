/** The charts of the screen, from the server's numbers. */
import type { Format } from "../../format";
import type { Counts, Metrics, Values } from "./api";

export type ChartName =
  "runs" | "seconds" | "first_token" | "tokens" | "cost" | "errors" | "agents" | "model_calls" | "tool_calls";

export interface Line {
  /** Of the server: an outcome, a quantile, an agent, a code … */
  name: string;
  /** Whether the page has a text for the name; others are names of the configuration. */
  isWord: boolean;
  /** A color of the tokens. */
  color: string;
  values: Values;
}

export interface Chart {
  name: ChartName;
  /** Null if the numbers are not known for this period. */
  lines: Line[] | null;
  /** Bars are stacked sums; lines are measurements. */
  shape: "bars" | "lines";
  show: (value: number, format: Format) => string;
}

/** Chosen so that neighbors differ in both themes; names beside them tell more than colors. */
const COLORS = ["--accent", "--model", "--tool", "--warning", "--step", "--success", "--danger"];
const OUTCOMES = [
  ["done", "--success"],
  ["failed", "--danger"],
  ["waiting", "--warning"],
  ["cancelled", "--step"],
] as const;
/** Of the names of one chart, these are drawn; the table has all of them. */
export const MAX_DRAWN = 7;

const showNumber = (value: number, format: Format) => format.number(value);
const showSeconds = (value: number, format: Format) => format.duration(value * 1000);

export function buildCharts({ series, times, currency }: Metrics): Chart[] {
  const zeros = times.map(() => 0);
  const word = (name: string, color: string, values: Values): Line => ({ name, isWord: true, color, values });
  const quantiles = (found: { p50: Values; p95: Values }) => [
    word("p50", "--accent", found.p50),
    word("p95", "--model", found.p95),
  ];
  return [
    {
      name: "runs",
      shape: "bars",
      lines: OUTCOMES.map(([name, color]) => word(name, color, series.runs[name] ?? zeros)),
      show: showNumber,
    },
    { name: "seconds", shape: "lines", lines: quantiles(series.seconds), show: showSeconds },
    {
      name: "first_token",
      shape: "lines",
      lines: series.first_token && quantiles(series.first_token),
      show: showSeconds,
    },
    {
      name: "tokens",
      shape: "lines",
      lines: [
        word("in", "--accent", series.tokens.in),
        word("cached", "--step", series.tokens.cached),
        word("out", "--tool", series.tokens.out),
      ],
      show: showNumber,
    },
    {
      name: "cost",
      shape: "bars",
      lines: [word("cost", "--accent", series.cost)],
      show: (value, format) => format.cost(value, currency),
    },
    { name: "errors", shape: "bars", lines: named(series.errors), show: showNumber },
    { name: "agents", shape: "bars", lines: named(series.agents), show: showNumber },
    { name: "model_calls", shape: "bars", lines: named(series.model_calls), show: showNumber },
    { name: "tool_calls", shape: "bars", lines: series.tool_calls && named(series.tool_calls), show: showNumber },
  ];
}

/** The most frequent first. */
function named(counts: Counts): Line[] {
  return Object.entries(counts)
    .sort(([, a], [, b]) => sum(b) - sum(a))
    .map(([name, values], index) => ({
      name,
      isWord: false,
      color: COLORS[index % COLORS.length] ?? "--accent",
      values,
    }));
}

export const sum = (values: Values) => values.reduce<number>((total, value) => total + (value ?? 0), 0);

/** Whether the chart has something to draw. */
export const hasValues = (lines: Line[]) => lines.some((line) => line.values.some((value) => value));

/** For bars on top of each other: each line with the values of those below it added. */
export function stack(lines: Line[]): Values[] {
  const heights: number[] = [];
  return lines.map((line) =>
    line.values.map((value, index) => (heights[index] = (heights[index] ?? 0) + (value ?? 0))),
  );
}

/** The points that the table lists: those with a value. */
export function tableRows(lines: Line[], times: number[]): { time: number; values: Values }[] {
  return times
    .map((time, index) => ({ time, values: lines.map((line) => line.values[index] ?? null) }))
    .filter((row) => row.values.some((value) => value));
}

export interface Totals {
  runs: number;
  failed: number;
  /** Null if no model has reported any. */
  tokens: number | null;
  /** Null if a model without a price was used, and nothing else. */
  cost: number | null;
}

export function sumUp({ series }: Metrics): Totals {
  const tokens = sum(series.tokens.in) + sum(series.tokens.out);
  const known = series.cost.filter((value) => value !== null);
  return {
    runs: Object.values(series.runs).reduce((total, values) => total + sum(values), 0),
    failed: sum(series.runs.failed ?? []),
    tokens: tokens === 0 && Object.keys(series.model_calls).length > 0 ? null : tokens,
    cost: known.length === 0 || (sum(known) === 0 && known.length < series.cost.length) ? null : sum(known),
  };
}
