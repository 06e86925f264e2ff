"""Checks `params` of a step, by the call that it is for."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rightseat.plugins.call_types import call_types
from rightseat.plugins.definition import Database, Operation
from rightseat.plugins.loading import placeholders
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.notes import Node, Notes


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a step can refer to. `lib_words` are the words that a tool of `lib` could be named by."""

    operations: Mapping[str, Operation] = field(default_factory=dict)
    databases: Mapping[str, Database] = field(default_factory=dict)
    lib_words: Collection[str] = ()
    steps: Collection[str] = ()
    is_on_error: bool = False


def check(
    step: Node,
    name: str,
    call: str,
    params: Node | None,
    args: Node | None,
    around: Surroundings,
    notes: Notes,
    *,
    is_lib: bool,
) -> None:
    node = params or Node(step.source, (*step.path, "params"), {})
    fields = Fields(node, notes, "E407")
    if not is_lib:
        known = call_types()[call]
        fields.refuse_others("W303", known.params, f"parameter of {call}")
        fields.flag("raw")
        known.check(fields, name, around, notes)
    texts = _texts(params) if params and (is_lib or call_types()[call].has_templates) else ()
    for text in (*texts, *(_texts(args) if args else ())):
        placeholders.check(text, around.steps, notes, is_on_error=around.is_on_error)


def _texts(node: Node) -> Iterator[Node]:
    """Every text inside, except in a schema, which is no template."""
    if isinstance(node.value, str):
        yield node
    children: list[tuple[Any, Node]] = [*node.items(), *((None, one) for one in node.elements())]
    for key, child in children:
        if key != "output_schema":
            yield from _texts(child)
