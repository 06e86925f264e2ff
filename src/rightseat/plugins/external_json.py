"""Parses JSON from APIs and models, and repairs values that Python accepts but JSON cannot represent."""

import json
import math
import re

from rightseat.core.types import JsonValue

ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""A surrogate pair, a lone surrogate, or any other escape."""
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse(text: str, repaired: list[str] | None = None) -> JsonValue:
    """A lone surrogate becomes `\\ufffd`, a number without a value (`NaN`, `1e999`) null; `repaired` collects both.

    Raises `ValueError`.
    """
    replaced: list[str] = []

    def replace_surrogate(escape: re.Match[str]) -> str:
        if not escape["half"]:
            return escape[0]
        replaced.append(escape[0])
        return r"\ufffd"

    def parse_number(text: str) -> float | None:
        if text[-1].isdecimal() and math.isfinite(value := float(text)):
            return value
        replaced.append(text)
        return None

    if SURROGATE.search(text):
        text = ESCAPE.sub(replace_surrogate, text)
    try:
        value: JsonValue = json.loads(text, parse_float=parse_number, parse_constant=parse_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if repaired is not None:
        repaired += replaced
    return value
