/** Places the steps of a flow below each other with dagre, and `on_error` beside them: any step may lead to it. */
import { graphlib, layout } from "@dagrejs/dagre";
import { ON_ERROR, type FlowEdge, type FlowGraph } from "../../log/flowGraph";

export const NODE_WIDTH = 208;
export const NODE_HEIGHT = 58;
const LABEL_HEIGHT = 24;
const MAX_LABEL_WIDTH = 190;
const ASIDE_GAP = 56;
const ASIDE_MARGIN = 16;
const ARROW_LENGTH = 9;
const ARROW_HALF = 5;

export interface Point {
  x: number;
  y: number;
}

/** What is drawn of an edge: the line, and the arrow at its end. */
interface Curve {
  line: string;
  arrow: string;
}

export interface PlacedEdge extends FlowEdge, Curve {
  id: string;
  /** The middle of its label. */
  middle: Point;
}

export interface Placement {
  /** The upper left corners. */
  nodes: Map<string, Point>;
  edges: PlacedEdge[];
}

export function placeFlow(graph: FlowGraph): Placement {
  const placed = placeSteps(graph);
  const centers = new Map(graph.steps.map(({ name }) => [name, placed.node(name) as Point]));
  const nodes = new Map([...centers].map(([name, center]) => [name, cornerOf(center)]));
  const ends: number[][] = [];
  const edges = graph.edges.map((edge, index) => {
    const found = placed.edge(edge.from, edge.to, String(index)) as { points: Point[] } & Partial<Point>;
    const points = attach(found.points, centers.get(edge.from), centers.get(edge.to));
    const middle = { x: found.x ?? 0, y: found.y ?? 0 };
    const heights = points.map(({ y }) => y);
    const right = Math.max(...points.map(({ x }) => x), middle.x + labelWidth(edge.label) / 2);
    ends.push([Math.min(...heights), Math.max(...heights), right]);
    return { ...edge, id: String(index), middle, ...curveDown(points) };
  });
  for (const { x, y } of nodes.values()) ends.push([y, y + NODE_HEIGHT, x + NODE_WIDTH]);
  if (graph.on_error) nodes.set(ON_ERROR, placeAside([...nodes.values()], ends));
  return { nodes, edges };
}

/** Branches keep the author's order, unless edges would cross that need not. */
function placeSteps(graph: FlowGraph): graphlib.Graph {
  const ordered = runDagre(graph, true);
  const crossings = countCrossings(graph, ordered);
  const optimal = crossings > 0 ? runDagre(graph, false) : ordered;
  return countCrossings(graph, optimal) < crossings ? optimal : ordered;
}

function runDagre(graph: FlowGraph, disableOptimalOrderHeuristic: boolean): graphlib.Graph {
  const placed = new graphlib.Graph({ multigraph: true });
  placed.setGraph({ rankdir: "TB", nodesep: 36, ranksep: 42, edgesep: 24 });
  for (const step of graph.steps) placed.setNode(step.name, { width: NODE_WIDTH, height: NODE_HEIGHT });
  graph.edges.forEach((edge, index) => {
    const label = { width: labelWidth(edge.label), height: edge.label ? LABEL_HEIGHT : 0, labelpos: "c" };
    placed.setEdge(edge.from, edge.to, label, String(index));
  });
  layout(placed, { disableOptimalOrderHeuristic });
  return placed;
}

function countCrossings(graph: FlowGraph, placed: graphlib.Graph): number {
  const lines = graph.edges.map(({ from, to }) => [placed.node(from) as Point, placed.node(to) as Point] as const);
  const pairs = lines.flatMap((one, index) => lines.slice(index + 1).map((other) => [one, other] as const));
  return pairs.filter(([one, other]) => isCrossing(one, other)).length;
}

type Line = readonly [Point, Point];

/** Lines that only meet at their ends do not cross. */
function isCrossing(one: Line, other: Line): boolean {
  const side = ([from, to]: Line, { x, y }: Point) =>
    Math.sign((to.x - from.x) * (y - from.y) - (to.y - from.y) * (x - from.x));
  return side(one, other[0]) * side(one, other[1]) < 0 && side(other, one[0]) * side(other, one[1]) < 0;
}

const cornerOf = ({ x, y }: Point) => ({ x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 });

/** Text of 11.5 px: about 7 px for a letter, twice as much for a Chinese character. */
function labelWidth(label: string): number {
  if (label === "") return 0;
  const width = [...label].reduce((sum, letter) => sum + (letter > "\u2e80" ? 13 : 7), 0);
  return Math.min(width + 20, MAX_LABEL_WIDTH);
}

/** Edges that lead down begin in the middle of a node and end above the middle of the next one. */
function attach(points: Point[], from: Point | undefined, to: Point | undefined): Point[] {
  if (!from || !to || from.y >= to.y) return points;
  return [{ x: from.x, y: from.y + NODE_HEIGHT / 2 }, ...points.slice(1, -1), { x: to.x, y: to.y - NODE_HEIGHT / 2 }];
}

/**
 * In the row that leaves most room beside its steps; of equal rows, in the one nearest to the middle.
 * `ends` are `[top, bottom, right]` of everything that is drawn.
 */
function placeAside(nodes: Point[], ends: number[][]): Point {
  const rows = [...new Set(nodes.map(({ y }) => y))].sort((one, other) => one - other);
  const places = rows.map((y, index) => {
    const beside = ends.filter(
      ([top = 0, bottom = 0]) => bottom > y - ASIDE_MARGIN && top < y + NODE_HEIGHT + ASIDE_MARGIN,
    );
    const x = Math.max(...beside.map(([, , right = 0]) => right)) + ASIDE_GAP;
    return { x, y, distance: Math.abs(index - (rows.length - 1) / 2) };
  });
  places.sort((one, other) => one.x - other.x || one.distance - other.distance);
  const { x, y } = places[0] ?? { x: 0, y: 0 };
  return { x, y };
}

/** Through the points, vertical at both ends. */
function curveDown(points: readonly Point[]): Curve {
  const line = points.reduce((path, { x, y }, index) => {
    const before = points[index - 1];
    if (!before) return `M${x},${y}`;
    const middle = (before.y + y) / 2;
    return `${path} C${before.x},${middle} ${x},${middle} ${x},${y}`;
  }, "");
  const [before, end] = points.slice(-2);
  return { line, arrow: before && end ? arrowDown(end, before.y > end.y) : "" };
}

function arrowDown({ x, y }: Point, isUp: boolean): string {
  const base = isUp ? y + ARROW_LENGTH : y - ARROW_LENGTH;
  return `M${x - ARROW_HALF},${base} L${x + ARROW_HALF},${base} L${x},${y} Z`;
}

/** From the right side of a step to `on_error`: to its left side in the same row, else to its bottom or its top. */
export function curveAside(from: Point, to: Point): Curve {
  const x = from.x + NODE_WIDTH;
  const y = from.y + NODE_HEIGHT / 2;
  if (from.y === to.y) {
    const base = to.x - ARROW_LENGTH;
    return {
      line: `M${x},${y} L${to.x},${y}`,
      arrow: `M${base},${y - ARROW_HALF} L${base},${y + ARROW_HALF} L${to.x},${y} Z`,
    };
  }
  const isUp = from.y > to.y;
  const end = { x: to.x + NODE_WIDTH / 2, y: isUp ? to.y + NODE_HEIGHT : to.y };
  const bend = Math.max(x + ASIDE_GAP, end.x);
  return { line: `M${x},${y} C${bend},${y} ${end.x},${y} ${end.x},${end.y}`, arrow: arrowDown(end, isUp) };
}
