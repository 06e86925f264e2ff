"""The table behind a chart: rows are flat objects, and columns are numeric, text or empty."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rightseat.core.types import JsonValue
from rightseat.plugins.results import StepFailed

Scalar = str | int | float | bool | None
ColumnKind = Literal["number", "text", "empty"]

_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ChartTable:
    """`kinds` maps columns to their kind, in order of first appearance."""

    kinds: Mapping[str, ColumnKind]
    rows: Sequence[Mapping[str, Scalar]]

    @property
    def numbers(self) -> list[str]:
        return [column for column, kind in self.kinds.items() if kind == "number"]

    def column(self, name: str) -> list[Scalar]:
        return [row.get(name) for row in self.rows]


def read(data: JsonValue) -> ChartTable:
    """Raises `StepFailed("render_input")`."""
    if not isinstance(data, list) or not data:
        raise StepFailed("render_input", f"A chart needs a list of rows, not {describe_value(data)}.")
    rows: list[dict[str, Scalar]] = []
    for number, row in enumerate(data, 1):
        if not isinstance(row, dict) or not row:
            raise StepFailed(
                "render_input", f"A chart needs rows that are objects, and row {number} is {describe_value(row)}."
            )
        for column, value in row.items():
            if isinstance(value, list | dict):
                message = f"A chart needs plain values, and {column!r} in row {number} is {describe_value(value)}."
                raise StepFailed("render_input", message)
        rows.append(dict(row))  # type: ignore[arg-type]  # other values were rejected above
    columns = dict.fromkeys(column for row in rows for column in row)
    return ChartTable({column: classify_column([row.get(column) for row in rows]) for column in columns}, rows)


def describe_value(value: JsonValue) -> str:
    match value:
        case None:
            return "nothing"
        case []:
            return "an empty list"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"the value {str(value)[:40]!r}"


def classify_column(values: Sequence[Scalar]) -> ColumnKind:
    known = [value for value in values if value is not None and value != ""]
    if not known:
        return "empty"
    return "number" if all(parse_number(value) is not None for value in known) else "text"


def parse_number(value: Scalar) -> int | float | None:
    """Accept numbers and text that is a number; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return value if value - value == 0 else None
    text = value.strip()
    if not any(map(str.isdigit, text)) or not _NUMBER.fullmatch(text):
        return None
    plain = text.replace(",", "")
    read = float(plain)
    if read - read != 0:
        return None
    return int(plain) if re.fullmatch(r"[+-]?\d{1,15}", plain) else read
