"""Converts the rows of a query result to JSON."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rightseat.core.types import JsonValue
from rightseat.data import database


def to_json_value(value: Any) -> JsonValue:
    """Dates become ISO text, decimals numbers (or text if a number would lose digits), bytes their length."""
    match value:
        case bytes() | bytearray() | memoryview():
            return f"<{len(value)} bytes>"
        case datetime():
            return value.isoformat()
        case _:
            return database.to_json_value(value)


def to_objects(columns: Sequence[str], rows: Sequence[Sequence[JsonValue]]) -> list[JsonValue]:
    names = make_unique(columns)
    return [dict(zip(names, row, strict=True)) for row in rows]


def make_unique(columns: Sequence[str]) -> list[str]:
    """Duplicates get `_2`, `_3`. (SQLite names the second `a` of a subquery `a:1`.)"""
    seen: Counter[str] = Counter()
    names: list[str] = []
    for column in columns:
        base, _, number = column.rpartition(":")
        base = base if base in names and number.isdigit() else column
        seen[base] += 1
        name = base if seen[base] == 1 else f"{base}_{seen[base]}"
        while name in names:
            seen[base] += 1
            name = f"{base}_{seen[base]}"
        names.append(name)
    return names
