"""The JSON value type, JSON equality, JSON Pointers and surrogate repair.

`JsonValue` is pydantic's type for type checkers, and `Any` at runtime, because msgspec cannot decode pydantic's type.
"""

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from pydantic import JsonValue as JsonValue
else:
    JsonValue = Any

JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The exceptions of JSON decoding: malformed or of the wrong shape, not UTF-8, or nested too deeply."""


def json_equal(left: JsonValue, right: JsonValue) -> bool:
    """Equality of JSON values: 1 equals 1.0 but not true. Not recursive, so it works at any depth."""
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, bool) or isinstance(other, bool):
            if one is not other:
                return False
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pairs += [(one[name], other[name]) for name in one]
        elif one != other:
            return False
    return True


def split_pointer(pointer: str) -> list[str]:
    """Split a JSON Pointer (RFC 6901): `/a~1b/0` → `["a/b", "0"]`. Raises `ValueError` for any other text."""
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise ValueError(f"{pointer!r} is not a JSON Pointer: it must start with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which neither JSON nor a database can store, by U+FFFD. A model that is cut off in the
    middle of an emoji writes one as an escape, and file names may contain them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
