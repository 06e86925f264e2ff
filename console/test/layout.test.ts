import { expect, test } from "vitest";
import { ON_ERROR, type FlowGraph } from "../src/log/flowGraph";
import { NODE_HEIGHT, NODE_WIDTH, placeFlow, type Point } from "../src/parts/flow/layout";

const node = (name: string) => ({ name, call: "api", text: "", dangerous: false, last: false, definition: null });

/** Edges are written as `from>to` or `from>to:label`. */
function graphOf(...written: string[]): FlowGraph {
  const edges = written.map((one) => {
    const [ends = "", label = ""] = one.split(":");
    const [from = "", to = ""] = ends.split(">");
    return { from, to, label, condition: false };
  });
  const names = [...new Set(edges.flatMap(({ from, to }) => [from, to]))];
  const common = { name: "flow", description: "", digest: "", suggests: [] };
  return { ...common, steps: names.map(node), edges, on_error: node(ON_ERROR) };
}

function place(...written: string[]): Record<string, Point> {
  return Object.fromEntries(placeFlow(graphOf(...written)).nodes);
}

function overlaps(nodes: Record<string, Point>): string[] {
  const all = Object.entries(nodes);
  return all.flatMap(([name, one], index) =>
    all
      .slice(index + 1)
      .filter(([, other]) => Math.abs(one.x - other.x) < NODE_WIDTH && Math.abs(one.y - other.y) < NODE_HEIGHT)
      .map(([other]) => `${name} ${other}`),
  );
}

test("steps in a row are below each other, and on_error is beside the middle one", () => {
  const nodes = place("start>second", "second>third", "third>fourth", "fourth>end");
  const column = ["start", "second", "third", "fourth", "end"].map((name) => nodes[name]);
  expect(new Set(column.map((one) => one?.x)).size).toBe(1);
  expect(column.map((one) => one?.y)).toEqual(
    column.map((one) => one?.y).sort((one, other) => (one ?? 0) - (other ?? 0)),
  );
  expect(nodes.on_error?.y).toBe(nodes.third?.y);
  expect(nodes.on_error?.x).toBeGreaterThan((nodes.third?.x ?? 0) + NODE_WIDTH);
});

test("branches keep the order of the author", () => {
  const nodes = place("start>left:to the left", "start>middle", "start>right:to the right", "left>end", "right>end");
  expect(nodes.left?.x).toBeLessThan(nodes.middle?.x ?? 0);
  expect(nodes.middle?.x).toBeLessThan(nodes.right?.x ?? 0);
});

test("edges cross only where they must", () => {
  const nodes = place("start>a", "start>b", "a>d", "b>c", "c>end", "d>end");
  const isSameOrder = (nodes.a?.x ?? 0) < (nodes.b?.x ?? 0) === (nodes.d?.x ?? 0) < (nodes.c?.x ?? 0);
  expect(isSameOrder).toBe(true);
});

test.each([
  ["a chain", ["start>end"]],
  ["a long branch", ["start>a:if", "start>b:else", "b>c", "c>d:one", "c>e:two", "a>end", "d>end", "e>end"]],
  ["a loop", ["start>check", "check>start:again", "check>end:done"]],
  ["a step that repeats itself", ["start>start:again", "start>end"]],
  ["two edges between two steps", ["start>end:one", "start>end:two"]],
])("the nodes of %s do not overlap, and every edge has a line", (_, written) => {
  const { nodes, edges } = placeFlow(graphOf(...written));
  expect(overlaps(Object.fromEntries(nodes))).toEqual([]);
  for (const edge of edges) expect(edge.line + edge.arrow).toMatch(/^M[-\d.,\sCLMZ]+$/);
});

test("a flow without an error step has none", () => {
  expect([...placeFlow({ ...graphOf("a>b"), on_error: null }).nodes.keys()]).toEqual(["a", "b"]);
});
