import { expect, test } from "vitest";
import type { Metrics } from "../src/screens/metrics/api";
import { hasValues, stack, tableRows } from "../src/parts/chart/chart";
import { buildCharts, sumUp } from "../src/screens/metrics/charts";

const METRICS: Metrics = {
  window: "1h",
  step: 60,
  times: [0, 60, 120],
  since: null,
  currency: "EUR",
  running: 1,
  series: {
    runs: { done: [2, 0, 1], failed: [0, 0, 3] },
    agents: { rare: [1, 0, 0], often: [1, 0, 4] },
    errors: { model_error: [0, 0, 3] },
    seconds: { p50: [1, null, 2], p95: [1, null, 4] },
    first_token: null,
    tokens: { in: [11, 0, 22], out: [7, 0, 14], cached: [0, 0, 0] },
    cost: [0.5, 0, null],
    model_calls: { upstream: [1, 0, 2] },
    tool_calls: null,
  },
};
const chart = (name: string) => buildCharts(METRICS).find((one) => one.name === name);

test("the chart of runs has every outcome, also those without a run", () => {
  expect(chart("runs")?.lines?.map((line) => [line.name, line.values])).toEqual([
    ["done", [2, 0, 1]],
    ["failed", [0, 0, 3]],
    ["waiting", [0, 0, 0]],
    ["cancelled", [0, 0, 0]],
  ]);
});

test("tokens that no model has reported are unknown", () => {
  const tokens = { in: [0, 0, 0], out: [0, 0, 0], cached: [0, 0, 0] };
  const series = { ...METRICS.series, tokens };
  expect(sumUp({ ...METRICS, series }).tokens).toBe(null);
  expect(sumUp({ ...METRICS, series: { ...series, model_calls: {} } }).tokens).toBe(0);
});

test("names are ordered by their sums", () => {
  expect(chart("agents")?.lines?.map((line) => line.name)).toEqual(["often", "rare"]);
});

test("what the server does not know for a period has no lines", () => {
  expect([chart("first_token")?.lines, chart("tool_calls")?.lines]).toEqual([null, null]);
});

test("the table has the points with a value, and all of their values", () => {
  expect(tableRows(chart("runs")?.lines ?? [], METRICS.times)).toEqual([
    { time: 0, values: [2, 0, 0, 0] },
    { time: 120, values: [1, 3, 0, 0] },
  ]);
});

test("bars stand on those below them", () => {
  expect(stack(chart("runs")?.lines ?? []).slice(0, 2)).toEqual([
    [2, 0, 1],
    [2, 0, 4],
  ]);
});

test("totals are sums, and an unknown cost is not zero", () => {
  expect(sumUp(METRICS)).toEqual({ runs: 6, failed: 3, tokens: 54, cost: 0.5 });
  expect(sumUp({ ...METRICS, series: { ...METRICS.series, cost: [null, 0, 0] } }).cost).toBeNull();
  expect(sumUp({ ...METRICS, series: { ...METRICS.series, cost: [0, 0, 0] } }).cost).toBe(0);
});

test("a chart without values is not drawn", () => {
  expect(hasValues(chart("errors")?.lines ?? [])).toBe(true);
  expect(hasValues([])).toBe(false);
});
