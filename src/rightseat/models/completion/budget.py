"""Bounds the strings of a tool call so that the call ends before a short response does.

A model that was not trained to call tools often does not stop: a string runs away, or one call follows another. The
backend then cuts the response at its limit, and half a call is useless. Digits are one token each, and the loops of
such models have two characters per token; so all strings of a call together may have as many characters as the response
may have tokens. Without a limit from the client, the usual bounds apply. A string that stops at a bound causes a
warning (`parsing/limits`).

A model that was trained to call tools ends its strings itself. It may write a long file, of which half is worse than a
response that was cut: its strings get the largest bound that a grammar can count.
"""

from collections.abc import Iterable, Mapping

import msgspec

from rightseat.core.tools import Tool
from rightseat.models.completion.grammar.bounds import GrammarBounds

UNTRAINED_STYLES = ("forced-hermes", "generic")
"""Styles for models that were not trained to call tools."""

MIN_RESPONSE_TOKENS = 128  # below, whether a call fits is unknown, so nothing is bounded
MIN_STRING_CHARS = 32
TOKENS_PER_ITEM = 64  # of a list
TWO_CALLS_TOKENS = 512  # a response in which a second call fits
ITEMS_PER_LIST = 3  # assumed when strings are counted
MAX_SCHEMA_PARTS = 1000  # visited; a larger schema has many strings anyway


def set_bounds(style: str, tools: Iterable[Tool], max_tokens: int | None) -> GrammarBounds:
    usual = GrammarBounds()
    if style not in UNTRAINED_STYLES:
        return msgspec.structs.replace(usual, text=usual.longest_text)
    if max_tokens is None or max_tokens < MIN_RESPONSE_TOKENS:
        return usual
    strings = max((count_strings(tool.parameters) for tool in tools), default=1)
    share = min(max_tokens * 2 // 3, max_tokens // max(strings, 1))
    items = max(max_tokens // TOKENS_PER_ITEM, ITEMS_PER_LIST)
    return msgspec.structs.replace(
        usual, text=min(max(share, MIN_STRING_CHARS), usual.text), items=min(items, usual.items)
    )


def has_room_for_several(style: str, max_tokens: int | None) -> bool:
    return (
        style not in UNTRAINED_STYLES or max_tokens is None or not MIN_RESPONSE_TOKENS <= max_tokens < TWO_CALLS_TOKENS
    )


def count_strings(schema: object) -> int:
    """Count the strings without a format or an enum; one in a list counts as `ITEMS_PER_LIST`."""
    count, pending = 0, [(schema, 1)]
    for _ in range(MAX_SCHEMA_PARTS):
        if not pending:
            break
        part, times = pending.pop()
        match part:
            case {"enum": _} | {"const": _} | {"maxLength": _} | {"format": "date" | "date-time" | "time" | "uuid"}:
                pass
            case {"type": "string"}:
                count += times
            case Mapping():
                pending.extend(
                    (inner, times * (ITEMS_PER_LIST if key == "items" else 1)) for key, inner in part.items()
                )
            case list():
                pending.extend((inner, times) for inner in part)
    return count
