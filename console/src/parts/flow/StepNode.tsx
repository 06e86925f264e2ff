import { Handle, Position, type Node, type NodeProps } from "@xyflow/react";
import { memo, useContext } from "react";
import { useFormat } from "../../format";
import type { StepState } from "../../log/flow";
import type { FlowStep } from "../../log/flowGraph";
import { useWords } from "../../words";
import { Icon } from "../Icon";
import { GraphContext } from "./context";
import { kindOf } from "./kinds";

export type StepNodeData = { step: FlowStep };

/** A step as a button: it opens the panel of the step. */
export const StepNode = memo(function StepNode({ data }: NodeProps<Node<StepNodeData>>) {
  const t = useWords();
  const format = useFormat();
  const { flow, states, chosen, onChoose } = useContext(GraphContext);
  const { step } = data;
  const state = states.get(step.name) ?? "idle";
  const milliseconds = flow?.steps[step.name]?.milliseconds ?? null;
  return (
    <>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <button
        type="button"
        className="flow-node nopan"
        data-testid="node"
        data-step={step.name}
        data-call={step.call}
        data-kind={kindOf(step.call)}
        data-state={state}
        aria-pressed={chosen === step.name}
        onClick={() => onChoose(step.name)}
      >
        <span className="flow-node-head">
          <span className="flow-node-name">{step.name}</span>
          {step.dangerous && <Icon name="shield" />}
          {milliseconds !== null && <span className="flow-node-time">{format.duration(milliseconds)}</span>}
        </span>
        <span className="flow-node-text">
          <b>{step.call}</b> {step.text}
        </span>
        <span className="visually-hidden">{t(`flow.state.${state}`)}</span>
        <StateBadge state={state} />
      </button>
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </>
  );
});

const ICONS = { done: "check", failed: "close", waiting: "clock" } as const;

/** The state as a sign: color alone says nothing. */
export function StateBadge({ state }: { state: StepState }) {
  if (state !== "done" && state !== "failed" && state !== "waiting") return null;
  return (
    <span className="flow-badge" data-state={state}>
      <Icon name={ICONS[state]} />
    </span>
  );
}
