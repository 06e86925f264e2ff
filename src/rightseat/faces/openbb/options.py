"""What may be chosen for a widget's parameter, where only Workspace can tell: `get_params_options`."""

from collections.abc import Sequence
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.faces.openbb.functions import Arguments, Function, Step, schema
from rightseat.faces.openbb.widgets import OPTIONS, Read


def option_functions(reads: Sequence[Read]) -> list[Function]:
    """One tool for all widgets that have such a parameter; none where none has."""
    known = {read.name: read for read in reads if any(param.get_options for param in read.widget.params)}
    if not known:
        return []
    params = sorted({param.name for read in known.values() for param in read.widget.params if param.get_options})

    def write(arguments: Arguments) -> dict[str, Any]:
        widget = known[tool_of(arguments, known)].widget
        wanted = arguments.get("param")
        param = next((one for one in widget.params if one.get_options and one.name == wanted), None)
        param = param or next(one for one in widget.params if one.get_options)
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
        return Step("Looking up options", [{"widget": known[tool_of(arguments, known)].widget.name}])

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


def tool_of(arguments: Arguments, known: dict[str, Read]) -> str:
    wanted = arguments.get("widget")
    return wanted if isinstance(wanted, str) and wanted in known else next(iter(known))
