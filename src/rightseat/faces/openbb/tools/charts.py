"""Reads and checks the parameters of charts that Workspace draws."""

from collections.abc import Mapping, Sequence

from rightseat.core.errors import BadRequest
from rightseat.core.types import JsonValue
from rightseat.faces.openbb.tools.rows import Row

AXIS_TYPES = ("line", "bar", "scatter")
PIE_TYPES = ("pie", "donut")

TYPE_SCHEMA: JsonValue = {"type": "string", "enum": [*AXIS_TYPES, *PIE_TYPES]}
COLUMN_ARGUMENTS: dict[str, JsonValue] = {
    "x_key": {"type": "string", "description": "line, bar, scatter: the column of the x axis."},
    "y_keys": {
        "type": "array",
        "items": {"type": "string"},
        "description": "line, bar, scatter: the columns of numbers to draw.",
    },
    "angle_key": {"type": "string", "description": "pie, donut: the column with the size of each slice."},
    "callout_label_key": {"type": "string", "description": "pie, donut: the column with the name of each slice."},
}


def read_type(arguments: Mapping[str, JsonValue]) -> str:
    kind = arguments.get("type")
    if kind not in (*AXIS_TYPES, *PIE_TYPES):
        raise BadRequest(f"type must be one of {', '.join((*AXIS_TYPES, *PIE_TYPES))}, not {kind!r}.")
    return str(kind)


def read_parameters(
    kind: str, arguments: Mapping[str, JsonValue], rows: Sequence[Row]
) -> tuple[dict[str, JsonValue], list[str]]:
    """The `chart_params`, and notes about keys that this type of chart does not have."""
    if kind in AXIS_TYPES:
        x, ys = read_key(kind, "x_key", arguments, rows), read_keys(kind, arguments, rows)
        for column in [x, *ys] if kind == "scatter" else ys:
            check_numbers(column, rows)
        used: tuple[str, ...] = ("x_key", "y_keys")
        parameters: dict[str, JsonValue] = {"chartType": kind, "xKey": x, "yKey": [*ys]}
    else:
        angle, label = (read_key(kind, key, arguments, rows) for key in ("angle_key", "callout_label_key"))
        check_numbers(angle, rows, minimum=0)
        used = ("angle_key", "callout_label_key")
        parameters = {"chartType": kind, "angleKey": angle, "calloutLabelKey": label}
    unused = [key for key in COLUMN_ARGUMENTS if key not in used and arguments.get(key)]
    return parameters, [f"A {kind} chart has no {key}: it was not used." for key in unused]


def read_keys(kind: str, arguments: Mapping[str, JsonValue], rows: Sequence[Row]) -> list[str]:
    keys = arguments.get("y_keys")
    if isinstance(keys, str):
        keys = [keys]
    if not isinstance(keys, list) or not keys:
        raise BadRequest(f"A {kind} chart needs y_keys: a list of columns. There are {list_columns(rows)}.")
    return [check_column("y_keys", key, rows) for key in keys]


def read_key(kind: str, name: str, arguments: Mapping[str, JsonValue], rows: Sequence[Row]) -> str:
    key = arguments.get(name)
    if not key:
        raise BadRequest(f"A {kind} chart needs {name}. The columns are {list_columns(rows)}.")
    return check_column(name, key, rows)


def check_column(name: str, key: JsonValue, rows: Sequence[Row]) -> str:
    if not isinstance(key, str) or not any(key in row for row in rows):
        raise BadRequest(f"{name} names {key!r}, which is no column of the rows. The columns are {list_columns(rows)}.")
    return key


def check_numbers(column: str, rows: Sequence[Row], minimum: float | None = None) -> None:
    for number, row in enumerate(rows, 1):
        value = row.get(column)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise BadRequest(f"The column {column!r} must hold numbers, but row {number} has {str(value)[:40]!r}.")
        if minimum is not None and isinstance(value, int | float) and value < minimum:
            raise BadRequest(f"The column {column!r} must not be negative, but row {number} has {value}.")
    if all(row.get(column) is None for row in rows):
        raise BadRequest(f"The column {column!r} holds no number at all.")


def list_columns(rows: Sequence[Row]) -> str:
    return ", ".join(dict.fromkeys(column for row in rows for column in row))
