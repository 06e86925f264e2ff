import { describe, expect, test } from "vitest";
import type { Entry, Json, LogEvent } from "../src/log/events";
import { edgeKey, foldFlows, NO_FLOWS, type FlowRun } from "../src/log/flow";
import { chainOf, statesOf, type FlowGraph } from "../src/log/flowGraph";

const IDENTITY = { id: "steps", version: "1.0.0", digest: "d1" };
const node = (name: string, call = "api") => ({
  name,
  call,
  text: "",
  dangerous: false,
  last: name === "end",
  definition: null,
});
const edge = (from: string, to: string) => ({ from, to, label: "", condition: false });
const BRANCH: FlowGraph = {
  name: "branch",
  description: "",
  digest: "d1",
  steps: [node("start", "choice"), node("left"), node("right"), node("end")],
  edges: [edge("start", "left"), edge("start", "right"), edge("left", "end"), edge("right", "end")],
  on_error: node("on_error", "llm"),
  suggests: [],
};

const custom = (name: string, value: Json): LogEvent => ({ type: "Custom", name, value });
const started = custom("flow.started", { plugin: IDENTITY, flow: "branch", language: "en" });
const enter = (name: string): LogEvent => ({ type: "StepStarted", name });
const leave = (name: string): LogEvent => ({ type: "StepEnded", name });
const say = (event: string, step: string, value: Json) => custom("flow.step", { event, step, call: "api", value });
const output = (step: string, next: string | null) =>
  say("output", step, { output: { did: step }, message: "done", usage: { milliseconds: 12 }, next });
const complete = (step: string, next: string | null) => [enter(step), output(step, next), leave(step)];

function entriesOf(events: LogEvent[], run = "r1"): Entry[] {
  return events.map((event, index) => ({ run, id: `1-${index + 1}`, event }));
}
function fold(events: LogEvent[], flows: readonly FlowRun[] = NO_FLOWS, run = "r1"): FlowRun {
  const flow = foldFlows(flows, entriesOf(events, run)).at(-1);
  if (!flow) throw new Error("no flow");
  return flow;
}
const states = (flow: FlowRun | null) => Object.fromEntries(statesOf(BRANCH, flow));

describe("the states of steps", () => {
  test("all steps are idle before the flow begins", () => {
    expect(new Set(Object.values(states(null)))).toEqual(new Set(["idle"]));
  });

  test("a choice that is not made keeps both branches", () => {
    const idle = { left: "idle", right: "idle", end: "idle", on_error: "idle" };
    expect(states(fold([started, enter("start")]))).toEqual({ start: "now", ...idle });
  });

  test("a choice that is made skips the other branch", () => {
    const flow = fold([started, ...complete("start", "left"), enter("left")]);
    expect(states(flow)).toEqual({ start: "done", left: "now", right: "skipped", end: "idle", on_error: "idle" });
    expect([...flow.taken]).toEqual([edgeKey("start", "left")]);
  });

  test("a flow that has ended skips everything that it did not enter", () => {
    const events = [...complete("start", "left"), ...complete("left", "end"), ...complete("end", null)];
    const flow = fold([started, ...events, custom("flow.finished", { flow: "branch", status: "succeeded", path: [] })]);
    const done = { start: "done", left: "done", end: "done" };
    expect(states(flow)).toEqual({ ...done, right: "skipped", on_error: "skipped" });
    expect([...flow.taken]).toEqual([edgeKey("start", "left"), edgeKey("left", "end")]);
  });

  test("a failed step leads to on_error", () => {
    const failed = say("failed", "left", { error: { code: "http_status", message: "HTTP 500", step: "left" } });
    const flow = fold([started, ...complete("start", "left"), enter("left"), failed, leave("left"), enter("on_error")]);
    expect(states(flow)).toEqual({ start: "done", left: "failed", right: "skipped", end: "skipped", on_error: "now" });
    expect(flow.steps.left?.error).toEqual({ code: "http_status", message: "HTTP 500" });
    expect(flow.taken.has(edgeKey("left", "on_error"))).toBe(true);
  });

  test("a step that its run has left without an output has failed", () => {
    const flow = fold([started, enter("start"), leave("start"), { type: "RunFinished", outcome: "cancelled" }]);
    expect(states(flow).start).toBe("failed");
  });
});

describe("questions", () => {
  const waiting = [
    started,
    ...complete("start", "left"),
    enter("left"),
    say("waiting", "left", { reason: "approval_required", arguments: { path: "/x" } }),
    leave("left"),
    { type: "RunFinished", outcome: "waiting" } as LogEvent,
  ];

  test("a step that asks waits, and what follows stays possible", () => {
    const flow = fold(waiting);
    expect(states(flow)).toEqual({ start: "done", left: "waiting", right: "skipped", end: "idle", on_error: "idle" });
  });

  test("the flow continues in the run that answers", () => {
    const before = foldFlows(NO_FLOWS, entriesOf(waiting));
    const resumed = custom("flow.resumed", { plugin: IDENTITY, flow: "branch", path: ["start"] });
    const flow = fold([resumed, ...complete("left", "end"), enter("end")], before, "r2");
    expect(flow.run).toBe("r2");
    expect(states(flow)).toEqual({ start: "done", left: "done", right: "skipped", end: "now", on_error: "idle" });
    expect(flow.steps.start?.output).toEqual({ did: "start" });
    expect(flow.path).toEqual(["start", "left", "end"]);
  });

  test("the log of that run alone has the completed steps", () => {
    const resumed = custom("flow.resumed", { plugin: IDENTITY, flow: "branch", path: ["start"] });
    const flow = fold([resumed, enter("left")]);
    expect(states(flow)).toEqual({ start: "done", left: "now", right: "skipped", end: "idle", on_error: "idle" });
    expect([...flow.taken]).toEqual([edgeKey("start", "left")]);
  });
});

test("a step has its input, output, text and time", () => {
  const flow = fold([
    started,
    enter("start"),
    say("input", "start", { method: "GET" }),
    { type: "TextDelta", message_id: "m", text: "Hel" },
    { type: "TextDelta", message_id: "m", text: "lo" },
    output("start", "left"),
  ]);
  expect(flow.steps.start).toMatchObject({
    input: { method: "GET" },
    text: "Hello",
    output: { did: "start" },
    milliseconds: 12,
    next: "left",
  });
});

test("a step that is entered again is now, and has its count", () => {
  const flow = fold([started, ...complete("start", "left"), ...complete("left", "start"), enter("start")]);
  expect(flow.steps.start).toMatchObject({ state: "now", count: 2, output: undefined });
  expect(flow.taken.has(edgeKey("left", "start"))).toBe(true);
});

test("two flows of a run follow each other", () => {
  const finished = custom("flow.finished", { flow: "branch", status: "succeeded", path: [] });
  const flows = foldFlows(NO_FLOWS, entriesOf([started, enter("start"), finished, started, enter("start")]));
  expect(flows.map((flow) => flow.state)).toEqual(["ended", "running"]);
});

test("steps without a flow become a chain", () => {
  const flow = fold([enter("plan"), leave("plan"), enter("act")]);
  expect([flow.plugin, flow.flow]).toEqual(["", ""]);
  const chain = chainOf(flow);
  expect(chain.steps.map((step) => step.name)).toEqual(["plan", "act"]);
  expect(chain.edges).toEqual([edge("plan", "act")]);
  expect(Object.fromEntries(statesOf(chain, flow))).toEqual({ plan: "done", act: "now" });
});

test("entries without steps return the same flows", () => {
  const flows = foldFlows(NO_FLOWS, entriesOf([started]));
  expect(foldFlows(flows, entriesOf([{ type: "TextStarted", message_id: "m" }]))).toBe(flows);
});
