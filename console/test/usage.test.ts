import { expect, test } from "vitest";
import type { LimitState, UsageAnswer } from "../src/screens/usage/api";
import { buildCharts, fill, listDays, sumUp, timeOf, type Counts } from "../src/screens/usage/sums";

const counts = (change: Partial<Counts>): Counts => ({
  requests: 0,
  refused: 0,
  input_tokens: 0,
  cached_tokens: 0,
  output_tokens: 0,
  estimated_tokens: 0,
  cost: 0,
  ...change,
});
const USAGE: UsageAnswer = {
  is_counted: true,
  is_everyone: true,
  currency: "EUR",
  timezone: "UTC",
  since: "2026-02-27",
  until: "2026-03-02",
  by: "user",
  days: [
    { day: "2026-02-28", ...counts({ requests: 3, refused: 1, input_tokens: 100, cached_tokens: 40, cost: 0.5 }) },
    { day: "2026-03-02", ...counts({ requests: 2, output_tokens: 7, estimated_tokens: 5, cost: 0.25 }) },
  ],
  groups: [],
  left_out: 0,
};
const LIMIT: LimitState = {
  limit: "free",
  subject: "alice",
  kind: "tokens",
  most: 100,
  used: 60,
  reserved: 10,
  running: 0,
};
const values = (chart: string, line: string) =>
  buildCharts(USAGE, listDays(USAGE))
    .find(({ name }) => name === chart)
    ?.lines?.find(({ name }) => name === line)?.values;

test("a period has all of its days, also at the end of a month", () => {
  expect(listDays(USAGE)).toEqual(["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]);
});

test("a day keeps its date in the browser's time zone", () => {
  expect(new Date(timeOf("2026-03-02") * 1000).getDate()).toBe(2);
});

test("days without usage are zero, and cached tokens are not drawn twice", () => {
  expect(values("tokens", "input")).toEqual([0, 60, 0, 0]);
  expect(values("tokens", "cached")).toEqual([0, 40, 0, 0]);
  expect(values("tokens", "estimated")).toEqual([0, 0, 0, 5]);
  expect(values("requests", "refused")).toEqual([0, 1, 0, 0]);
  expect(values("cost", "cost")).toEqual([0, 0.5, 0, 0.25]);
});

test("the totals are the sums of all days", () => {
  expect(sumUp(USAGE.days)).toEqual(
    counts({
      requests: 5,
      refused: 1,
      input_tokens: 100,
      cached_tokens: 40,
      output_tokens: 7,
      estimated_tokens: 5,
      cost: 0.75,
    }),
  );
});

test("what is reserved counts for the level of a limit", () => {
  expect(fill(LIMIT)).toEqual({ taken: 60, takenShare: 0.6, reservedShare: 0.1, level: "fine" });
  expect(fill({ ...LIMIT, reserved: 20 }).level).toBe("warning");
  expect(fill({ ...LIMIT, reserved: 40 }).level).toBe("full");
});

test("a provider that reports more than was reserved fills the meter, and no more", () => {
  expect(fill({ ...LIMIT, used: 150 })).toEqual({ taken: 150, takenShare: 1, reservedShare: 0, level: "full" });
});

test("a limit of concurrent runs is filled by those that run", () => {
  const runs = fill({ ...LIMIT, kind: "runs", most: 4, used: 0, reserved: 0, running: 1 });
  expect([runs.taken, runs.takenShare]).toEqual([1, 0.25]);
});
