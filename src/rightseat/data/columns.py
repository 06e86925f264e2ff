"""Infers the SQL type of a column from its values.

Text becomes a number or a date only if every value is one and nothing is lost: `007` and `1e5` stay text, because they
are often identifiers. Every conversion is noted.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

INT64_LIMIT = 2**63
NULL_WORDS = frozenset({"", "-", "--", "n/a", "na", "nan", "none", "null", "#n/a"})
SAMPLE_VALUES = 50  # checked first, before all values

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]+([eE][+-]?[0-9]{1,3})?)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")
_ZONED = re.compile(_TIME.pattern + r"(Z|[+-][0-9]{2}:?[0-9]{2})")


class ColumnData(NamedTuple):
    """A column to insert. `note` describes conversions. Text is inserted as text; `cast` is the SQL expression that
    converts it to `type`.
    """

    type: str
    values: Sequence[Any]
    note: str = ""
    cast: str = "{}"


def read_column(values: Sequence[Any]) -> ColumnData:
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return ColumnData("VARCHAR", values)
    if kinds == {bool}:
        return ColumnData("BOOLEAN", values)
    if kinds == {int}:
        return read_integers(values)
    if kinds <= {int, float}:
        return ColumnData("DOUBLE", values)
    if kinds == {str}:
        return read_text(values)
    if kinds <= {dict, list}:
        return ColumnData(
            "JSON", [None if value is None else to_json(value) for value in values], "nested values, as JSON"
        )
    return read_mixed(values, kinds)


def read_integers(values: Sequence[int | None]) -> ColumnData:
    if all(value is None or -INT64_LIMIT <= value < INT64_LIMIT for value in values):
        return ColumnData("BIGINT", values)
    return ColumnData(
        "VARCHAR", [None if value is None else str(value) for value in values], "whole numbers over 64 bits"
    )


def read_text(values: Sequence[str | None]) -> ColumnData:
    """Words for missing values become NULL only if all other values are numbers or dates."""
    present = [value for value in values if value is not None and value.strip().lower() not in NULL_WORDS]
    for text_format in TEXT_FORMATS:
        if (
            present
            and all(map(text_format.matches, present[:SAMPLE_VALUES]))
            and all(map(text_format.matches, present))
        ):
            return replace_null_words(text_format, values)
    return ColumnData("VARCHAR", values)


def read_mixed(values: Sequence[Any], kinds: set[type]) -> ColumnData:
    """Numbers mixed with words for missing values stay numbers; any other mix becomes text."""
    words = [value for value in values if isinstance(value, str)]
    if kinds <= {int, float, str} and all(word.strip().lower() in NULL_WORDS for word in words):
        numbers = read_column([None if isinstance(value, str) else value for value in values])
        return numbers._replace(note=note_nulls(words))
    texts = [value if value is None or isinstance(value, str) else to_json(value) for value in values]
    return ColumnData(
        "VARCHAR", texts, f"values of several types ({', '.join(sorted(map(name_type, kinds)))}), as text"
    )


def replace_null_words(text_format: "TextFormat", values: Sequence[str | None]) -> ColumnData:
    note = f"text that is {text_format.words}"
    words = [value for value in values if value is not None and value.strip().lower() in NULL_WORDS]
    if words:
        values = [None if value is None or value.strip().lower() in NULL_WORDS else value for value in values]
        absent = note_nulls(words)
        note = f"{note}; {absent}" if absent else note
    return ColumnData(text_format.type, values, note, text_format.cast)


def note_nulls(words: Iterable[str]) -> str:
    """Describe the words read as NULL; empty text is not mentioned."""
    counted = Counter(word for word in words if word.strip())
    return ", ".join(f"{count} × {word!r} as NULL" for word, count in counted.most_common(3))


def name_type(kind: type) -> str:
    return {str: "text", int: "numbers", float: "numbers", bool: "truth values"}.get(kind, "nested values")


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def make_matcher(pattern: re.Pattern[str], parse: Callable[[str], object] | None = None) -> Callable[[str], bool]:
    def matches(text: str) -> bool:
        if not pattern.fullmatch(text):
            return False
        try:
            return parse is None or parse(text) is not None
        except ValueError:
            return False  # e.g. February 31st

    return matches


class TextFormat(NamedTuple):
    """A format of text that has a more specific SQL type."""

    type: str
    words: str
    matches: Callable[[str], bool]
    cast: str


TEXT_FORMATS = (
    TextFormat("BIGINT", "whole numbers", make_matcher(_INTEGER), "CAST({} AS BIGINT)"),
    TextFormat("DOUBLE", "numbers", make_matcher(_NUMBER), "CAST({} AS DOUBLE)"),
    TextFormat("DATE", "dates", make_matcher(_DATE, date.fromisoformat), "CAST({} AS DATE)"),
    TextFormat("TIMESTAMP", "times", make_matcher(_TIME, datetime.fromisoformat), "CAST({} AS TIMESTAMP)"),
    TextFormat(
        "TIMESTAMP",
        "times, in UTC",
        make_matcher(_ZONED, datetime.fromisoformat),
        "CAST({} AS TIMESTAMP WITH TIME ZONE) AT TIME ZONE 'UTC'",  # a cast to TIMESTAMP would drop the offset
    ),
)
