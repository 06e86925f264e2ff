import { expect, test } from "vitest";
import { beginOf, chooseRange, runsAddress } from "../src/range";

test("a screen takes the range of the address, or the next longer one that it has, or its longest", () => {
  const usage = ["7d", "30d", "90d", "365d"] as const;
  const metrics = ["1h", "24h", "7d", "30d"] as const;

  expect(chooseRange("30d", usage, "30d")).toBe("30d");
  expect(chooseRange("1h", usage, "30d")).toBe("7d");
  expect(chooseRange("365d", metrics, "1h")).toBe("30d");
  expect(chooseRange("never", metrics, "1h")).toBe("1h");
  expect(chooseRange(undefined, usage, "30d")).toBe("30d");
});

test("the beginning of a range, and the address of runs with it", () => {
  expect(beginOf("24h", Date.parse("2026-11-19T10:00:00Z"))).toBe("2026-11-18T10:00:00.000Z");
  expect(beginOf(undefined, 0)).toBeUndefined();
  expect(runsAddress({ state: "failed", range: "24h" })).toBe("/runs?owner=*&state=failed&range=24h");
});
