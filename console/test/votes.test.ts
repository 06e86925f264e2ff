import { expect, test } from "vitest";
import { format } from "../src/format";
import { hasValues, tableRows } from "../src/parts/chart/chart";
import type { FeedbackCount } from "../src/parts/feedback/api";
import { bucketOf, bucketTimes, buildVoteCharts } from "../src/screens/metrics/voteCharts";

const DAY_S = 86_400;
const DAYS = ["2026-11-17", "2026-11-18", "2026-11-19"].map((day) => `${day}T00:00:00Z`);
const TIMES = DAYS.map((day) => Date.parse(day) / 1000);

const count = (day: number, agent: string | null, model: string | null, up: number, down: number): FeedbackCount => ({
  start: DAYS[day] ?? "",
  agent,
  model,
  up,
  down,
});
const COUNTS = [
  count(0, "clerk", "small", 0, 2),
  count(2, "clerk", "large", 3, 1),
  count(2, "judge", "large", 1, 0),
  count(2, null, null, 0, 1),
];
const chart = (name: string) => buildVoteCharts(COUNTS, TIMES, "unknown").find((one) => one.name === name);
const linesOf = (name: string) => chart(name)?.lines?.map((line) => [line.name, line.values]);

test("votes are summed over agents and models, with zeros between", () => {
  expect(linesOf("votes")).toEqual([
    ["up", [0, 0, 4]],
    ["down", [2, 0, 2]],
  ]);
});

test("a share is unknown where nobody has voted, and 0 where all votes are down", () => {
  expect(linesOf("vote_agents")).toEqual([
    ["clerk", [0, null, 0.75]],
    ["judge", [null, null, 1]],
    ["unknown", [null, null, 0]],
  ]);
  expect(linesOf("vote_models")).toEqual([
    ["large", [null, null, 0.8]],
    ["small", [0, null, null]],
    ["unknown", [null, null, 0]],
  ]);
});

test("a chart whose shares are all 0 is drawn, and its table has them", () => {
  const [, agents] = buildVoteCharts([count(0, "clerk", "small", 0, 2)], TIMES, "unknown");

  expect(hasValues(agents?.lines ?? [], agents?.hasZeros)).toBe(true);
  expect(tableRows(agents?.lines ?? [], TIMES, agents?.hasZeros)).toEqual([{ time: TIMES[0], values: [0] }]);
  expect(agents?.show(0.75, format("en"))).toBe("75%");
});

test("a count outside of the period changes nothing", () => {
  const [votes] = buildVoteCharts([{ ...count(0, "clerk", "small", 5, 5), start: "2026-10-01T00:00:00Z" }], TIMES, "?");

  expect(hasValues(votes?.lines ?? [])).toBe(false);
});

test("the points of a period begin with the hour or the day in which it begins", () => {
  const now = Date.parse("2026-11-19T10:20:00Z");

  expect(bucketTimes(now, 3600, 3600).map((time) => new Date(time * 1000).toISOString())).toEqual([
    "2026-11-19T09:00:00.000Z",
    "2026-11-19T10:00:00.000Z",
  ]);
  expect(bucketTimes(now, 7 * DAY_S, DAY_S)).toHaveLength(8);
  expect([bucketOf(3600), bucketOf(DAY_S), bucketOf(7 * DAY_S)]).toEqual(["hour", "hour", "day"]);
});
