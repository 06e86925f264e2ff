/** The charts of the screen, from the server's numbers. */
import type { Format } from "../../format";
import { barChart, showNumber, sum, type Chart, type Line, type Values } from "../../parts/chart/chart";
import { runsAddress } from "../../range";
import type { Counts, Metrics } from "./api";

export type ChartName =
  "runs" | "seconds" | "first_token" | "tokens" | "cost" | "errors" | "agents" | "model_calls" | "tool_calls";

export type MetricsChart = Chart<ChartName>;

/** Chosen so that neighbors differ in both themes; names beside them tell more than colors. */
export const COLORS = ["--accent", "--model", "--tool", "--warning", "--step", "--success", "--danger"];
const OUTCOMES = [
  ["done", "--success"],
  ["failed", "--danger"],
  ["waiting", "--warning"],
  ["cancelled", "--step"],
] as const;
const showSeconds = (value: number, format: Format) => format.duration(value * 1000);

export function buildCharts({ series, times, currency }: Metrics): MetricsChart[] {
  const zeros = times.map(() => 0);
  const word = (name: string, color: string, values: Values): Line => ({ name, isWord: true, color, values });
  const quantiles = (found: { p50: Values; p95: Values }) => [
    word("p50", "--accent", found.p50),
    word("p95", "--model", found.p95),
  ];
  const durations = (name: ChartName, lines: Line[] | null): MetricsChart => ({
    name,
    shape: "lines",
    lines,
    hasSums: false,
    isFractional: true,
    show: showSeconds,
  });
  return [
    barChart(
      "runs",
      OUTCOMES.map(([name, color]) => word(name, color, series.runs[name] ?? zeros)),
    ),
    durations("seconds", quantiles(series.seconds)),
    durations("first_token", series.first_token && quantiles(series.first_token)),
    {
      name: "tokens",
      shape: "lines",
      lines: [
        word("in", "--accent", series.tokens.in),
        word("cached", "--step", series.tokens.cached),
        word("out", "--tool", series.tokens.out),
      ],
      hasSums: true,
      isFractional: false,
      show: showNumber,
    },
    barChart("cost", [word("cost", "--accent", series.cost)], (value, format) => format.cost(value, currency)),
    barChart("errors", named(series.errors)),
    barChart("agents", named(series.agents)),
    barChart("model_calls", named(series.model_calls)),
    barChart("tool_calls", series.tool_calls && named(series.tool_calls)),
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

/** The address of the runs that a line counts; undefined if the list of runs cannot be filtered by it. */
export function rowsOf(chart: ChartName, { name }: Line, filters: Record<string, string>): string | undefined {
  if (chart === "runs") return runsAddress({ ...filters, state: name });
  if (chart === "errors") return runsAddress({ ...filters, state: "failed", code: name });
  return chart === "agents" ? runsAddress({ ...filters, agent: name }) : undefined;
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
