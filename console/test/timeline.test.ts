import { expect, test } from "vitest";
import type { RunLine } from "../src/api/types";
import type { Entry, LogEvent } from "../src/log/events";
import { EMPTY, fold } from "../src/log/fold";
import { NO_TIMELINE, rowsOf, totalsOf, waitsOf, type Timeline } from "../src/log/timeline";
import { priceOf } from "../src/parts/timeline/price";

const entries = (run: string, events: LogEvent[]): Entry[] =>
  events.map((event, index) => ({ run, id: `1-${index + 1}`, event }));

const started = (run: string, second: number, answered: string[] = []): LogEvent => ({
  type: "RunStarted",
  run_id: run,
  thread_id: "t",
  agent: "default",
  began_at: new Date(Date.UTC(2026, 0, 1, 12, 0, second)).toISOString(),
  answered: answered.map((id) => ({ interrupt_id: id, status: "resolved", by: "alice" })),
});
type Kind = "run" | "model" | "tool" | "step";
const begin = (span: string, kind: Kind, name: string, at: number, parent?: string): LogEvent => ({
  type: "SpanStarted",
  span,
  kind,
  name,
  at,
  parent,
});
const end = (span: string, at: number, more: Partial<Extract<LogEvent, { type: "SpanEnded" }>> = {}): LogEvent => ({
  type: "SpanEnded",
  span,
  at,
  ...more,
});
const timelineOf = (...logs: Entry[][]) => fold(EMPTY, logs.flat()).timeline;
const shape = (timeline: Timeline, collapsed: string[] = [], only: string | null = null) =>
  rowsOf(timeline, new Set(collapsed), only).map(({ span, level }) => `${level} ${span.kind} ${span.id}`);

const QUESTION: LogEvent = {
  type: "RunFinished",
  outcome: "waiting",
  interrupts: [{ id: "q1", reason: "approval", message: "May I?" }],
};
const ASKS = entries("r1", [
  started("r1", 0),
  begin("s0", "run", "default", 0),
  begin("s1", "model", "upstream", 10, "s0"),
  end("s1", 400, { first: 150, usage: { input_tokens: 11, output_tokens: 7 } }),
  begin("s2", "tool", "getWeather", 410, "s0"),
  begin("s3", "tool", "getWeather", 412, "s0"),
  begin("s4", "step", "start", 420, "s3"),
  end("s2", 700),
  end("s4", 800),
  end("s3", 900, { error: "tool_failed" }),
  end("s0", 1000),
  QUESTION,
]);
const ANSWERS = entries("r2", [
  started("r2", 3, ["q1"]),
  begin("s0", "run", "default", 0),
  begin("s1", "model", "upstream", 5, "s0"),
  end("s1", 205, { usage: { input_tokens: 20, output_tokens: 5, cache_read_tokens: 4 } }),
  end("s0", 500),
  { type: "RunFinished", outcome: "done" },
]);

test("spans stand below their parents, in the order of their start", () => {
  expect(shape(timelineOf(ASKS)).slice(0, 5)).toEqual([
    "1 run s0",
    "2 model s1",
    "2 tool s2",
    "2 tool s3",
    "3 step s4",
  ]);
});

test("a collapsed span hides what is below it, and a run can be shown alone", () => {
  const timeline = timelineOf(ASKS, ANSWERS);

  expect(shape(timeline, ["r1/s3"])).not.toContain("3 step s4");
  expect(shape(timeline, ["r1/s0"])).toEqual(["1 run s0", "1 wait wait-r1", "1 run s0", "2 model s1"]);
  expect(shape(timeline, [], "r2")).toEqual(["1 run s0", "2 model s1"]);
});

test("times of later runs count from the begin of the first run", () => {
  const { spans } = timelineOf(ASKS, ANSWERS);
  const second = spans.filter((span) => span.run === "r2");

  expect(second.map(({ id, from, to }) => [id, from, to])).toEqual([
    ["s0", 3000, 3500],
    ["s1", 3005, 3205],
  ]);
  expect(spans[1]).toMatchObject({ from: 10, to: 400, first: 150 });
});

test("a wait lasts from the end of the run that asks to the begin of the run that answers", () => {
  const open = waitsOf(timelineOf(ASKS));
  const answered = waitsOf(timelineOf(ASKS, ANSWERS));

  expect(open).toMatchObject([{ kind: "wait", from: 1000, to: null, state: "open" }]);
  expect(answered).toMatchObject([{ kind: "wait", from: 1000, to: 3000, state: "ended" }]);
});

test("a run between the question and its answer does not end the wait", () => {
  const between = entries("r3", [
    started("r3", 1),
    begin("s0", "run", "default", 0),
    end("s0", 100),
    { type: "RunFinished", outcome: "done" },
  ]);

  expect(waitsOf(timelineOf(ASKS, between, ANSWERS))).toMatchObject([{ from: 1000, to: 3000 }]);
  expect(waitsOf(timelineOf(ASKS, between))).toMatchObject([{ from: 1000, to: 1000 }]); // the thread went on without it
});

test("totals are sums over spans, and waits are no time of runs", () => {
  expect(totalsOf(timelineOf(ASKS, ANSWERS), 9999)).toEqual({
    time: 1500,
    waited: 2000,
    modelCalls: 2,
    input: 31,
    output: 12,
    cached: 4,
    generating: 250,
  });
  expect(totalsOf(timelineOf(ASKS, ANSWERS), 9999, "r2")).toMatchObject({ time: 500, waited: 0, modelCalls: 1 });
  expect(totalsOf(timelineOf(ASKS), 4000)).toMatchObject({ time: 1000, waited: 3000 });
});

test("a span is open until it ends, and failed with an error", () => {
  const early = timelineOf(ASKS.slice(0, 6));

  expect(early.spans.map((span) => span.state)).toEqual(["open", "ended", "open", "open"]);
  expect(totalsOf(early, 700).time).toBe(700);
  expect(timelineOf(ASKS).spans[3]).toMatchObject({ state: "failed", error: "tool_failed" });
});

test("what a run leaves open ends with it", () => {
  const cut = timelineOf(
    ASKS.slice(0, 6),
    entries("r1", [{ type: "RunFailed", code: "cut_off", message: "Cut off." }]),
  );

  expect(cut.spans.map(({ state, to }) => [state, to])).toEqual([
    ["failed", 412],
    ["ended", 400],
    ["failed", 412],
    ["failed", 412],
  ]);
});

test("a span whose parent is not in the log is a root", () => {
  const log = entries("r1", [started("r1", 0), begin("s7", "tool", "getWeather", 5, "s1")]);

  expect(shape(timelineOf(log))).toEqual(["1 tool s7"]);
});

test("folding in pieces gives the same timeline, and entries without spans return the same object", () => {
  const all = [...ASKS, ...ANSWERS];
  let conversation = EMPTY;
  for (const entry of all) conversation = fold(conversation, [entry]);
  const text = fold(conversation, entries("r2", [{ type: "TextDelta", message_id: "m", text: "a" }]));

  expect(conversation.timeline).toEqual(timelineOf(ASKS, ANSWERS));
  expect(text.timeline).toBe(conversation.timeline);
});

test("spans know the positions of their entries in the log of the thread", () => {
  const { spans } = timelineOf(ASKS, ANSWERS);

  expect(spans[1]).toMatchObject({ begin: 2, end: 3 });
  expect(spans.at(-1)).toMatchObject({ begin: 14, end: 15 });
});

test("a log without times has no spans", () => {
  const old: LogEvent = { type: "RunStarted", run_id: "r1", thread_id: "t", agent: "default" };
  const timeline = timelineOf(entries("r1", [old, { type: "RunFinished", outcome: "done" }]));

  expect(timeline.spans).toEqual(NO_TIMELINE.spans);
  expect(rowsOf(timeline, new Set())).toEqual([]);
});

test("50,000 events fold in seconds at most, however many items there are", () => {
  const events: LogEvent[] = [started("r1", 0), begin("s0", "run", "default", 0)];
  for (let n = 1; events.length < 50_000; n++) {
    events.push(begin(`m${n}`, "model", "upstream", n, "s0"), end(`m${n}`, n + 1));
    events.push({ type: "TextStarted", message_id: `t${n}` }, { type: "TextDelta", message_id: `t${n}`, text: "a" });
    events.push({ type: "TextEnded", message_id: `t${n}` });
  }
  const before = performance.now();
  const { timeline } = fold(EMPTY, entries("r1", events));
  const rows = rowsOf(timeline, new Set());

  expect(rows).toHaveLength(10_001);
  expect(performance.now() - before).toBeLessThan(4000);
});

test("a run that was stopped did not fail: what it leaves open is stopped, and its open model call counts", () => {
  const begun = entries("r1", [
    started("r1", 0),
    begin("s0", "run", "default", 0),
    begin("s1", "model", "upstream", 10, "s0"),
  ]);
  const stopped = timelineOf(
    begun,
    entries("r1", [end("s1", 50, { error: "cancelled" }), { type: "RunFinished", outcome: "cancelled" }]),
  );

  expect(stopped.spans.map((span) => span.state)).toEqual(["cancelled", "cancelled"]);
  expect(totalsOf(timelineOf(begun), 100).modelCalls).toBe(1);
});

test("a run without known tokens has no known price, which is not a model without one", () => {
  const line = (cost: number | null, tokens: object | null) => ({ id: "r1", cost, tokens }) as RunLine;

  expect(priceOf([line(0.01, { in: 11 })], null)).toBe("known");
  expect(priceOf([line(null, { in: 11 })], null)).toBe("none");
  expect(priceOf([line(null, null)], null)).toBe("unknown");
});
