import { useFormat } from "../../format";
import type { FlowRun } from "../../log/flow";
import { nodesOf, statesOf, type FlowGraph } from "../../log/flowGraph";
import { useWords } from "../../words";
import { Markdown } from "../Markdown";
import { kindOf } from "./kinds";
import { StateChip } from "./StepPanel";

interface Props {
  graph: FlowGraph;
  flow: FlowRun | null;
  onChoose: (name: string) => void;
}

/** The graph as a list: the steps with their states in words. */
export function StepList({ graph, flow, onChoose }: Props) {
  const t = useWords();
  const format = useFormat();
  const states = statesOf(graph, flow);
  return (
    <section className="step-list" aria-label={t("flow.steps")}>
      {graph.description && (
        <div className="flow-description">
          <Markdown text={graph.description} />
        </div>
      )}
      <h2>{t("flow.steps")}</h2>
      <ol>
        {nodesOf(graph).map((step) => {
          const milliseconds = flow?.steps[step.name]?.milliseconds ?? null;
          return (
            <li key={step.name}>
              <button type="button" data-kind={kindOf(step.call)} onClick={() => onChoose(step.name)}>
                <span className="step-name">{step.name}</span>
                <span className="step-what">
                  {step.call} {step.text}
                </span>
                {milliseconds !== null && <span className="muted">{format.duration(milliseconds)}</span>}
                {flow && <StateChip state={states.get(step.name) ?? "idle"} />}
              </button>
            </li>
          );
        })}
      </ol>
      {graph.suggests.length > 0 && <p className="muted">{t("flow.suggests", { names: graph.suggests.join(", ") })}</p>}
    </section>
  );
}
