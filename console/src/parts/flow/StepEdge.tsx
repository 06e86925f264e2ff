import { EdgeLabelRenderer, type Edge, type EdgeProps } from "@xyflow/react";
import { memo, useContext } from "react";
import { edgeKey } from "../../log/flow";
import { ON_ERROR } from "../../log/flowGraph";
import { GraphContext, type GraphState } from "./context";
import type { PlacedEdge } from "./layout";

export type StepEdgeData = { edge: PlacedEdge };

export const StepEdge = memo(function StepEdge({ data }: EdgeProps<Edge<StepEdgeData>>) {
  const graph = useContext(GraphContext);
  if (!data) return null;
  const { edge } = data;
  const state = stateOf(edge, graph);
  return (
    <>
      <g
        className="flow-edge"
        data-testid="edge"
        data-from={edge.from}
        data-to={edge.to}
        data-taken={state === "taken"}
        data-state={state}
        data-error={edge.to === ON_ERROR || undefined}
      >
        <path className="flow-line" d={edge.line} />
        <path className="flow-arrow" d={edge.arrow} />
      </g>
      {edge.label !== "" && (
        <EdgeLabelRenderer>
          <span
            className="flow-label"
            data-state={state}
            data-condition={edge.condition || undefined}
            title={edge.label}
            style={{ transform: `translate(-50%, -50%) translate(${edge.middle.x}px, ${edge.middle.y}px)` }}
          >
            {edge.label}
          </span>
        </EdgeLabelRenderer>
      )}
    </>
  );
});

function stateOf({ from, to }: PlacedEdge, { flow, states }: GraphState): "taken" | "skipped" | "open" {
  if (flow?.taken.has(edgeKey(from, to))) return "taken";
  const isPassed = ["done", "failed", "skipped"].includes(states.get(from) ?? "");
  return isPassed || states.get(to) === "skipped" ? "skipped" : "open";
}
