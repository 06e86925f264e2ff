"""JSON as a type: checked like pydantic's, and read by msgspec, which does not know pydantic's."""

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from pydantic import JsonValue as JsonValue
else:
    JsonValue = Any

JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding JSON raises: it is malformed or of another shape, not UTF-8, or nested too deep."""


def json_equal(left: JsonValue, right: JsonValue) -> bool:
    """Equality of JSON values: 1 equals 1.0 but not true. Without recursion, so that no depth is too deep."""
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
    """The steps of a JSON Pointer (RFC 6901): `/a~1b/0` → `["a/b", "0"]`. Raises `ValueError` for any other text."""
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise ValueError(f"{pointer!r} is no JSON Pointer: it begins with /")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def replace_surrogates(text: str) -> str:
    """Halves of surrogate pairs, which neither JSON nor a database can hold, become U+FFFD. A model that is cut off in
    the middle of an emoji writes one as an escape, and names of files may have them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
