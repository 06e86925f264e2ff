/** A flow: its graph, the position in the log of its run, and the step that the reader has chosen. */
import { useCallback, useState, type ReactNode } from "react";
import type { Entry } from "../../log/events";
import type { FlowRun } from "../../log/flow";
import { nodesOf, statesOf, type FlowGraph } from "../../log/flowGraph";
import { useWords } from "../../words";
import { FlowCanvas } from "./FlowCanvas";
import "./flow.css";
import type { Position } from "./position";
import { Scrubber } from "./Scrubber";
import { StepList } from "./StepList";
import { StepPanel } from "./StepPanel";

interface Props {
  plugin: string;
  graph: FlowGraph;
  /** The flow as it was at the position; null before it began, or where no run is shown. */
  flow: FlowRun | null;
  run?: { flow: FlowRun; entries: readonly Entry[]; position: Position; isRunning: boolean };
  children?: ReactNode;
}

export default function FlowView({ plugin, graph, flow, run, children }: Props) {
  const t = useWords();
  const [chosen, setChosen] = useState<string | null>(null);
  const choose = useCallback((name: string) => setChosen((before) => (before === name ? null : name)), []);
  const step = nodesOf(graph).find(({ name }) => name === chosen);
  return (
    <div
      className="flow"
      role="group"
      aria-label={t("flow.label", { name: graph.name || t("flow.chain") })}
      data-testid="flow"
      data-plugin={plugin}
      data-flow={graph.name}
      data-digest={graph.digest}
    >
      <div className="flow-main">
        {children}
        <FlowCanvas graph={graph} flow={flow} chosen={chosen} onChoose={choose} />
        {run && <Scrubber entries={run.entries} flow={run.flow} position={run.position} isRunning={run.isRunning} />}
      </div>
      <div className="flow-side">
        {step ? (
          <StepPanel
            key={step.name}
            step={step}
            state={statesOf(graph, flow).get(step.name) ?? "idle"}
            record={flow?.steps[step.name]}
            onClose={() => setChosen(null)}
          />
        ) : (
          <StepList graph={graph} flow={flow} onChoose={setChosen} />
        )}
      </div>
    </div>
  );
}
