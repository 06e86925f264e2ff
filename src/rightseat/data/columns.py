"""What a column holds: from its values to a type of SQL, with care.

Text becomes a number or a date only if every value is one, written so that nothing is lost: `007` and `1e5` stay text,
because they are names of things as often as not. What was read otherwise than it was written is told.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

BIGGEST = 2**63
ABSENT = frozenset({"", "-", "--", "n/a", "na", "nan", "none", "null", "#n/a"})
LOOKED_AT = 50  # values that decide which types are worth a try

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]+([eE][+-]?[0-9]{1,3})?)?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?")
_ZONED = re.compile(_TIME.pattern + r"(Z|[+-][0-9]{2}:?[0-9]{2})")


class Read(NamedTuple):
    """A column as it goes into a table. `note` says what was read otherwise than it was written.

    Text is handed over as text; `cast` is the expression of SQL that makes `type` of it.
    """

    type: str
    values: Sequence[Any]
    note: str = ""
    cast: str = "{}"


def read(values: Sequence[Any]) -> Read:
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return Read("VARCHAR", values)
    if kinds == {bool}:
        return Read("BOOLEAN", values)
    if kinds == {int}:
        return read_whole(values)
    if kinds <= {int, float}:
        return Read("DOUBLE", values)
    if kinds == {str}:
        return read_text(values)
    if kinds <= {dict, list}:
        return Read("JSON", [None if value is None else write(value) for value in values], "nested values, as JSON")
    return read_mixed(values, kinds)


def read_whole(values: Sequence[int | None]) -> Read:
    if all(value is None or -BIGGEST <= value < BIGGEST for value in values):
        return Read("BIGINT", values)
    return Read("VARCHAR", [None if value is None else str(value) for value in values], "whole numbers over 64 bits")


def read_text(values: Sequence[str | None]) -> Read:
    """Whatever stands for a missing value counts as one only where all the others are numbers or dates."""
    present = [value for value in values if value is not None and value.strip().lower() not in ABSENT]
    for form in FORMS:
        if present and all(map(form.fits, present[:LOOKED_AT])) and all(map(form.fits, present)):
            return without_absent(form, values)
    return Read("VARCHAR", values)


def read_mixed(values: Sequence[Any], kinds: set[type]) -> Read:
    """Numbers with a few words for "missing" among them are numbers; everything else is kept as text."""
    words = [value for value in values if isinstance(value, str)]
    if kinds <= {int, float, str} and all(word.strip().lower() in ABSENT for word in words):
        numbers = read([None if isinstance(value, str) else value for value in values])
        return numbers._replace(note=tell_absent(words))
    texts = [value if value is None or isinstance(value, str) else write(value) for value in values]
    return Read("VARCHAR", texts, f"values of several types ({', '.join(sorted(map(tell, kinds)))}), as text")


def without_absent(form: "Form", values: Sequence[str | None]) -> Read:
    note = f"text that is {form.words}"
    words = [value for value in values if value is not None and value.strip().lower() in ABSENT]
    if words:
        values = [None if value is None or value.strip().lower() in ABSENT else value for value in values]
        absent = tell_absent(words)
        note = f"{note}; {absent}" if absent else note
    return Read(form.type, values, note, form.cast)


def tell_absent(words: Iterable[str]) -> str:
    """Empty text needs no word: there is nothing that it could have meant."""
    counted = Counter(word for word in words if word.strip())
    return ", ".join(f"{count} × {word!r} as NULL" for word, count in counted.most_common(3))


def tell(kind: type) -> str:
    return {str: "text", int: "numbers", float: "numbers", bool: "truth values"}.get(kind, "nested values")


def write(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def matches(pattern: re.Pattern[str], parse: Callable[[str], object] | None = None) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        if not pattern.fullmatch(text):
            return False
        try:
            return parse is None or parse(text) is not None
        except ValueError:
            return False  # a 31st of February

    return fits


class Form(NamedTuple):
    """A way in which text is more than text."""

    type: str
    words: str
    fits: Callable[[str], bool]
    cast: str


FORMS = (
    Form("BIGINT", "whole numbers", matches(_WHOLE), "CAST({} AS BIGINT)"),
    Form("DOUBLE", "numbers", matches(_NUMBER), "CAST({} AS DOUBLE)"),
    Form("DATE", "dates", matches(_DAY, date.fromisoformat), "CAST({} AS DATE)"),
    Form("TIMESTAMP", "times", matches(_TIME, datetime.fromisoformat), "CAST({} AS TIMESTAMP)"),
    Form(
        "TIMESTAMP",
        "times, in UTC",
        matches(_ZONED, datetime.fromisoformat),
        "CAST({} AS TIMESTAMP WITH TIME ZONE) AT TIME ZONE 'UTC'",  # a cast to TIMESTAMP would forget the offset
    ),
)
