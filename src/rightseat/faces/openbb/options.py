"""What may be chosen for a widget's parameter, where only Workspace can tell: `get_params_options`."""

from collections.abc import Mapping, Sequence
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.core.errors import BadAsk
from rightseat.faces.openbb.asking import Param, Widget
from rightseat.faces.openbb.functions import Arguments, Function, Step, schema
from rightseat.faces.openbb.widgets import OPTIONS, Read


def option_functions(reads: Sequence[Read]) -> list[Function]:
    """One tool for all widgets that have such a parameter; none where none has."""
    known = {read.name: read for read in reads if any(param.get_options for param in read.widget.params)}
    if not known:
        return []
    params = sorted({param.name for read in known.values() for param in read.widget.params if param.get_options})

    def write(arguments: Arguments) -> dict[str, Any]:
        widget = widget_of(arguments, known)
        param = param_of(arguments, widget)
        given = arguments.get("input_args")
        needed = [name for name in param.raw.get("options_params") or () if isinstance(name, str)]
        inputs = {name: widget.current[name] for name in needed if name in widget.current}
        return {
            "param_options_queries": [
                {
                    "origin": widget.origin,
                    "id": widget.widget_id,
                    "param": param.name,
                    "options_endpoint_input_args": inputs | (given if isinstance(given, dict) else {}),
                }
            ]
        }

    def announce(arguments: Arguments) -> Step:
        return Step("Looking up options", [{"widget": widget_of(arguments, known).name}])

    offer = ToolOffer(
        OPTIONS,
        "Lists what may be chosen for a parameter of a widget, before the widget is read with it.",
        schema(
            {
                "widget": {"type": "string", "enum": [*known], "description": "The tool that reads the widget."},
                "param": {"type": "string", "enum": [*params]},
                "input_args": {"type": "object", "description": "Parameters that the choice depends on."},
            },
            ("widget", "param"),
        ),
    )
    return [Function(offer, write, announce)]


def widget_of(arguments: Arguments, known: Mapping[str, Read]) -> Widget:
    wanted = arguments.get("widget")
    if not isinstance(wanted, str) or wanted not in known:
        raise BadAsk(f"There is no widget {wanted!r} with options to look up. There are: {', '.join(known)}.")
    return known[wanted].widget


def param_of(arguments: Arguments, widget: Widget) -> Param:
    known = {param.name: param for param in widget.params if param.get_options}
    wanted = arguments.get("param")
    if not isinstance(wanted, str) or wanted not in known:
        raise BadAsk(f"{widget.name} has no options for {wanted!r}. It has some for: {', '.join(known)}.")
    return known[wanted]
