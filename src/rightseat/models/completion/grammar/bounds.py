"""Limits of generated values and of grammars, so that a response ends and a backend can compile the grammar.

The first group are defaults for schemas without limits. The second group are hard limits: a larger declared maximum is
narrowed, and a larger declared minimum fails.
"""

import msgspec


class GrammarBounds(msgspec.Struct, frozen=True, kw_only=True):
    text: int = 1_000
    """Characters of a string."""
    items: int = 32
    """Items of an array."""
    entries: int = 16
    """Members of an object whose names are not declared."""
    any_depth: int = 3
    """Levels of arrays and objects in a value that may be anything."""

    longest_text: int = 10_000
    most_items: int = 1_000
    most_entries: int = 64
    digits: int = 15
    """Digits of an integer: what every JSON reader keeps exactly."""

    depth: int = 64
    """Levels of schemas within schemas."""
    size: int = 20_000
    """Steps that the conversion of one schema may take."""
    options: int = 256
    """Alternatives that combined `anyOf` and `oneOf` may multiply to."""
    enumerated: int = 5_000
    """Values of one `enum`."""
