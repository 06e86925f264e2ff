"""JSON that others wrote: APIs, models. What Python reads beyond JSON could be neither kept nor sent on."""

import json
import math
import re

from rightseat.core.values import JsonValue

ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""Two halves of a character, one alone, or any other escape."""
HALF = re.compile(r"\\u[dD][89a-fA-F]")


def read(text: str, mended: list[str] | None = None) -> JsonValue:
    """Half a character becomes `\\ufffd`, what is no number (`NaN`, `1e999`) null: `mended` gets what was.

    Raises `ValueError`.
    """
    found: list[str] = []

    def whole(escape: re.Match[str]) -> str:
        if not escape["half"]:
            return escape[0]
        found.append(escape[0])
        return r"\ufffd"

    def number(text: str) -> float | None:
        if text[-1].isdecimal() and math.isfinite(value := float(text)):
            return value
        found.append(text)
        return None

    if HALF.search(text):
        text = ESCAPE.sub(whole, text)
    try:
        value: JsonValue = json.loads(text, parse_float=number, parse_constant=number)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if mended is not None:
        mended += found
    return value
