"""What of a finished value stopped at a bound of ours, where its schema would have let it go on.

The grammar closes a string or an array that has reached its bound, and what comes out fits the schema: nobody could
tell that the model may have had more to say. So it is said.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from rightseat.models.completion.grammar.bounds import Bounds
from rightseat.models.completion.grammar.checking import Check

USUAL = Bounds()


def reached(text: str, check: Check, bounds: Bounds) -> list[str]:
    """A sentence for each part of this JSON that stopped so; `check` is that of the whole."""
    if len(text) < min(bounds.text, 2 * bounds.items):
        return []
    whole: list[Any] = [msgspec.json.decode(text)]
    return [sentence(path, part, bounds) for path, part in parts(whole, bounds, lambda: check(whole[0]) is None)]


def parts(whole: list[Any], bounds: Bounds, fits: Any) -> Iterator[tuple[str, Any]]:
    """Those of just the length of a bound to which one more could be added: tried out, and taken back."""
    waiting: list[tuple[str, Any, Any]] = [("", whole, 0)]
    while waiting:
        path, holder, key = waiting.pop()
        part = holder[key]
        if is_full(part, bounds):
            holder[key] = part + part[-1:]
            if fits():
                yield path, part
            holder[key] = part
        inside = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        waiting.extend((f"{path}/{name}".lstrip("/"), part, name) for name, _ in inside)


def is_full(part: object, bounds: Bounds) -> bool:
    if isinstance(part, str):
        return len(part) in (bounds.text, bounds.longest_text)
    return isinstance(part, list) and len(part) in (bounds.items, bounds.most_items)


def sentence(path: str, part: Any, bounds: Bounds) -> str:
    kind, keyword, own, most, usual = "characters", "maxLength", bounds.text, bounds.longest_text, USUAL.text
    if isinstance(part, list):
        kind, keyword, own, most, usual = "items", "maxItems", bounds.items, bounds.most_items, USUAL.items
    if len(part) == most:
        advice = "there is no room for more"
    elif own < usual:
        advice = "a larger `max_tokens` makes room for more"
    else:
        advice = f"a `{keyword}` in its schema, of up to {most:,}, makes room for more"
    where = f"`{path}`" if path else "it"
    return f"{where} was ended at {len(part):,} {kind}; {advice}."
