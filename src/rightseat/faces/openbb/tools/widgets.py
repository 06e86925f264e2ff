"""Widgets as tools, one per widget, with the widget's own parameters.

Omitted arguments keep their values on the dashboard. Reads of one model response are sent as one `get_widget_data` (see
`catalog.plan_requests`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.core.errors import BadRequest
from rightseat.core.types import JsonValue
from rightseat.faces.openbb.request.types import Param, Query, Widget
from rightseat.faces.openbb.tools.functions import Arguments, StatusStep, WorkspaceFunction, schema
from rightseat.faces.openbb.tools.tool_names import UniqueNames
from rightseat.text import truncate

GET_WIDGET_DATA = "get_widget_data"
GET_OPTIONS = "get_params_options"
MAX_WIDGET_TOOLS = 48
"""Widgets with their own tool; the others share one tool (see `extra_widgets`)."""

JSON_TYPES: Mapping[str, str] = {"number": "number", "integer": "integer", "boolean": "boolean"}
MAX_DESCRIPTION_CHARS = 400
MAX_CHOICES = 50  # a parameter with more options is open


def visible_widgets(query: Query) -> list[Widget]:
    """Widgets that the model may see: those elsewhere in Workspace only if the user enabled it."""
    return [widget for widget in query.widgets if widget.group != "extra" or query.is_on("widget-global-search")]


@dataclass(frozen=True, slots=True)
class WidgetTool:
    """A tool that reads one widget."""

    name: str
    widget: Widget

    def function(self, is_legacy: bool) -> WorkspaceFunction:
        offer = ToolOffer(self.name, describe(self.widget), schema({} if is_legacy else properties(self.widget)))
        write = self.write_legacy if is_legacy else self.write
        return WorkspaceFunction(offer, write, self.announce, GET_WIDGET_DATA)

    def write(self, arguments: Arguments) -> dict[str, Any]:
        return {"data_sources": [self.source(arguments)]}

    def write_legacy(self, arguments: Arguments) -> dict[str, Any]:
        return {"widget_uuid": self.widget.uuid}

    def source(self, arguments: Arguments) -> dict[str, Any]:
        widget = self.widget
        known = properties(widget)
        if unknown := sorted(arguments.keys() - known.keys()):
            raise BadRequest(
                f"{widget.name} has no argument {', '.join(unknown)}. It has: {', '.join(known) or 'none'}."
            )
        changed = {
            param.name: arguments[param.name] for param in widget.params if arguments.get(param.name) is not None
        }
        found = {"widget_uuid": widget.uuid, "origin": widget.origin, "id": widget.widget_id}
        sql = arguments.get(sql_argument_of(widget)) if sql_table_of(widget) else None
        if isinstance(sql, str) and sql.strip():
            return found | {"input_args": changed, "ssm_request": write_row_request(sql)}
        return found | {"input_args": widget.current | changed}

    def announce(self, arguments: Arguments) -> StatusStep:
        return StatusStep("Reading widget", [{"widget": self.widget.name, **self.widget.current, **arguments}])


def widget_tools(query: Query, names: UniqueNames) -> list[WidgetTool]:
    """Selected widgets come first, so that others share a tool."""
    return [
        WidgetTool(names.reserve(f"read_{widget.widget_id}"), widget)
        for widget in visible_widgets(query)[:MAX_WIDGET_TOOLS]
    ]


def describe(widget: Widget) -> str:
    sentences = [f'Reads the widget "{widget.name}"' + (f" of {widget.origin}." if widget.origin else ".")]
    if widget.description and widget.description != widget.name:
        sentences.append(end_sentence(truncate(widget.description, MAX_DESCRIPTION_CHARS)))
    if widget.columns:
        sentences.append(f"Columns: {truncate(', '.join(widget.columns), MAX_DESCRIPTION_CHARS)}.")
    if table := sql_table_of(widget):
        sentences.append(describe_table(table))
    current = widget.current or {} if widget.params else widget.metadata
    shown = ", ".join(f"{name}={value}" for name, value in current.items() if isinstance(value, str | int | float))
    if shown and (widget.params or widget.group in ("primary", "dashboard")):
        sentences.append(f"On the dashboard: {truncate(shown, MAX_DESCRIPTION_CHARS)}.")
    elif widget.group == "dashboard":
        sentences.append("It is on the dashboard.")
    if widget.group == "primary":
        sentences.append("The user picked it for this question.")
    return " ".join(sentences)


def end_sentence(text: str) -> str:
    """Widgets come with and without a full stop, and another sentence follows."""
    return text if text.endswith((".", "!", "?", "…", "。")) else f"{text}."


def properties(widget: Widget) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {param.name: property_of(param) for param in widget.params}
    if sql_table_of(widget):
        found[sql_argument_of(widget)] = {
            "type": "string",
            "description": "One SELECT over the widget's table, run where its data is. Better than reading all rows.",
        }
    return found


def property_of(param: Param) -> dict[str, JsonValue]:
    kind: dict[str, JsonValue] = {"type": JSON_TYPES.get(param.type, "string")}
    choices = choices_of(param)
    if choices and not param.get_options:
        kind["enum"] = [*choices]
    sentences = [truncate(param.description, MAX_DESCRIPTION_CHARS)] if param.description else []
    if param.type == "date":
        sentences.append("A date, as YYYY-MM-DD.")
    if param.get_options:
        sentences.append(f"Ask {GET_OPTIONS} for what may be chosen.")
    found: dict[str, JsonValue] = {"type": "array", "items": kind} if param.multi_select else kind
    if sentences:
        found["description"] = " ".join(sentences)
    if param.value is not None and is_valid_default(param.value, found):
        found["default"] = param.value
    return found


def choices_of(param: Param) -> list[JsonValue]:
    """The values of a closed list; empty if the list is too long."""
    values = [option.get("value") if isinstance(option, dict) else option for option in param.options]
    fit = [value for value in values if isinstance(value, str | int | float | bool)]
    if len(fit) != len(values) or len(fit) > MAX_CHOICES:
        return []
    kind = JSON_TYPES.get(param.type, "string")
    return [*fit] if kind != "string" or all(isinstance(value, str) for value in fit) else []


def is_valid_default(value: Any, property: Mapping[str, JsonValue]) -> bool:
    """Whether the default matches the schema: strict providers reject the whole request otherwise."""
    choices = property.get("enum")
    return not isinstance(choices, list) or value in choices


# Widgets that run SQL themselves


def sql_table_of(widget: Widget) -> Mapping[str, Any] | None:
    found = widget.metadata.get("schema")
    return found if isinstance(found, dict) and isinstance(found.get("tableName"), str) else None


def sql_argument_of(widget: Widget) -> str:
    return "sql_query" if any(param.name == "query" for param in widget.params) else "query"


def describe_table(table: Mapping[str, Any]) -> str:
    columns = [one for one in table.get("columns") or () if isinstance(one, dict)]
    listed = ", ".join(f"{one.get('name')} {one.get('type', '')}".strip() for one in columns)
    return f"Its table is {table['tableName']} ({truncate(listed, MAX_DESCRIPTION_CHARS)})."


def write_row_request(sql: str) -> dict[str, Any]:
    """A row request as the grid of Workspace sends it, with the SQL query."""
    return {
        "startRow": 0,
        "endRow": 10000,
        "rowGroupCols": [],
        "valueCols": [],
        "pivotCols": [],
        "pivotMode": False,
        "groupKeys": [],
        "filterModel": {},
        "sortModel": [],
        "query": sql,
    }
