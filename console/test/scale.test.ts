import { expect, test } from "vitest";
import type { Span } from "../src/log/timeline";
import { makeScale } from "../src/parts/timeline/scale";

const span = (kind: Span["kind"], from: number, to: number | null) => ({ kind, from, to }) as Span;

test("one run fills the axis, with ticks at round times", () => {
  const scale = makeScale([span("run", 0, 4000)], 9999);

  expect([0, 1000, 4000].map(scale.position)).toEqual([0, 0.25, 1]);
  expect(scale.ticks.map((tick) => tick.time)).toEqual([1000, 2000, 3000, 4000]);
});

test("an open run ends now", () => {
  expect(makeScale([span("run", 0, null)], 2000).position(1000)).toBe(0.5);
});

test("a wait of a day leaves most of the axis to the runs", () => {
  const day = 86_400_000;
  const scale = makeScale([span("run", 0, 1000), span("wait", 1000, day), span("run", day, day + 1000)], day + 1000);

  expect(scale.position(1000)).toBeGreaterThan(0.4);
  expect(scale.position(day)).toBeLessThan(0.6);
  expect(scale.position(day + 1000)).toBe(1);
  expect(scale.ticks.at(-1)?.time).toBeGreaterThan(day);
});

test("short waits are drawn to scale, and times never run backwards", () => {
  const scale = makeScale([span("run", 0, 1000), span("wait", 1000, 1100), span("run", 1100, 2000)], 2000);
  const positions = [0, 500, 1000, 1050, 1100, 2000].map(scale.position);

  expect(positions).toEqual([0, 0.25, 0.5, 0.525, 0.55, 1]);
});

test("the axis begins when the run began, a moment before its span", () => {
  const scale = makeScale([span("run", 12_009, 16_000)], 16_000, 12_000);

  expect(scale.ticks.map((tick) => tick.time)).toEqual([13_000, 14_000, 15_000, 16_000]);
});

test("no run, and a run without length, make a scale", () => {
  expect(makeScale([], 0).position(5)).toBe(0);
  expect(makeScale([span("run", 5, 5)], 5, 5).position(5)).toBe(0);
});
