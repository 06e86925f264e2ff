"""What a call may take of a short answer, so that it ends before the answer does.

A model that was never trained to call tools seldom knows when to stop: a string runs away, or one call follows another.
The engine then cuts the answer at its limit, and half a call is of no use to anybody. Digits are a token each, and the
loops that such models fall into have two characters a token; so the strings of a call may have, together, as many
characters as the answer may have tokens. Where the client sets no limit, the usual bounds hold. What stops at a bound
all the same is warned of (`reading/limits`).

A model that was trained to call tools ends its strings itself. A file that it writes is long, and half of it is worse
than an answer that was cut: its strings may have all that a grammar can count.
"""

from collections.abc import Iterable, Mapping

import msgspec

from rightseat.core.tools import Tool
from rightseat.models.completion.grammar.bounds import Bounds

UNTRAINED = ("forced-hermes", "generic")
"""The styles of models that do not call tools of themselves."""

LEAST = 128  # tokens; whether a call has room in a shorter answer nobody can tell, so nothing is done there
SHORTEST = 32  # characters that a string may always have
A_FEW = 64  # tokens of an answer for each item of a list
ROOM_FOR_TWO = 512  # tokens of an answer in which a second call has room
IN_A_LIST = 3  # strings
MOST_LOOKED_AT = 1000  # parts of a schema; one that is larger has many strings anyway


def bounds(style: str, tools: Iterable[Tool], max_tokens: int | None) -> Bounds:
    usual = Bounds()
    if style not in UNTRAINED:
        return msgspec.structs.replace(usual, text=usual.longest_text)
    if max_tokens is None or max_tokens < LEAST:
        return usual
    strings = max((count_strings(tool.parameters) for tool in tools), default=1)
    share = min(max_tokens * 2 // 3, max_tokens // max(strings, 1))
    items = max(max_tokens // A_FEW, IN_A_LIST)
    return msgspec.structs.replace(usual, text=min(max(share, SHORTEST), usual.text), items=min(items, usual.items))


def has_room_for_several(style: str, max_tokens: int | None) -> bool:
    return style not in UNTRAINED or max_tokens is None or not LEAST <= max_tokens < ROOM_FOR_TWO


def count_strings(schema: object) -> int:
    """Those that a model may fill as it likes; one in a list counts as `IN_A_LIST`."""
    count, left = 0, [(schema, 1)]
    for _ in range(MOST_LOOKED_AT):
        if not left:
            break
        part, times = left.pop()
        match part:
            case {"enum": _} | {"const": _} | {"maxLength": _} | {"format": "date" | "date-time" | "time" | "uuid"}:
                pass
            case {"type": "string"}:
                count += times
            case Mapping():
                left.extend((inner, times * (IN_A_LIST if key == "items" else 1)) for key, inner in part.items())
            case list():
                left.extend((inner, times) for inner in part)
    return count
