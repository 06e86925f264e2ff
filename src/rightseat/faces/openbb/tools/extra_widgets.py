"""One tool that reads any of the widgets beyond the limit of one tool per widget."""

import logging
from collections.abc import Mapping
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.core.errors import BadRequest
from rightseat.faces.openbb.request.types import Query, Widget
from rightseat.faces.openbb.tools.functions import Arguments, StatusStep, WorkspaceFunction, schema
from rightseat.faces.openbb.tools.tool_names import UniqueNames
from rightseat.faces.openbb.tools.widgets import GET_WIDGET_DATA, MAX_WIDGET_TOOLS, WidgetTool, visible_widgets
from rightseat.text import truncate

logger = logging.getLogger(__name__)

MAX_EXTRA_WIDGETS = 300
MAX_LINE_CHARS = 90  # of each widget


def extra_widgets(query: Query, names: UniqueNames) -> dict[str, WidgetTool]:
    """The widgets without their own tool, by their names for the model."""
    remaining = visible_widgets(query)[MAX_WIDGET_TOOLS:]
    if len(remaining) > MAX_EXTRA_WIDGETS:
        logger.warning(
            "chat %s: %d more widgets are not offered",
            query.trace_id,
            len(remaining) - MAX_EXTRA_WIDGETS,
        )
    labels = UniqueNames()
    name = names.reserve("read_other_widget") if remaining else ""
    return {labels.reserve(widget.widget_id): WidgetTool(name, widget) for widget in remaining[:MAX_EXTRA_WIDGETS]}


def extra_widget_function(tools: Mapping[str, WidgetTool], total: int, *, is_legacy: bool = False) -> WorkspaceFunction:
    def find_tool(arguments: Arguments) -> WidgetTool:
        wanted = arguments.get("widget")
        if not isinstance(wanted, str) or wanted not in tools:
            raise BadRequest(f"There is no widget {wanted!r}. Name one of those that are listed.")
        return tools[wanted]

    def write(arguments: Arguments) -> dict[str, Any]:
        tool = find_tool(arguments)
        return tool.write_legacy({}) if is_legacy else tool.write(input_args_of(arguments))

    def announce(arguments: Arguments) -> StatusStep:
        return find_tool(arguments).announce(input_args_of(arguments))

    name = next(iter(tools.values())).name
    parameters = schema(
        {
            "widget": {"type": "string", "enum": [*tools]},
            "input_args": {"type": "object", "description": "Parameters that should differ from the present ones."},
        },
        ("widget",),
    )
    return WorkspaceFunction(ToolOffer(name, describe(tools, total), parameters), write, announce, GET_WIDGET_DATA)


def describe(tools: Mapping[str, WidgetTool], total: int) -> str:
    lines = [f"- {key}: {summarize(tool.widget)}" for key, tool in tools.items()]
    more = [f"{total - len(tools)} more are not listed."] if total > len(tools) else []
    return "\n".join(["Reads any of these widgets:", *lines, *more])


def summarize(widget: Widget) -> str:
    params = ", ".join(param.name for param in widget.params)
    return truncate(f"{widget.name} ({params})" if params else widget.name, MAX_LINE_CHARS)


def input_args_of(arguments: Arguments) -> dict[str, Any]:
    given = arguments.get("input_args")
    return dict(given) if isinstance(given, dict) else {}


def key_of(tools: Mapping[str, WidgetTool], tool: WidgetTool) -> str:
    return next(key for key, one in tools.items() if one is tool)
