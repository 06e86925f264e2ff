/**
 * What a run gives to the graph. It goes past xyflow, which hands out nodes and edges in separate updates: a step and
 * the edge to it change together.
 */
import { createContext } from "react";
import type { FlowRun, StepState } from "../../log/flow";

export interface GraphState {
  flow: FlowRun | null;
  states: ReadonlyMap<string, StepState>;
  chosen: string | null;
  onChoose: (name: string) => void;
}

export const GraphContext = createContext<GraphState>({
  flow: null,
  states: new Map(),
  chosen: null,
  onChoose: () => {},
});
