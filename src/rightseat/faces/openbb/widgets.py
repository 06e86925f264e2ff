"""Widgets as tools: one for each, with the widget's own parameters.

What the model leaves out keeps the value that it has on the dashboard. Reads that a model asks for together become one
`get_widget_data` (see `calls`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.core.errors import BadAsk
from rightseat.core.text import truncate
from rightseat.core.values import JsonValue
from rightseat.faces.openbb.asking import Param, Query, Widget
from rightseat.faces.openbb.functions import Arguments, Function, Step, schema
from rightseat.faces.openbb.naming import Names

READ = "get_widget_data"
OPTIONS = "get_params_options"
MOST = 48
"""So many widgets have a tool each; those behind them are read through one tool for all (see `others`)."""

TYPES: Mapping[str, str] = {"number": "number", "integer": "integer", "boolean": "boolean"}
SAID = 400  # characters of a description
CHOICES = 50  # options that are listed; of more, the first


def offered(query: Query) -> list[Widget]:
    """Those that the user let us see: widgets from anywhere only with the user's own switch."""
    return [widget for widget in query.widgets if widget.group != "extra" or query.is_on("widget-global-search")]


@dataclass(frozen=True, slots=True)
class Read:
    """A tool that reads one widget."""

    name: str
    widget: Widget

    def function(self, legacy: bool) -> Function:
        offer = ToolOffer(self.name, describe(self.widget), schema({} if legacy else properties(self.widget)))
        write = self.write_legacy if legacy else self.write
        return Function(offer, write, self.announce, READ)

    def write(self, arguments: Arguments) -> dict[str, Any]:
        return {"data_sources": [self.source(arguments)]}

    def write_legacy(self, arguments: Arguments) -> dict[str, Any]:
        return {"widget_uuid": self.widget.uuid}

    def source(self, arguments: Arguments) -> dict[str, Any]:
        widget = self.widget
        known = properties(widget)
        if unknown := sorted(arguments.keys() - known.keys()):
            raise BadAsk(f"{widget.name} has no argument {', '.join(unknown)}. It has: {', '.join(known) or 'none'}.")
        given = {param.name: arguments[param.name] for param in widget.params if arguments.get(param.name) is not None}
        found = {"widget_uuid": widget.uuid, "origin": widget.origin, "id": widget.widget_id}
        sql = arguments.get(sql_name(widget)) if table_of(widget) else None
        if isinstance(sql, str) and sql.strip():
            return found | {"input_args": given, "ssm_request": rows_of(sql)}
        return found | {"input_args": widget.current | given}

    def announce(self, arguments: Arguments) -> Step:
        return Step("Reading widget", [{"widget": self.widget.name, **self.widget.current, **arguments}])


def reads(query: Query, names: Names) -> list[Read]:
    """What the user picked is first, so it is what lies elsewhere that shares a tool."""
    return [Read(names.take(f"read_{widget.widget_id}"), widget) for widget in offered(query)[:MOST]]


def describe(widget: Widget) -> str:
    facts = [f'Reads the widget "{widget.name}"' + (f" of {widget.origin}." if widget.origin else ".")]
    if widget.description and widget.description != widget.name:
        facts.append(truncate(widget.description, SAID))
    if widget.columns:
        facts.append(f"Columns: {truncate(', '.join(widget.columns), SAID)}.")
    if table := table_of(widget):
        facts.append(describe_table(table))
    current = widget.current or {} if widget.params else widget.metadata
    shown = ", ".join(f"{name}={value}" for name, value in current.items() if isinstance(value, str | int | float))
    if shown and (widget.params or widget.group == "primary"):
        facts.append(f"On the dashboard: {truncate(shown, SAID)}.")
    if widget.group == "primary":
        facts.append("The user picked it for this question.")
    return " ".join(facts)


def properties(widget: Widget) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {param.name: property_of(param) for param in widget.params}
    if table_of(widget):
        found[sql_name(widget)] = {
            "type": "string",
            "description": "One SELECT over the widget's table, run where its data is. Better than reading all rows.",
        }
    return found


def property_of(param: Param) -> dict[str, JsonValue]:
    kind: dict[str, JsonValue] = {"type": TYPES.get(param.type, "string")}
    choices = choices_of(param)
    if choices and not param.get_options:
        kind["enum"] = [*choices]
    words = [truncate(param.description, SAID)] if param.description else []
    if param.type == "date":
        words.append("A date, as YYYY-MM-DD.")
    if param.get_options:
        words.append(f"Ask {OPTIONS} for what may be chosen.")
    found: dict[str, JsonValue] = {"type": "array", "items": kind} if param.multi_select else kind
    if words:
        found["description"] = " ".join(words)
    if param.value is not None and fits(param.value, found):
        found["default"] = param.value
    return found


def choices_of(param: Param) -> list[JsonValue]:
    """The values of a closed list; a list that is too long to be shown is open."""
    values = [option.get("value") if isinstance(option, dict) else option for option in param.options]
    fit = [value for value in values if isinstance(value, str | int | float | bool)]
    if len(fit) != len(values) or len(fit) > CHOICES:
        return []
    kind = TYPES.get(param.type, "string")
    return [*fit] if kind != "string" or all(isinstance(value, str) for value in fit) else []


def fits(value: Any, property: Mapping[str, JsonValue]) -> bool:
    """A default that the schema itself would refuse is refused by strict servers, with all the rest."""
    choices = property.get("enum")
    return not isinstance(choices, list) or value in choices


# Widgets whose rows stay where they are: SQL is sent to them


def table_of(widget: Widget) -> Mapping[str, Any] | None:
    found = widget.metadata.get("schema")
    return found if isinstance(found, dict) and isinstance(found.get("tableName"), str) else None


def sql_name(widget: Widget) -> str:
    return "sql_query" if any(param.name == "query" for param in widget.params) else "query"


def describe_table(table: Mapping[str, Any]) -> str:
    columns = [one for one in table.get("columns") or () if isinstance(one, dict)]
    listed = ", ".join(f"{one.get('name')} {one.get('type', '')}".strip() for one in columns)
    return f"Its table is {table['tableName']} ({truncate(listed, SAID)})."


def rows_of(sql: str) -> dict[str, Any]:
    """A request for rows as the grid of Workspace makes it, with the query beside it."""
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
