/** The flows of a thread: the last one, or the one that the reader has chosen. */
import { useState } from "react";
import { Link } from "wouter";
import type { LiveSnapshot } from "../../log/live";
import { useWords } from "../../words";
import RunFlow from "./RunFlow";

const id = encodeURIComponent;

interface Props {
  snapshot: LiveSnapshot;
  /** Null for the last one that has a flow. */
  run: string | null;
}

export default function ThreadFlows({ snapshot, run }: Props) {
  const t = useWords();
  const { flows } = snapshot.conversation;
  const [chosen, setChosen] = useState<number | null>(null);
  const index = chosen ?? flows.findLastIndex((flow) => run === null || flow.run === run);
  const flow = flows[index];
  if (!flow) return <p className="muted flow-none">{t("flow.noFlow")}</p>;
  const nameOf = (plugin: string, name: string) => (plugin ? `${plugin}.${name}` : t("flow.chain"));
  return (
    <div className="thread-flows">
      <div className="flow-bar">
        {flows.length > 1 ? (
          <select
            className="field"
            aria-label={t("flow.choose")}
            value={index}
            onChange={(event) => setChosen(Number(event.target.value))}
          >
            {flows.map((one, number) => (
              <option key={number} value={number}>
                {number + 1} · {nameOf(one.plugin, one.flow)}
              </option>
            ))}
          </select>
        ) : (
          <span className="flow-title">{nameOf(flow.plugin, flow.flow)}</span>
        )}
        {flow.plugin && (
          <Link to={`/flows/${id(flow.plugin)}/${id(flow.flow)}?run=${id(flow.run)}`}>{t("flow.open")}</Link>
        )}
      </div>
      <RunFlow key={`${flow.run} ${index}`} snapshot={snapshot} index={index} flow={flow} />
    </div>
  );
}
