/**
 * Folds the log entries of a thread into its flows: each with the steps that it has entered and what became of them.
 *
 * Agents that send steps and have no flow, such as graphs of other frameworks, become a chain of steps.
 * A flow and a record never change: a changed one is a new object, and entries without steps return the same list.
 */
import type { Entry, Json, JsonObject, LogEvent } from "./events";

export type StepState = "idle" | "now" | "done" | "failed" | "waiting" | "skipped";

export interface StepRecord {
  name: string;
  call: string;
  state: Exclude<StepState, "idle" | "skipped">;
  /** How often the flow has entered the step. */
  count: number;
  input: Json | undefined;
  output: Json | undefined;
  /** Whether `output` is only the beginning of it. */
  isShortened: boolean;
  /** What the step says about its outcome, in one line. */
  message: string;
  /** The text that it streams to the user. */
  text: string;
  /** The step that follows; undefined until it is known. */
  next: string | null | undefined;
  error: { code: string; message: string } | null;
  /** What was sent to a model or a database. Only operators receive it. */
  record: JsonObject | null;
  milliseconds: number | null;
}

export interface FlowRun {
  run: string;
  /** Empty for a chain of steps, as `flow` and `digest` are. */
  plugin: string;
  flow: string;
  digest: string;
  steps: Readonly<Record<string, StepRecord>>;
  /** The steps in the order in which they were entered. */
  path: readonly string[];
  /** The edges that were followed, as `edgeKey`. */
  taken: ReadonlySet<string>;
  state: "running" | "waiting" | "ended";
}

export const NO_FLOWS: readonly FlowRun[] = [];
export const edgeKey = (from: string, to: string) => JSON.stringify([from, to]);

interface MutableFlow extends FlowRun {
  steps: Record<string, StepRecord>;
  path: string[];
  taken: Set<string>;
}

/** `own` is the last flow if it was copied for this fold, and may be changed. */
interface Draft {
  flows: FlowRun[];
  own: MutableFlow | null;
}

export function foldFlows(flows: readonly FlowRun[], entries: readonly Entry[]): readonly FlowRun[] {
  const draft: Draft = { flows: [...flows], own: null };
  for (const { run, event } of entries) apply(draft, run, event);
  return draft.own ? draft.flows : flows;
}

function apply(draft: Draft, run: string, event: LogEvent): void {
  switch (event.type) {
    case "Custom":
      applyCustom(draft, run, event.name, event.value);
      break;
    case "StepStarted":
      if (!hasOpenFlow(draft, run)) add(draft, newFlow(run));
      change(draft, run, (flow) => enterStep(flow, event.name));
      break;
    case "StepEnded":
      change(draft, run, (flow) => leaveStep(flow, event.name));
      break;
    case "TextDelta":
      if (isInStep(draft, run)) change(draft, run, (flow) => addText(flow, event.text));
      break;
    case "RunFinished":
      change(draft, run, (flow) => void (flow.state = event.outcome === "waiting" ? "waiting" : "ended"));
      break;
    case "RunFailed":
      change(draft, run, (flow) => void (flow.state = "ended"));
      break;
    default:
  }
}

function applyCustom(draft: Draft, run: string, name: string, value: Json): void {
  if (!isObject(value)) return;
  if (name === "flow.started") add(draft, newFlow(run, readIdentity(value)));
  else if (name === "flow.resumed") add(draft, resume(draft.flows, run, value));
  else if (name === "flow.step") change(draft, run, (flow) => changeStep(flow, value));
  else if (name === "flow.finished") change(draft, run, (flow) => void (flow.state = "ended"));
}

function hasOpenFlow(draft: Draft, run: string): boolean {
  const last = draft.flows.at(-1);
  return last?.run === run && last.state !== "ended";
}

function isInStep(draft: Draft, run: string): boolean {
  const last = draft.flows.at(-1);
  return hasOpenFlow(draft, run) && last?.steps[last.path.at(-1) ?? ""]?.state === "now";
}

function add(draft: Draft, flow: MutableFlow): void {
  draft.flows.push(flow);
  draft.own = flow;
}

function change(draft: Draft, run: string, apply: (flow: MutableFlow) => void): void {
  const last = draft.flows.at(-1);
  if (!last || !hasOpenFlow(draft, run)) return;
  if (draft.own !== last) {
    draft.own = copy(last);
    draft.flows[draft.flows.length - 1] = draft.own;
  }
  if (draft.own) apply(draft.own);
}

const copy = (flow: FlowRun): MutableFlow => ({
  ...flow,
  steps: { ...flow.steps },
  path: [...flow.path],
  taken: new Set(flow.taken),
});

function newFlow(run: string, about: Partial<MutableFlow> = {}): MutableFlow {
  return { run, plugin: "", flow: "", digest: "", steps: {}, path: [], taken: new Set(), state: "running", ...about };
}

function readIdentity(value: JsonObject): { plugin: string; flow: string; digest: string } {
  const plugin = isObject(value.plugin) ? value.plugin : {};
  return { plugin: text(plugin.id), flow: text(value.flow), digest: text(plugin.digest) };
}

/** A flow that continues after an answer keeps what its earlier run has recorded. */
function resume(flows: readonly FlowRun[], run: string, value: JsonObject): MutableFlow {
  const identity = readIdentity(value);
  const before = flows.findLast(
    (flow) =>
      flow.state === "waiting" &&
      flow.plugin === identity.plugin &&
      flow.flow === identity.flow &&
      flow.digest === identity.digest,
  );
  if (before) return { ...copy(before), run, state: "running" };
  const path = Array.isArray(value.path) ? value.path.filter((name) => typeof name === "string") : [];
  const steps = Object.fromEntries(path.map((name) => [name, { ...newStep(name), state: "done" as const }]));
  return newFlow(run, { ...identity, path, steps, taken: new Set(pairs(path)) });
}

function pairs(path: readonly string[]): string[] {
  return path.slice(1).map((name, index) => edgeKey(path[index] ?? "", name));
}

function newStep(name: string): StepRecord {
  return {
    name,
    call: "",
    state: "now",
    count: 1,
    input: undefined,
    output: undefined,
    isShortened: false,
    message: "",
    text: "",
    next: undefined,
    error: null,
    record: null,
    milliseconds: null,
  };
}

function enterStep(flow: MutableFlow, name: string): void {
  const known = flow.steps[name];
  if (known?.state === "waiting") {
    flow.steps[name] = { ...known, state: "now" };
    return;
  }
  const last = flow.path.at(-1);
  if (last !== undefined) flow.taken.add(edgeKey(last, name));
  flow.path.push(name);
  flow.steps[name] = { ...newStep(name), call: known?.call ?? "", count: (known?.count ?? 0) + 1 };
}

/** A step of a flow has an output when it ends by itself; without one its run was stopped in the middle of it. */
function leaveStep(flow: MutableFlow, name: string): void {
  const step = flow.steps[name];
  if (step?.state !== "now") return;
  const isDone = flow.plugin === "" || step.next !== undefined;
  flow.steps[name] = { ...step, state: isDone ? "done" : "failed" };
}

function addText(flow: MutableFlow, text: string): void {
  const name = flow.path.at(-1) ?? "";
  const step = flow.steps[name];
  if (step) flow.steps[name] = { ...step, text: step.text + text };
}

/** The event `flow.step`: what goes into a step, what comes out of it, or why it waits or fails. */
function changeStep(flow: MutableFlow, event: JsonObject): void {
  const name = text(event.step);
  const step = flow.steps[name] ?? newStep(name);
  flow.steps[name] = { ...step, call: text(event.call), ...readChange(step, event) };
}

function readChange(step: StepRecord, event: JsonObject): Partial<StepRecord> {
  const value = isObject(event.value) ? event.value : {};
  switch (event.event) {
    case "input":
      return { input: event.value };
    case "waiting":
      return { input: event.value, state: "waiting" };
    case "output":
      return {
        state: step.state === "waiting" ? "done" : step.state, // a person has skipped it
        output: value.output,
        isShortened: value.shortened === true,
        message: text(value.message),
        next: typeof value.next === "string" ? value.next : null,
        record: isObject(value.record) && Object.keys(value.record).length > 0 ? value.record : null,
        milliseconds: readMilliseconds(value.usage),
      };
    case "failed":
      return {
        state: "failed",
        error: readError(value.error),
        record: isObject(value.details) ? value.details : step.record,
      };
    default:
      return {};
  }
}

function readError(value: Json | undefined): { code: string; message: string } {
  const error = isObject(value) ? value : {};
  return { code: text(error.code), message: text(error.message) };
}

function readMilliseconds(usage: Json | undefined): number | null {
  return isObject(usage) && typeof usage.milliseconds === "number" ? usage.milliseconds : null;
}

const text = (value: Json | undefined) => (typeof value === "string" ? value : "");

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
