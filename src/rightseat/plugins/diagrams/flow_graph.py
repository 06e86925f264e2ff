"""Converts a flow to a graph of labelled nodes and edges for diagrams."""

from collections.abc import Iterator
from typing import Any

from rightseat.core.types import JsonValue
from rightseat.operations.flows import FlowEdge, FlowGraph, FlowNode, FlowSummary
from rightseat.plugins.call_types import call_types
from rightseat.plugins.definition import ON_ERROR, Flow, Plugin, Step


def build_graph(plugin: Plugin, flow: Flow) -> FlowGraph:
    steps = list(flow.steps.values())
    nodes = tuple(build_node(plugin, step) for step in steps)
    edges = tuple(edge for step in steps for edge in list_edges(step))
    failed = (
        build_node(plugin, flow.on_error)
        if flow.on_error
        else FlowNode(ON_ERROR, "llm", "explains what went wrong", is_last=True)
    )
    return FlowGraph(flow.name, flow.description, plugin.identity.digest, nodes, edges, failed, flow.next_flow or ())


def summarize_flow(plugin: Plugin, flow: Flow) -> FlowSummary:
    asks = any(is_dangerous(plugin, step) for step in flow.steps.values())
    return FlowSummary(plugin.id, flow.name, plugin.identity.digest, flow.description, len(flow.steps), asks)


def build_node(plugin: Plugin, step: Step) -> FlowNode:
    call = f"lib.{step.call}" if step.is_lib else step.call
    is_last = step.name in ("end", "") or (step.next is None and step.call != "choice")
    known = call_types().get(step.call)
    text = known.label(step) if known else ""
    name = step.name or ON_ERROR
    return FlowNode(name, call, text, is_dangerous(plugin, step), is_last, write_definition(step))


def is_dangerous(plugin: Plugin, step: Step) -> bool:
    operation = plugin.operation(str(step.params.get("endpoint", ""))) if step.call == "api" else None
    return step.dangerous or bool(operation and operation.dangerous)


def write_definition(step: Step) -> JsonValue:
    """The parts of the step that the author has set, by their names in the file."""
    found: dict[str, JsonValue] = {}
    if step.params:
        found["params"] = dict(step.params)
    if step.args:
        found["args"] = dict(step.args)
    if step.timeout is not None:
        found["timeout"] = step.timeout
    if step.retry is not None:
        on: list[JsonValue] = [*sorted(step.retry.on)]
        found["retry"] = {"times": step.retry.times, "on": on, "backoff": step.retry.backoff}
    return found


def list_edges(step: Step) -> Iterator[FlowEdge]:
    if step.call == "choice":
        yield from (build_edge(step, one) for one in list_choices(step))
        default = step.params.get("default")
        if isinstance(default, str):
            yield FlowEdge(step.name, default, "undecided")
    elif step.next is not None and step.name != "end":
        yield FlowEdge(step.name, step.next)


def list_choices(step: Step) -> list[dict[str, Any]]:
    found = step.params.get("choices")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def build_edge(step: Step, choice: dict[str, Any]) -> FlowEdge:
    if when := choice.get("when"):
        return FlowEdge(step.name, str(choice["step"]), str(when), is_condition=True)
    return FlowEdge(step.name, str(choice["step"]), str(choice["description"]))
