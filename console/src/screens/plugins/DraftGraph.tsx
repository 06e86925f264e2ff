import type { FlowGraph } from "../../log/flowGraph";
import FlowView from "../../parts/flow/FlowView";

interface Props {
  plugin: string;
  graph: FlowGraph;
  /** About the graph, where it is not that of the draft. */
  note: string | null;
}

/** The graph of the flow in the open file. It is loaded when its tab is opened. */
export default function DraftGraph({ plugin, graph, note }: Props) {
  return (
    <div className="draft-graph">
      {note && <p className="muted">{note}</p>}
      <FlowView plugin={plugin} graph={graph} flow={null} />
    </div>
  );
}
