import { expect, test } from "vitest";
import { format } from "../src/format";
import { loadWords } from "../src/words";

await loadWords("zh-CN");
const en = format("en");
const zh = format("zh-CN");
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

test("durations have the unit that their length needs", () => {
  const long = [620, 1249, 9999, 41_900, 3 * MINUTE + 5 * SECOND, 2 * HOUR + 10 * MINUTE, 28 * HOUR];

  expect(long.map(en.duration)).toEqual(["620 ms", "1.2 s", "9.9 s", "41 s", "3 min 5 s", "2 h 10 min", "1 d 4 h"]);
  expect([620, 1249].map(zh.duration)).toEqual(["620 毫秒", "1.2 秒"]);
});

test("small costs keep two digits that count, and an unknown one is a dash", () => {
  expect([0.000075, 0.0123, 0.5, 12.3456, 0, null].map((cost) => en.cost(cost))).toEqual([
    "$0.000075",
    "$0.012",
    "$0.50",
    "$12.35",
    "$0.00",
    "–",
  ]);
  expect(en.cost(1, "credits")).toBe("1.00 credits");
});

test("today has a time of day, other days have a date", () => {
  const now = new Date(2026, 10, 16, 14, 30).getTime();

  expect(en.when(new Date(2026, 10, 16, 9, 5).toISOString(), now)).toBe("09:05");
  expect(en.when(new Date(2026, 10, 2, 9, 5).toISOString(), now)).toBe("Nov 2");
  expect(en.when(new Date(2025, 10, 2, 9, 5).toISOString(), now)).toBe("Nov 2, 2025");
  expect(en.when(null, now)).toBe("–");
});
