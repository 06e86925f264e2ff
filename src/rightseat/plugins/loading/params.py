"""Checks `params` and `args` of a step against its call type."""

from collections.abc import Iterator
from typing import Any

from rightseat.plugins.call_types import call_types
from rightseat.plugins.loading import placeholders
from rightseat.plugins.loading.context import LoadContext
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode


def check(
    step: SourceNode,
    name: str,
    call: str,
    params: SourceNode | None,
    args: SourceNode | None,
    context: LoadContext,
    report: DiagnosticReport,
    *,
    is_lib: bool,
) -> None:
    node = params or SourceNode(step.source, (*step.path, "params"), {})
    fields = Fields(node, report, "E407")
    if not is_lib:
        known = call_types()[call]
        fields.report_unknown_keys("W303", known.params, f"parameter of {call}")
        fields.flag("raw")
        known.check(fields, name, context, report)
    texts = _texts(params) if params and (is_lib or call_types()[call].has_templates) else ()
    for text in (*texts, *(_texts(args) if args else ())):
        placeholders.check(text, context.steps, report, is_on_error=context.is_on_error)


def _texts(node: SourceNode) -> Iterator[SourceNode]:
    """Yield every text inside, except in `output_schema`, which is not a template."""
    if isinstance(node.value, str):
        yield node
    children: list[tuple[Any, SourceNode]] = [*node.items(), *((None, one) for one in node.elements())]
    for key, child in children:
        if key != "output_schema":
            yield from _texts(child)
