/** The graph of a flow, and the states that a run gives to its steps. */
import type { Json } from "./events";
import type { FlowRun, StepState } from "./flow";

export const ON_ERROR = "on_error";

/** A flow as the server describes it. */
export interface FlowGraph {
  name: string;
  description: string;
  digest: string;
  steps: FlowStep[];
  edges: FlowEdge[];
  /** Follows any step that fails. */
  on_error: FlowStep | null;
  suggests: string[];
}

export interface FlowStep {
  name: string;
  call: string;
  text: string;
  dangerous: boolean;
  last: boolean;
  /** The author's parameters. Only operators receive them. */
  definition: Json;
}

export interface FlowEdge {
  from: string;
  to: string;
  label: string;
  /** Whether `label` is a condition that code evaluates; otherwise a model decides. */
  condition: boolean;
}

/** The states of all steps. A step that the flow can no longer reach is skipped. */
export function statesOf(graph: FlowGraph, flow: FlowRun | null): Map<string, StepState> {
  const ahead = flow ? stepsAhead(graph, flow) : null;
  return new Map(
    namesOf(graph).map((name) => [name, flow?.steps[name]?.state ?? (!ahead || ahead.has(name) ? "idle" : "skipped")]),
  );
}

export const nodesOf = (graph: FlowGraph) => (graph.on_error ? [...graph.steps, graph.on_error] : graph.steps);
const namesOf = (graph: FlowGraph) => nodesOf(graph).map((step) => step.name);

/** The steps that the flow may still enter. */
function stepsAhead(graph: FlowGraph, flow: FlowRun): Set<string> {
  if (flow.state === "ended") return new Set();
  const last = flow.steps[flow.path.at(-1) ?? ""];
  if (!last) return new Set(namesOf(graph));
  const found = new Set<string>();
  const waiting = last.state === "failed" ? [] : last.next === undefined ? followersOf(graph, last.name) : [last.next];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (name === null || found.has(name)) continue;
    found.add(name);
    waiting.push(...followersOf(graph, name));
  }
  return last.name === ON_ERROR ? found : found.add(ON_ERROR);
}

function followersOf(graph: FlowGraph, name: string): (string | null)[] {
  return graph.edges.filter((edge) => edge.from === name).map((edge) => edge.to);
}

/** The graph of a flow whose definition is unknown: the steps that it has entered, in their order. */
export function chainOf(flow: FlowRun): FlowGraph {
  const names = [...new Set(flow.path)].filter((name) => name !== ON_ERROR);
  return {
    name: flow.flow,
    description: "",
    digest: flow.digest,
    steps: names.map((name) => describeStep(flow, name)),
    edges: names.slice(1).map((name, index) => ({ from: names[index] ?? "", to: name, label: "", condition: false })),
    on_error: flow.path.includes(ON_ERROR) ? describeStep(flow, ON_ERROR) : null,
    suggests: [],
  };
}

function describeStep(flow: FlowRun, name: string): FlowStep {
  return { name, call: flow.steps[name]?.call ?? "", text: "", dangerous: false, last: false, definition: null };
}
