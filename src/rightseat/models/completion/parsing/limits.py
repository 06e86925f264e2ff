"""Finds strings and arrays of a value that stopped at a bound of the grammar although their schema allows more.

The grammar closes a value that has reached its bound, and the result fits the schema; only a warning can tell that the
model may have had more to write.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from rightseat.models.completion.grammar.bounds import GrammarBounds
from rightseat.models.completion.grammar.validation import SchemaCheck

DEFAULT_BOUNDS = GrammarBounds()


def find_reached(text: str, check: SchemaCheck, bounds: GrammarBounds) -> list[str]:
    """Return a sentence for each such part of this JSON; `check` validates the whole."""
    if len(text) < min(bounds.text, 2 * bounds.items):
        return []
    whole: list[Any] = [msgspec.json.decode(text)]
    return [
        describe(path, part, bounds) for path, part in find_full_parts(whole, bounds, lambda: check(whole[0]) is None)
    ]


def find_full_parts(whole: list[Any], bounds: GrammarBounds, fits: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts as long as a bound to which one more item could be added, which is tried and undone."""
    pending: list[tuple[str, Any, Any]] = [("", whole, 0)]
    while pending:
        path, holder, key = pending.pop()
        part = holder[key]
        if is_full(part, bounds):
            holder[key] = part + part[-1:]
            if fits():
                yield path, part
            holder[key] = part
        inside = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        pending.extend((f"{path}/{name}".lstrip("/"), part, name) for name, _ in inside)


def is_full(part: object, bounds: GrammarBounds) -> bool:
    if isinstance(part, str):
        return len(part) in (bounds.text, bounds.longest_text)
    return isinstance(part, list) and len(part) in (bounds.items, bounds.most_items)


def describe(path: str, part: Any, bounds: GrammarBounds) -> str:
    kind, keyword, own, most, usual = "characters", "maxLength", bounds.text, bounds.longest_text, DEFAULT_BOUNDS.text
    if isinstance(part, list):
        kind, keyword, own, most, usual = "items", "maxItems", bounds.items, bounds.most_items, DEFAULT_BOUNDS.items
    if len(part) == most:
        advice = "this is the longest possible"
    elif own < usual:
        advice = "a larger `max_tokens` allows more"
    else:
        advice = f"a `{keyword}` in its schema, of up to {most:,}, allows more"
    subject = f"`{path}`" if path else "it"
    return f"{subject} was ended at {len(part):,} {kind}; {advice}."
