"""Reads a flow file into a `Flow`, and checks where its steps lead."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from rightseat.parts import hint
from rightseat.plugins.definition import AnswerMode, Flow, Step
from rightseat.plugins.diagnostics import find_replacement
from rightseat.plugins.loading import graph, steps
from rightseat.plugins.loading.context import LoadContext
from rightseat.plugins.loading.fields import Fields, describe_kind
from rightseat.plugins.loading.limits import PluginLimits
from rightseat.plugins.loading.metadata import MAX_DESCRIPTION_CHARS
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode

KNOWN_KEYS = ("name", "description", "on_error", "steps", "next_flow", "max_steps", "timeout", "answer")
ANSWER_MODES = ("auto", "last", "compose", "none")
MAX_STEPS = 10_000
MAX_TIMEOUT_S = 604_800


def read(node: SourceNode, context: LoadContext, limits: PluginLimits, report: DiagnosticReport) -> Flow | None:
    """None if the flow has no name or no steps, which is reported."""
    if not isinstance(node.value, dict):
        report.add("E310", node, f"a flow should be a mapping, not {describe_kind(node.value)}.")
        return None
    fields = Fields(node, report, "E310")
    fields.report_unknown_keys("W303", (*KNOWN_KEYS, *steps.RESERVED_KEYS))
    steps.report_reserved_keys(node, report)
    name = steps.read_name(fields, report)
    description = fields.text("description", required=True, max_chars=MAX_DESCRIPTION_CHARS)
    written = fields.sequence("steps", required=True)
    if written is not None and not written.value:
        fields.report_error(written, "`steps` is empty; a flow has at least one step.")
    found = _read_steps(written, context, limits, report) if written else {}
    if found and written:
        _check_graph(found, written, report)
    timeout = fields.number("timeout", 1, MAX_TIMEOUT_S)
    flow = Flow(
        name,
        description,
        found,
        _read_on_error(fields, context, found, report),
        fields.texts("next_flow"),
        int(fields.number("max_steps", 1, MAX_STEPS, integer=True) or 50),
        600.0 if timeout is None else timeout,
        cast(AnswerMode, fields.choice("answer", ANSWER_MODES) or "auto"),
        file=node.source.file,
    )
    return flow if name and found else None


def check_next_flows(
    flow: Flow, node: SourceNode, own: str, flows: Mapping[str, Flow], report: DiagnosticReport
) -> None:
    """Flows of other plugins are not checked, because the loader does not know which are installed."""
    known = {word.casefold() for one in flows.values() for word in (one.name, *one.aliases)}
    written = node.get("next_flow")
    for one in written.elements() if written else ():
        plugin, dot, name = str(one.value).rpartition(".")
        if dot and plugin != own:
            continue
        if name.casefold() not in known:
            message = f"`next_flow` names {one.value!r}, which is not a flow of this plugin.{hint(name, known)}"
            better = find_replacement(name, known)
            report.add("W801", one, message, "name a flow of this plugin, or plugin.flow", replacement=better)


def _read_steps(
    node: SourceNode, context: LoadContext, limits: PluginLimits, report: DiagnosticReport
) -> dict[str, Step]:
    names = [one.value.get("name") for one in node.elements() if isinstance(one.value, dict)]
    flow_context = replace(context, steps=tuple(name for name in names if isinstance(name, str)))
    found: dict[str, Step] = {}
    if len(node.value) > limits.max_steps:
        report.add("E108", node, f"the flow has more than {limits.max_steps} steps.", at="key")
        return found
    for one in node.elements():
        if not isinstance(one.value, dict):
            report.add("E310", one, f"a step should be a mapping, not {describe_kind(one.value)}.")
            continue
        step = steps.read(one, flow_context, report)
        if step is None:
            continue
        if step.name in found:
            report.add("E303", one.get("name") or one, f"two steps are named {step.name!r}.")
        found.setdefault(step.name, step)
        _check_next_step(step, one, flow_context, report)
    return found


def _check_next_step(step: Step, node: SourceNode, context: LoadContext, report: DiagnosticReport) -> None:
    following = node.get("next")
    if following is None or step.next is None:
        if step.name != graph.LAST_STEP and step.call != "choice":
            message = f"the flow ends after {step.name!r}."
            report.add("I301", node.get("name") or node, message, "name the last step `end`, or set `next`")
    elif step.name == graph.LAST_STEP:
        report.add("W304", following, "the flow ends at `end`; its `next` is ignored.", at="key")
    elif step.call == "choice":
        report.add("W405", following, "a choice continues with one of its choices; its `next` is ignored.", at="key")
    elif step.next not in context.steps:
        message = f"`next` names {step.next!r}, which is not a step.{hint(step.next, context.steps)}"
        report.add("E306", following, message, replacement=find_replacement(step.next, context.steps))
    elif step.call == "none":
        report.add("W305", following, "the original ended the flow at any `none`; here the flow continues.", at="key")


def _check_graph(found: Mapping[str, Step], node: SourceNode, report: DiagnosticReport) -> None:
    every = [one for one in node.elements() if isinstance(one.value, dict)]
    places = {name: one for one in reversed(every) if isinstance(name := one.value.get("name"), str)}
    if graph.FIRST_STEP not in found:
        if graph.FIRST_STEP not in places:
            report.add("E305", node, "the flow has no step named `start`, where a flow begins.", at="key")
        return
    for name in graph.find_unreachable(found):
        report.add("W306", places[name].get("name") or places[name], f"the step {name!r} cannot be reached.")
    for name in graph.find_endless_loops(found):
        message = f"the steps from {name!r} form an endless loop: no choice leads out."
        report.add("E307", places[name].get("next") or places[name], message)
    for name in graph.find_returning_choices(found):
        message = f"the flow can return to the choice {name!r}."
        report.add("W307", places[name].get("name") or places[name], message, "max_steps limits the loop")


def _read_on_error(
    fields: Fields, context: LoadContext, found: Mapping[str, Step], report: DiagnosticReport
) -> Step | None:
    node = fields.mapping("on_error")
    if node is None:
        return None
    for key in ("name", "next"):
        if (extra := node.get(key)) is not None:
            report.add("W302", extra, f"`on_error` has no {key}; it is ignored.", at="key")
    call = node.get("call_type")
    if call is not None and call.value == "choice":
        report.add("E309", call, "`on_error` cannot be a choice: no step follows it.")
        return None
    step = steps.read_call(node, "", replace(context, steps=tuple(found), is_on_error=True), report)
    return step and replace(step, next=None)
