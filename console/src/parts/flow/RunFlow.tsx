/** The flow of a run, drawn with the version of its plugin that the run has used. */
import { useMemo } from "react";
import { useFlow } from "../../api/queries";
import { foldFlows, NO_FLOWS, type FlowRun } from "../../log/flow";
import { chainOf } from "../../log/flowGraph";
import type { LiveSnapshot } from "../../log/live";
import { useWords } from "../../words";
import FlowView from "./FlowView";
import { usePosition } from "./position";

interface Props {
  snapshot: LiveSnapshot;
  /** Of the flows of the thread. */
  index: number;
  flow: FlowRun;
}

export default function RunFlow({ snapshot, index, flow }: Props) {
  const entries = useMemo(
    () => snapshot.entries.filter((entry) => entry.run === flow.run),
    [snapshot.entries, flow.run],
  );
  const position = usePosition(entries);
  const shown = useFlowAt(snapshot, index, flow, position.value);
  const { graph, isOld, isGone } = useGraphOf(flow);
  if (!graph) return null;
  const isRunning = flow.state === "running";
  return (
    <FlowView plugin={flow.plugin} graph={graph} flow={shown} run={{ flow, entries, position, isRunning }}>
      <VersionNote isOld={isOld} isGone={isGone} />
    </FlowView>
  );
}

/** The flow after so many entries of its run. */
function useFlowAt({ entries }: LiveSnapshot, index: number, flow: FlowRun, position: number): FlowRun | null {
  const begin = useMemo(() => entries.findIndex((entry) => entry.run === flow.run), [entries, flow.run]);
  const isWhole = entries[begin + position]?.run !== flow.run;
  return useMemo(() => {
    if (isWhole) return flow;
    const flows = foldFlows(NO_FLOWS, entries.slice(0, begin + position));
    const before = flows.at(-1);
    const isResumed = before?.state === "waiting" && before.digest === flow.digest && before.flow === flow.flow;
    return flows[index] ?? (isResumed ? before : null);
  }, [isWhole, flow, entries, begin, position, index]);
}

/** The graph of its version; where that is not stored any more, the steps that the run has entered. */
function useGraphOf(flow: FlowRun) {
  const hasPlugin = flow.plugin !== "";
  const own = useFlow(flow.plugin, flow.flow, flow.digest, hasPlugin);
  const current = useFlow(flow.plugin, flow.flow, undefined, hasPlugin);
  const chain = useMemo(() => chainOf(flow), [flow]);
  const isGone = own.isError;
  return {
    graph: !hasPlugin || isGone ? chain : own.data,
    isOld: current.data !== undefined && current.data.digest !== flow.digest,
    isGone,
  };
}

function VersionNote({ isOld, isGone }: { isOld: boolean; isGone: boolean }) {
  const t = useWords();
  if (!isOld && !isGone) return null;
  return (
    <p className="flow-note" role="note">
      {t(isGone ? "flow.gone" : "flow.old")}
    </p>
  );
}
