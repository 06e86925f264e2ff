"""What the model may do to the user's dashboard. Workspace does it; here the arguments are checked."""

from collections.abc import Mapping, Sequence
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.core.errors import BadAsk, Unreadable
from rightseat.core.values import JsonValue
from rightseat.data.sanitizer import ALLOWED, sanitize_small
from rightseat.faces.openbb import charts
from rightseat.faces.openbb.asking import Widget
from rightseat.faces.openbb.functions import Arguments, Function, schema
from rightseat.faces.openbb.rows import given
from rightseat.faces.openbb.session import Session

OPTION = "generative-ui"
MOST_LISTED = 60
TABS = ("create", "add_tabs", "remove_tabs", "rename_tabs")
MADE = ("chart", "table", "note", "html")

CHART = {
    "chartType": "type",
    "xKey": "x_key",
    "yKey": "y_keys",
    "angleKey": "angle_key",
    "calloutLabelKey": "callout_label_key",
}

OBJECT: JsonValue = {"type": "object"}
STRING: JsonValue = {"type": "string"}


def functions(session: Session) -> Sequence[Function]:
    if session.legacy or not session.query.is_on(OPTION):
        return []
    offered: list[Function] = [making(), tabbing()]
    if session.query.widgets:
        offered += (adding(session.query.widgets), updating(session.query.widgets))
    return offered


def adding(widgets: Sequence[Widget]) -> Function:
    known = {(widget.origin, widget.widget_id): widget for widget in widgets}

    def write(arguments: Arguments) -> dict[str, Any]:
        sources = []
        for source in listed(arguments, "data_sources"):
            widget = known.get((str(source.get("origin")), str(source.get("id"))))
            if widget is None:
                raise BadAsk(f"There is no widget {source.get('id')!r} of origin {source.get('origin')!r}.")
            sources.append({"origin": widget.origin, "id": widget.widget_id, "input_args": checked(widget, source)})
        return {"data_sources": sources}

    item = {"origin": STRING, "id": STRING, "input_args": OBJECT}
    listing = [f"- origin {widget.origin!r}, id {widget.widget_id!r}: {widget.name}" for widget in widgets]
    return Function(
        ToolOffer(
            "add_widget_to_dashboard",
            "Put widgets onto the user's dashboard, with other arguments than the present ones where input_args has "
            f"some. Only when the user asks for it. The widgets are:\n{shown(listing)}",
            schema({"data_sources": many(item, ("origin", "id"))}, ("data_sources",)),
        ),
        write,
        lambda arguments: "Adding to the dashboard",
    )


def updating(widgets: Sequence[Widget]) -> Function:
    known = {widget.uuid: widget for widget in widgets}

    def write(arguments: Arguments) -> dict[str, Any]:
        sources = []
        for source in listed(arguments, "data_sources"):
            widget = known.get(str(source.get("widget_uuid")))
            if widget is None:
                raise BadAsk(f"There is no widget {source.get('widget_uuid')!r} on the dashboard.")
            sources.append({"widget_uuid": widget.uuid, "input_args": checked(widget, source)})
        return {"data_sources": sources}

    listing = [f"- {widget.uuid}: {widget.name}" for widget in widgets]
    return Function(
        ToolOffer(
            "update_widget_in_dashboard",
            "Change the arguments of widgets on the user's dashboard. Only when the user asks for it. "
            f"The widgets by uuid:\n{shown(listing)}",
            schema(
                {"data_sources": many({"widget_uuid": STRING, "input_args": OBJECT}, ("widget_uuid", "input_args"))},
                ("data_sources",),
            ),
        ),
        write,
        lambda arguments: "Changing the dashboard",
    )


def making() -> Function:
    return Function(
        ToolOffer(
            "add_generative_widget",
            "Put a new widget that you made onto the user's dashboard: a note (Markdown), html, a table or a chart. "
            "Only when the user asks for it. For a chart, chart_params has chartType with xKey and yKey (a list), or "
            "with angleKey and calloutLabelKey for a pie or donut.",
            schema(
                {
                    "widget_type": {"type": "string", "enum": [*MADE]},
                    "name": STRING,
                    "description": STRING,
                    "data": {"description": "note, html: a text. table, chart: a list of rows, each an object."},
                    "chart_params": OBJECT,
                },
                ("widget_type", "name", "data"),
            ),
        ),
        write_made,
        lambda arguments: f"Adding {arguments.get('name')} to the dashboard",
    )


def write_made(arguments: Arguments) -> dict[str, Any]:
    kind, name, data = arguments.get("widget_type"), arguments.get("name"), arguments.get("data")
    if kind not in MADE:
        raise BadAsk(f"widget_type must be one of {', '.join(MADE)}, not {kind!r}.")
    if not isinstance(name, str) or not name.strip():
        raise BadAsk("name must be a text.")
    written: dict[str, Any] = {"widget_type": kind, "data": data, "name": name.strip()}
    if kind in ("note", "html"):
        if not isinstance(data, str) or not data.strip():
            raise BadAsk(f"data of a {kind} must be a text.")
        if kind == "html":
            written["data"] = clean_html(data)
    else:
        written["data"] = given(data)
    if isinstance(arguments.get("description"), str):
        written["description"] = arguments["description"]
    if kind == "chart":
        written["chart_params"] = read_chart(arguments.get("chart_params"), written["data"])
    return written


def clean_html(html: str) -> str:
    """Refused where something would be removed: Workspace gives the result of the call, which could not name it."""
    try:
        cleaned = sanitize_small(html)
    except Unreadable as error:
        raise BadAsk(error.message) from None
    if cleaned.removed:
        raise BadAsk(f"Leave out of the HTML: {', '.join(cleaned.removed)}. {ALLOWED}")
    return cleaned.html


def read_chart(parameters: Any, rows: list[dict[str, JsonValue]]) -> dict[str, JsonValue]:
    if not isinstance(parameters, dict):
        raise BadAsk("A chart needs chart_params, an object with chartType.")
    arguments = {name: parameters.get(key) for key, name in CHART.items()}
    return charts.read_parameters(charts.read_type(arguments), arguments, rows)[0]


def tabbing() -> Function:
    return Function(
        ToolOffer(
            "manage_navigation_bar",
            "Make, add, remove or rename the tabs of the user's dashboard. Only when the user asks for it. "
            "rename_tabs takes rename_map, old names to new ones; all others take tabs.",
            schema(
                {
                    "operation": {"type": "string", "enum": [*TABS]},
                    "tabs": many({"name": STRING}, ("name",)),
                    "rename_map": OBJECT,
                },
                ("operation",),
            ),
        ),
        write_tabs,
        lambda arguments: "Changing the tabs of the dashboard",
    )


def write_tabs(arguments: Arguments) -> dict[str, Any]:
    operation, names = arguments.get("operation"), arguments.get("rename_map")
    if operation not in TABS:
        raise BadAsk(f"operation must be one of {', '.join(TABS)}, not {operation!r}.")
    if operation == "rename_tabs":
        if (
            not isinstance(names, dict)
            or not names
            or not all(isinstance(name, str) and name for name in names.values())
        ):
            raise BadAsk("rename_tabs needs rename_map: an object of old names and new names.")
        return {"operation": operation, "rename_map": names}
    tabs = listed(arguments, "tabs")
    if not all(isinstance(tab.get("name"), str) and tab["name"].strip() for tab in tabs):
        raise BadAsk("Each of tabs needs a name.")
    return {"operation": operation, "tabs": [{"name": tab["name"].strip()} for tab in tabs]}


def checked(widget: Widget, source: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments for a widget, if they are its own."""
    arguments = source.get("input_args") or {}
    if not isinstance(arguments, dict):
        raise BadAsk("input_args must be an object.")
    known = [param.name for param in widget.params]
    if unknown := sorted(arguments.keys() - set(known)):
        raise BadAsk(f"{widget.name} has no argument {', '.join(unknown)}. It has: {', '.join(known) or 'none'}.")
    return arguments


def listed(arguments: Arguments, key: str) -> list[Mapping[str, Any]]:
    values = arguments.get(key)
    if not isinstance(values, list) or not values or not all(isinstance(value, dict) for value in values):
        raise BadAsk(f"{key} must be a list of at least one object.")
    return values


def shown(listing: list[str]) -> str:
    more = len(listing) - MOST_LISTED
    return "\n".join(listing[:MOST_LISTED]) + (f"\n({more} more, as the other tools name them)" if more > 0 else "")


def many(properties: Mapping[str, JsonValue], required: tuple[str, ...]) -> JsonValue:
    return {"type": "array", "items": schema(properties, required)}
