/** The graph of a flow: it can be moved and zoomed, and each step opens its panel. */
import {
  Background,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  type Edge,
  type FitViewOptions,
  type Node,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { useEffect, useMemo, useState } from "react";
import { edgeKey, type FlowRun } from "../../log/flow";
import { nodesOf, ON_ERROR, statesOf, type FlowGraph } from "../../log/flowGraph";
import { useSettings } from "../../settings";
import { useIsWide } from "../../useIsWide";
import { translator, useWords, type Translate } from "../../words";
import { Icon } from "../Icon";
import { GraphContext } from "./context";
import { curveAside, NODE_HEIGHT, NODE_WIDTH, placeFlow, type PlacedEdge, type Placement } from "./layout";
import { StepEdge, type StepEdgeData } from "./StepEdge";
import { StepNode, type StepNodeData } from "./StepNode";

const NODE_TYPES = { step: StepNode };
const EDGE_TYPES = { step: StepEdge };
/** The buttons for the view are below the graph. On a phone two fingers zoom, and only a moved graph has a button. */
const FIT = { padding: { top: "22px", right: "20px", bottom: "54px", left: "20px" }, maxZoom: 1 } as const;
const FIT_ON_PHONES = { ...FIT, padding: { ...FIT.padding, bottom: "14px" } } as const;
const WIDE_PX = 721;
/** xyflow describes nodes and edges in English. Names and states are in our own labels. */
const NO_DESCRIPTION = { "aria-roledescription": undefined };

interface Props {
  graph: FlowGraph;
  flow: FlowRun | null;
  chosen: string | null;
  onChoose: (name: string) => void;
}

export function FlowCanvas(props: Props) {
  return (
    <ReactFlowProvider>
      <Canvas {...props} />
    </ReactFlowProvider>
  );
}

function Canvas({ graph, flow, chosen, onChoose }: Props) {
  const t = useWords();
  const { language } = useSettings();
  const fit = useIsWide(WIDE_PX) ? FIT : FIT_ON_PHONES;
  const [isMoved, setIsMoved] = useState(false);
  const placement = useMemo(() => placeFlow(graph), [graph]);
  const state = useMemo(
    () => ({ flow, states: statesOf(graph, flow), chosen, onChoose }),
    [graph, flow, chosen, onChoose],
  );
  const nodes = useMemo(() => buildNodes(graph, placement), [graph, placement]);
  const failed = failedSteps(graph, flow).join("\n"); // a text, which stays the same
  const edges = useMemo(
    () => buildEdges(placement, failed ? failed.split("\n") : [], translator(language)),
    [placement, failed, language],
  );
  return (
    <div className="flow-canvas" data-moved={isMoved || undefined}>
      <GraphContext value={state}>
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={NODE_TYPES}
          edgeTypes={EDGE_TYPES}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
          elementsSelectable={false}
          disableKeyboardA11y
          deleteKeyCode={null}
          minZoom={0.2}
          maxZoom={1.6}
          panOnScroll
          onMoveStart={(event) => event && setIsMoved(true)}
          zoomOnDoubleClick={false}
          fitView
          fitViewOptions={fit}
          aria-label={t("flow.graph")}
          ariaLabelConfig={{ "node.a11yDescription.keyboardDisabled": "", "edge.a11yDescription.default": "" }}
        >
          <Background gap={26} size={1.2} />
        </ReactFlow>
      </GraphContext>
      <Zoom graph={graph} fit={fit} onFit={() => setIsMoved(false)} />
    </div>
  );
}

function buildNodes(graph: FlowGraph, { nodes }: Placement): Node<StepNodeData>[] {
  return nodesOf(graph).map((step) => ({
    id: step.name,
    type: "step",
    position: nodes.get(step.name) ?? { x: 0, y: 0 },
    width: NODE_WIDTH,
    height: NODE_HEIGHT,
    domAttributes: NO_DESCRIPTION,
    data: { step },
  }));
}

/** Those that have led to `on_error`. */
function failedSteps(graph: FlowGraph, flow: FlowRun | null): string[] {
  return graph.steps.map((step) => step.name).filter((name) => flow?.taken.has(edgeKey(name, ON_ERROR)));
}

/** Any step may lead to `on_error`. Only the edge that was followed is drawn. */
function buildEdges({ nodes, edges }: Placement, failed: string[], t: Translate): Edge<StepEdgeData>[] {
  const aside = nodes.get(ON_ERROR);
  const errors = failed.flatMap((from): PlacedEdge[] => {
    const place = nodes.get(from);
    if (!aside || !place) return [];
    const edge = { id: `error-${from}`, from, to: ON_ERROR, label: "", condition: false, middle: aside };
    return [{ ...edge, ...curveAside(place, aside) }];
  });
  return [...edges, ...errors].map((edge) => ({
    id: edge.id,
    type: "step",
    source: edge.from,
    target: edge.to,
    ariaLabel: t("flow.edge", { from: edge.from, to: edge.to }),
    domAttributes: NO_DESCRIPTION,
    data: { edge },
  }));
}

const sizeOf = (state: { width: number; height: number }) => `${state.width} ${state.height}`;

interface ZoomProps {
  graph: FlowGraph;
  fit: FitViewOptions;
  onFit: () => void;
}

/** Buttons for the view, which shows the whole flow when its graph or its box changes. */
function Zoom({ graph, fit, onFit }: ZoomProps) {
  const t = useWords();
  const { zoomIn, zoomOut, fitView } = useReactFlow();
  const size = useStore(sizeOf);
  useEffect(() => void fitView(fit), [fitView, graph, size, fit]);

  function showAll() {
    onFit();
    void fitView(fit);
  }
  return (
    <div className="flow-zoom">
      <button type="button" className="icon-button" aria-label={t("flow.zoomIn")} onClick={() => void zoomIn()}>
        <Icon name="plus" />
      </button>
      <button type="button" className="icon-button" aria-label={t("flow.zoomOut")} onClick={() => void zoomOut()}>
        <Icon name="minus" />
      </button>
      <button type="button" className="icon-button" aria-label={t("flow.fit")} onClick={showAll}>
        <Icon name="fit" />
      </button>
    </div>
  );
}
