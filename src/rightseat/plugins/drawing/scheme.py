"""A flow as what a picture has: boxes, and arrows with words on them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rightseat.plugins.call_types import call_types
from rightseat.plugins.definition import Flow, Plugin, Step

ASKS = "⚠ asks first"


@dataclass(frozen=True, slots=True)
class Box:
    """`text` says what the step does. The flow ends after a box that `is_last`."""

    name: str
    call: str
    text: str = ""
    dangerous: bool = False
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """`label` is why this way is taken; `is_condition` says that code decides it and no model."""

    start: str
    end: str
    label: str = ""
    is_condition: bool = False


@dataclass(frozen=True, slots=True)
class Scheme:
    """`on_error` is where every step leads that fails. `suggests` are the flows that the author names next."""

    name: str
    description: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    on_error: Box
    suggests: tuple[str, ...] = ()


def scheme(plugin: Plugin, flow: Flow) -> Scheme:
    steps = list(flow.steps.values())
    boxes = tuple(box(plugin, step) for step in steps)
    arrows = tuple(arrow for step in steps for arrow in arrows_of(step))
    failed = box(plugin, flow.on_error) if flow.on_error else Box("", "llm", "explains what went wrong", is_last=True)
    return Scheme(flow.name, flow.description, boxes, arrows, failed, flow.next_flow or ())


def box(plugin: Plugin, step: Step) -> Box:
    call = f"lib.{step.call}" if step.is_lib else step.call
    operation = plugin.operation(str(step.params.get("endpoint", ""))) if step.call == "api" else None
    dangerous = step.dangerous or bool(operation and operation.dangerous)
    is_last = step.name == "end" or (step.next is None and step.call != "choice")
    known = call_types().get(step.call)
    return Box(step.name, call, known.label(step) if known else "", dangerous, is_last)


def arrows_of(step: Step) -> Iterator[Arrow]:
    if step.call == "choice":
        yield from (arrow(step, one) for one in choices(step))
        default = step.params.get("default")
        if isinstance(default, str):
            yield Arrow(step.name, default, "undecided")
    elif step.next is not None and step.name != "end":
        yield Arrow(step.name, step.next)


def choices(step: Step) -> list[dict[str, Any]]:
    found = step.params.get("choices")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def arrow(step: Step, choice: dict[str, Any]) -> Arrow:
    if when := choice.get("when"):
        return Arrow(step.name, str(choice["step"]), str(when), is_condition=True)
    return Arrow(step.name, str(choice["step"]), str(choice["description"]))
