import { expect, test } from "vitest";
import type { CheckState, HealthCheck } from "../src/screens/health/api";
import { sortChecks, summarize } from "../src/screens/health/summary";
import type { TranslateHealth } from "../src/screens/health/words";

const check = (id: string, state: CheckState): HealthCheck => ({
  ...{ id, state, subject: id, title: id, detail: "", fix: null, milliseconds: 1 },
});
const t: TranslateHealth = (word, values) => `${values?.count} ${word.split(".").at(-1)}`;

test("what is broken comes first, and checks of the same state keep their order", () => {
  const checks = [check("a", "fine"), check("b", "note"), check("c", "broken"), check("d", "fine"), check("e", "look")];

  expect(sortChecks(checks).map(({ id }) => id)).toEqual(["c", "e", "a", "d", "b"]);
});

test("the summary counts each state that there is", () => {
  expect(summarize(t, [check("a", "fine"), check("b", "broken"), check("c", "fine")])).toBe("1 broken · 2 fine");
  expect(summarize(t, [])).toBe("");
});
