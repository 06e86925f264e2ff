"""Functions that change the user's dashboard. The arguments are checked here; Workspace runs them."""

from collections.abc import Mapping, Sequence
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.core.errors import BadRequest, UnreadableFile
from rightseat.core.types import JsonValue
from rightseat.data.sanitizer import ALLOWED, sanitize_small
from rightseat.faces.openbb.request.types import Widget
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools import charts
from rightseat.faces.openbb.tools.functions import Arguments, WorkspaceFunction, schema
from rightseat.faces.openbb.tools.rows import read_rows

OPTION = "generative-ui"
MAX_LISTED = 60
TAB_OPERATIONS = ("create", "add_tabs", "remove_tabs", "rename_tabs")
WIDGET_TYPES = ("chart", "table", "note", "html")

CHART_KEYS = {
    "chartType": "type",
    "xKey": "x_key",
    "yKey": "y_keys",
    "angleKey": "angle_key",
    "calloutLabelKey": "callout_label_key",
}

OBJECT: JsonValue = {"type": "object"}
STRING: JsonValue = {"type": "string"}


def functions(session: Session) -> Sequence[WorkspaceFunction]:
    if session.is_legacy or not session.query.is_on(OPTION):
        return []
    offered: list[WorkspaceFunction] = [add_generated_widget(), manage_tabs()]
    if session.query.widgets:
        offered += (add_widgets(session.query.widgets), update_widgets(session.query.widgets))
    return offered


def add_widgets(widgets: Sequence[Widget]) -> WorkspaceFunction:
    known = {(widget.origin, widget.widget_id): widget for widget in widgets}

    def write(arguments: Arguments) -> dict[str, Any]:
        sources = []
        for source in read_objects(arguments, "data_sources"):
            widget = known.get((str(source.get("origin")), str(source.get("id"))))
            if widget is None:
                raise BadRequest(f"There is no widget {source.get('id')!r} of origin {source.get('origin')!r}.")
            sources.append(
                {"origin": widget.origin, "id": widget.widget_id, "input_args": read_input_args(widget, source)}
            )
        return {"data_sources": sources}

    item = {"origin": STRING, "id": STRING, "input_args": OBJECT}
    listing = [f"- origin {widget.origin!r}, id {widget.widget_id!r}: {widget.name}" for widget in widgets]
    return WorkspaceFunction(
        ToolOffer(
            "add_widget_to_dashboard",
            "Put widgets onto the user's dashboard, with other arguments than the present ones where input_args has "
            f"some. Only when the user asks for it. The widgets are:\n{join_listing(listing)}",
            schema({"data_sources": array_of(item, ("origin", "id"))}, ("data_sources",)),
        ),
        write,
        lambda arguments: "Adding to the dashboard",
    )


def update_widgets(widgets: Sequence[Widget]) -> WorkspaceFunction:
    known = {widget.uuid: widget for widget in widgets}

    def write(arguments: Arguments) -> dict[str, Any]:
        sources = []
        for source in read_objects(arguments, "data_sources"):
            widget = known.get(str(source.get("widget_uuid")))
            if widget is None:
                raise BadRequest(f"There is no widget {source.get('widget_uuid')!r} on the dashboard.")
            sources.append({"widget_uuid": widget.uuid, "input_args": read_input_args(widget, source)})
        return {"data_sources": sources}

    listing = [f"- {widget.uuid}: {widget.name}" for widget in widgets]
    return WorkspaceFunction(
        ToolOffer(
            "update_widget_in_dashboard",
            "Change the arguments of widgets on the user's dashboard. Only when the user asks for it. "
            f"The widgets by uuid:\n{join_listing(listing)}",
            schema(
                {
                    "data_sources": array_of(
                        {"widget_uuid": STRING, "input_args": OBJECT}, ("widget_uuid", "input_args")
                    )
                },
                ("data_sources",),
            ),
        ),
        write,
        lambda arguments: "Changing the dashboard",
    )


def add_generated_widget() -> WorkspaceFunction:
    return WorkspaceFunction(
        ToolOffer(
            "add_generative_widget",
            "Put a new widget that you made onto the user's dashboard: a note (Markdown), html, a table or a chart. "
            "Only when the user asks for it. For a chart, chart_params has chartType with xKey and yKey (a list), or "
            "with angleKey and calloutLabelKey for a pie or donut.",
            schema(
                {
                    "widget_type": {"type": "string", "enum": [*WIDGET_TYPES]},
                    "name": STRING,
                    "description": STRING,
                    "data": {"description": "note, html: a text. table, chart: a list of rows, each an object."},
                    "chart_params": OBJECT,
                },
                ("widget_type", "name", "data"),
            ),
        ),
        write_generated_widget,
        lambda arguments: f"Adding {arguments.get('name')} to the dashboard",
    )


def write_generated_widget(arguments: Arguments) -> dict[str, Any]:
    kind, name, data = arguments.get("widget_type"), arguments.get("name"), arguments.get("data")
    if kind not in WIDGET_TYPES:
        raise BadRequest(f"widget_type must be one of {', '.join(WIDGET_TYPES)}, not {kind!r}.")
    if not isinstance(name, str) or not name.strip():
        raise BadRequest("name must be a text.")
    widget: dict[str, Any] = {"widget_type": kind, "data": data, "name": name.strip()}
    if kind in ("note", "html"):
        if not isinstance(data, str) or not data.strip():
            raise BadRequest(f"data of a {kind} must be a text.")
        if kind == "html":
            widget["data"] = clean_html(data)
    else:
        widget["data"] = read_rows(data)
    if isinstance(arguments.get("description"), str):
        widget["description"] = arguments["description"]
    if kind == "chart":
        widget["chart_params"] = read_chart(arguments.get("chart_params"), widget["data"])
    return widget


def clean_html(html: str) -> str:
    """Reject HTML that would need cleaning: the result comes from Workspace and could not report it."""
    try:
        cleaned = sanitize_small(html)
    except UnreadableFile as error:
        raise BadRequest(error.message) from None
    if cleaned.removed:
        raise BadRequest(f"Leave out of the HTML: {', '.join(cleaned.removed)}. {ALLOWED}")
    return cleaned.html


def read_chart(parameters: Any, rows: list[dict[str, JsonValue]]) -> dict[str, JsonValue]:
    if not isinstance(parameters, dict):
        raise BadRequest("A chart needs chart_params, an object with chartType.")
    arguments = {name: parameters.get(key) for key, name in CHART_KEYS.items()}
    return charts.read_parameters(charts.read_type(arguments), arguments, rows)[0]


def manage_tabs() -> WorkspaceFunction:
    return WorkspaceFunction(
        ToolOffer(
            "manage_navigation_bar",
            "Make, add, remove or rename the tabs of the user's dashboard. Only when the user asks for it. "
            "rename_tabs takes rename_map, old names to new ones; all others take tabs.",
            schema(
                {
                    "operation": {"type": "string", "enum": [*TAB_OPERATIONS]},
                    "tabs": array_of({"name": STRING}, ("name",)),
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
    if operation not in TAB_OPERATIONS:
        raise BadRequest(f"operation must be one of {', '.join(TAB_OPERATIONS)}, not {operation!r}.")
    if operation == "rename_tabs":
        if (
            not isinstance(names, dict)
            or not names
            or not all(isinstance(name, str) and name for name in names.values())
        ):
            raise BadRequest("rename_tabs needs rename_map: an object of old names and new names.")
        return {"operation": operation, "rename_map": names}
    tabs = read_objects(arguments, "tabs")
    if not all(isinstance(tab.get("name"), str) and tab["name"].strip() for tab in tabs):
        raise BadRequest("Each of tabs needs a name.")
    return {"operation": operation, "tabs": [{"name": tab["name"].strip()} for tab in tabs]}


def read_input_args(widget: Widget, source: Mapping[str, Any]) -> dict[str, Any]:
    """Return `input_args` if the widget has all of them."""
    arguments = source.get("input_args") or {}
    if not isinstance(arguments, dict):
        raise BadRequest("input_args must be an object.")
    known = [param.name for param in widget.params]
    if unknown := sorted(arguments.keys() - set(known)):
        raise BadRequest(f"{widget.name} has no argument {', '.join(unknown)}. It has: {', '.join(known) or 'none'}.")
    return arguments


def read_objects(arguments: Arguments, key: str) -> list[Mapping[str, Any]]:
    values = arguments.get(key)
    if not isinstance(values, list) or not values or not all(isinstance(value, dict) for value in values):
        raise BadRequest(f"{key} must be a list of at least one object.")
    return values


def join_listing(listing: list[str]) -> str:
    more = len(listing) - MAX_LISTED
    return "\n".join(listing[:MAX_LISTED]) + (f"\n({more} more; the other tools list them)" if more > 0 else "")


def array_of(properties: Mapping[str, JsonValue], required: tuple[str, ...]) -> JsonValue:
    return {"type": "array", "items": schema(properties, required)}
