"""Rows of an engine → JSON."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rightseat.core.values import JsonValue
from rightseat.data.database import plain as plain_of_data


def plain(value: Any) -> JsonValue:
    """Dates become ISO text, decimals numbers (or text, where a number would lose digits), bytes how many they are."""
    match value:
        case bytes() | bytearray() | memoryview():
            return f"<{len(value)} bytes>"
        case datetime():
            return value.isoformat()
        case _:
            return plain_of_data(value)


def objects(columns: Sequence[str], rows: Sequence[Sequence[JsonValue]]) -> list[JsonValue]:
    names = distinct(columns)
    return [dict(zip(names, row, strict=True)) for row in rows]


def distinct(columns: Sequence[str]) -> list[str]:
    """Two columns of one name get `_2`, `_3`. (SQLite says `a:1` for the second `a` of a subquery.)"""
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
