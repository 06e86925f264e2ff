"""A tool that lists the options of widget parameters that only Workspace knows (`get_params_options`)."""

from collections.abc import Mapping, Sequence
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.core.errors import BadRequest
from rightseat.faces.openbb.request.types import Param, Widget
from rightseat.faces.openbb.tools.functions import Arguments, StatusStep, WorkspaceFunction, schema
from rightseat.faces.openbb.tools.widgets import GET_OPTIONS, WidgetTool


def option_functions(widget_tools: Sequence[WidgetTool]) -> list[WorkspaceFunction]:
    """One tool for all widgets with such a parameter; no tool if there is none."""
    tools = {tool.name: tool for tool in widget_tools if any(param.get_options for param in tool.widget.params)}
    if not tools:
        return []
    params = sorted({param.name for tool in tools.values() for param in tool.widget.params if param.get_options})

    def write(arguments: Arguments) -> dict[str, Any]:
        widget = widget_of(arguments, tools)
        param = param_of(arguments, widget)
        input_args = arguments.get("input_args")
        needed = [name for name in param.raw.get("options_params") or () if isinstance(name, str)]
        inputs = {name: widget.current[name] for name in needed if name in widget.current}
        return {
            "param_options_queries": [
                {
                    "origin": widget.origin,
                    "id": widget.widget_id,
                    "param": param.name,
                    "options_endpoint_input_args": inputs | (input_args if isinstance(input_args, dict) else {}),
                }
            ]
        }

    def announce(arguments: Arguments) -> StatusStep:
        return StatusStep("Looking up options", [{"widget": widget_of(arguments, tools).name}])

    offer = ToolOffer(
        GET_OPTIONS,
        "Lists what may be chosen for a parameter of a widget, before the widget is read with it.",
        schema(
            {
                "widget": {"type": "string", "enum": [*tools], "description": "The tool that reads the widget."},
                "param": {"type": "string", "enum": [*params]},
                "input_args": {"type": "object", "description": "Parameters that the choice depends on."},
            },
            ("widget", "param"),
        ),
    )
    return [WorkspaceFunction(offer, write, announce)]


def widget_of(arguments: Arguments, tools: Mapping[str, WidgetTool]) -> Widget:
    name = arguments.get("widget")
    if not isinstance(name, str) or name not in tools:
        raise BadRequest(f"There is no widget {name!r} with options to look up. There are: {', '.join(tools)}.")
    return tools[name].widget


def param_of(arguments: Arguments, widget: Widget) -> Param:
    tools = {param.name: param for param in widget.params if param.get_options}
    name = arguments.get("param")
    if not isinstance(name, str) or name not in tools:
        raise BadRequest(f"{widget.name} has no options for {name!r}. It has some for: {', '.join(tools)}.")
    return tools[name]
