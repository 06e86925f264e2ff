import { expect, test } from "vitest";
import type { Entry, LogEvent } from "../src/log/events";
import { nextStop } from "../src/parts/flow/position";

const entriesOf = (...events: LogEvent[]): Entry[] =>
  events.map((event, index) => ({ run: "r", id: `1-${index}`, event }));
const enter = (name: string): LogEvent => ({ type: "StepStarted", name });
const leave = (name: string): LogEvent => ({ type: "StepEnded", name });

test("each start of a step is a stop, then the end", () => {
  const entries = entriesOf(enter("a"), leave("a"), enter("b"), leave("b"));
  expect(nextStop(entries, 0)).toBe(1);
  expect(nextStop(entries, 1)).toBe(3);
  expect(nextStop(entries, 3)).toBe(4);
  expect(nextStop(entries, 4)).toBe(4);
});

test("many steps that are already over are not shown one by one", () => {
  const entries = entriesOf(...Array.from({ length: 20 }, (_, index) => enter(String(index))));
  expect(nextStop(entries, 0)).toBe(20);
});
