import { expect, test } from "vitest";
import type { SpanLine } from "../src/api/types";
import { segmentsOf } from "../src/screens/threads/segments";

const span = (kind: SpanLine["kind"], from: number, to: number | null): SpanLine => ({
  span: `${kind}${from}`,
  kind,
  name: kind,
  from,
  to,
  parent: null,
  about: null,
  first: null,
  usage: null,
  reason: null,
  error: null,
});

test("model calls and tool calls stand where they ran, models over tools", () => {
  const spans = [span("run", 0, 1000), span("model", 0, 250), span("tool", 250, 1000), span("model", 500, 750)];

  expect(segmentsOf(spans, 1000, false)).toEqual([
    { kind: "tool", left: 25, width: 75 },
    { kind: "model", left: 0, width: 25 },
    { kind: "model", left: 50, width: 25 },
  ]);
});

test("a wait takes the end of the bar", () => {
  expect(segmentsOf([span("model", 0, 500)], 1000, true)).toEqual([
    { kind: "model", left: 0, width: 30 },
    { kind: "wait", left: 60, width: 40 },
  ]);
});

test("an open span reaches to the end, and a run without spans has no segments", () => {
  expect(segmentsOf([span("model", 400, null)], 800, false)).toEqual([{ kind: "model", left: 50, width: 50 }]);
  expect(segmentsOf([], 0, false)).toEqual([]);
});
