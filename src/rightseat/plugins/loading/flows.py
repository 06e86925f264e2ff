"""Flow files → flows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from rightseat.parts import hint
from rightseat.plugins.definition import AnswerMode, Flow, Step
from rightseat.plugins.loading import graph, steps
from rightseat.plugins.loading.fields import Fields, kind
from rightseat.plugins.loading.limits import Limits
from rightseat.plugins.loading.metadata import MOST_DESCRIPTION
from rightseat.plugins.loading.notes import Node, Notes
from rightseat.plugins.loading.params import Surroundings

KNOWN = ("name", "description", "on_error", "steps", "next_flow", "max_steps", "timeout", "answer")
ANSWERS = ("auto", "last", "compose", "none")
MOST_STEPS = 10_000
LONGEST = 604_800  # seconds


def read(node: Node, around: Surroundings, limits: Limits, notes: Notes) -> Flow | None:
    """None where it has no name or no steps, which has been noted."""
    if not isinstance(node.value, dict):
        notes.add("E310", node, f"a flow should be a mapping, not {kind(node.value)}.")
        return None
    fields = Fields(node, notes, "E310")
    fields.refuse_others("W303", (*KNOWN, *steps.RESERVED))
    steps.refuse_reserved(node, notes)
    name = steps.read_name(fields, notes)
    description = fields.text("description", required=True, most=MOST_DESCRIPTION)
    written = fields.sequence("steps", required=True)
    if written is not None and not written.value:
        fields.wrong(written, "`steps` is empty; a flow has at least one step.")
    found = _read_steps(written, around, limits, notes) if written else {}
    if found and written:
        _check_graph(found, written, notes)
    timeout = fields.number("timeout", 1, LONGEST)
    flow = Flow(
        name,
        description,
        found,
        _read_on_error(fields, around, found, notes),
        fields.texts("next_flow"),
        int(fields.number("max_steps", 1, MOST_STEPS, whole=True) or 50),
        600.0 if timeout is None else timeout,
        cast(AnswerMode, fields.choice("answer", ANSWERS) or "auto"),
    )
    return flow if name and found else None


def check_next(flow: Flow, node: Node, own: str, flows: Mapping[str, Flow], notes: Notes) -> None:
    """Names of other plugins' flows cannot be checked here: who knows what else is installed."""
    known = {word.casefold() for one in flows.values() for word in (one.name, *one.aliases)}
    written = node.get("next_flow")
    for one in written.elements() if written else ():
        plugin, dot, name = str(one.value).rpartition(".")
        if dot and plugin != own:
            continue
        if name.casefold() not in known:
            said = f"`next_flow` names {one.value!r}, which is no flow here.{hint(name, known)}"
            notes.add("W801", one, said, "a flow of this plugin, or plugin.flow")


def _read_steps(node: Node, around: Surroundings, limits: Limits, notes: Notes) -> dict[str, Step]:
    names = [one.value.get("name") for one in node.elements() if isinstance(one.value, dict)]
    inside = replace(around, steps=tuple(name for name in names if isinstance(name, str)))
    found: dict[str, Step] = {}
    if len(node.value) > limits.steps:
        notes.add("E108", node, f"the flow has more than {limits.steps} steps.", at="key")
        return found
    for one in node.elements():
        if not isinstance(one.value, dict):
            notes.add("E310", one, f"a step should be a mapping, not {kind(one.value)}.")
            continue
        step = steps.read(one, inside, notes)
        if step is None:
            continue
        if step.name in found:
            notes.add("E303", one.get("name") or one, f"two steps are named {step.name!r}.")
        found.setdefault(step.name, step)
        _check_next(step, one, inside, notes)
    return found


def _check_next(step: Step, node: Node, around: Surroundings, notes: Notes) -> None:
    following = node.get("next")
    if following is None or step.next is None:
        if step.name != graph.LAST and step.call != "choice":
            said = f"the flow ends after {step.name!r}."
            notes.add("I301", node.get("name") or node, said, "name the last step `end`, or give `next`")
    elif step.name == graph.LAST:
        notes.add("W304", following, "the flow ends at `end`; its `next` is ignored.", at="key")
    elif step.call == "choice":
        notes.add("W405", following, "a choice leads on by its choices; `next` is ignored.", at="key")
    elif step.next not in around.steps:
        said = f"`next` names {step.next!r}, which is no step.{hint(step.next, around.steps)}"
        notes.add("E306", following, said)
    elif step.call == "none":
        notes.add("W305", following, "the original ended the flow at any `none`; here it goes on.", at="key")


def _check_graph(found: Mapping[str, Step], node: Node, notes: Notes) -> None:
    every = [one for one in node.elements() if isinstance(one.value, dict)]
    places = {name: one for one in reversed(every) if isinstance(name := one.value.get("name"), str)}
    if graph.FIRST not in found:
        if graph.FIRST not in places:
            notes.add("E305", node, "no step is named `start`, where a flow begins.", at="key")
        return
    for name in graph.unreachable(found):
        notes.add("W306", places[name].get("name") or places[name], f"nothing leads to the step {name!r}.")
    for name in graph.endless(found):
        said = f"from {name!r} the steps go round in a circle without a choice."
        notes.add("E307", places[name].get("next") or places[name], said)
    for name in graph.returning(found):
        said = f"from the choice {name!r} the flow can come back to it."
        notes.add("W307", places[name].get("name") or places[name], said, "max_steps bounds it")


def _read_on_error(fields: Fields, around: Surroundings, found: Mapping[str, Step], notes: Notes) -> Step | None:
    node = fields.mapping("on_error")
    if node is None:
        return None
    for key in ("name", "next"):
        if (given := node.get(key)) is not None:
            notes.add("W302", given, f"`on_error` has no {key}; it is ignored.", at="key")
    call = node.get("call_type")
    if call is not None and call.value == "choice":
        notes.add("E309", call, "`on_error` cannot be a choice: it leads nowhere.")
        return None
    step = steps.read_call(node, "", replace(around, steps=tuple(found), is_on_error=True), notes)
    return step and replace(step, next=None)
