"""Widgets that are too many to have a tool each: one tool reads any of them."""

import logging
from collections.abc import Mapping
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.core.errors import BadAsk
from rightseat.core.text import truncate
from rightseat.faces.openbb.asking import Query, Widget
from rightseat.faces.openbb.functions import Arguments, Function, Step, schema
from rightseat.faces.openbb.naming import Names
from rightseat.faces.openbb.widgets import MOST, READ, Read, offered

logger = logging.getLogger(__name__)

LISTED = 300
LINE = 90  # characters of what is said of each


def others(query: Query, names: Names) -> dict[str, Read]:
    """Those that have no tool of their own, by what the model calls them."""
    left = offered(query)[MOST:]
    if len(left) > LISTED:
        logger.warning("chat %s: %d widgets are too many to be offered", query.trace_id, len(left) - LISTED)
    called = Names()
    name = names.take("read_other_widget") if left else ""
    return {called.take(widget.widget_id): Read(name, widget) for widget in left[:LISTED]}


def other_function(known: Mapping[str, Read], total: int, *, legacy: bool = False) -> Function:
    def read_of(arguments: Arguments) -> Read:
        wanted = arguments.get("widget")
        if not isinstance(wanted, str) or wanted not in known:
            raise BadAsk(f"There is no widget {wanted!r}. Name one of those that are listed.")
        return known[wanted]

    def write(arguments: Arguments) -> dict[str, Any]:
        read = read_of(arguments)
        return read.write_legacy({}) if legacy else read.write(inputs(arguments))

    def announce(arguments: Arguments) -> Step:
        return read_of(arguments).announce(inputs(arguments))

    name = next(iter(known.values())).name
    parameters = schema(
        {
            "widget": {"type": "string", "enum": [*known]},
            "input_args": {"type": "object", "description": "Parameters that should differ from the present ones."},
        },
        ("widget",),
    )
    return Function(ToolOffer(name, describe(known, total), parameters), write, announce, READ)


def describe(known: Mapping[str, Read], total: int) -> str:
    lines = [f"- {key}: {line(read.widget)}" for key, read in known.items()]
    more = [f"{total - len(known)} more are not listed."] if total > len(known) else []
    return "\n".join(["Reads any of these widgets:", *lines, *more])


def line(widget: Widget) -> str:
    params = ", ".join(param.name for param in widget.params)
    return truncate(f"{widget.name} ({params})" if params else widget.name, LINE)


def inputs(arguments: Arguments) -> dict[str, Any]:
    given = arguments.get("input_args")
    return dict(given) if isinstance(given, dict) else {}


def key_of(known: Mapping[str, Read], read: Read) -> str:
    return next(key for key, one in known.items() if one is read)
