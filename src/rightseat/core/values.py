"""JSON as a type: checked like pydantic's, and read by msgspec, which does not know pydantic's."""

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from pydantic import JsonValue as JsonValue
else:
    JsonValue = Any

JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding JSON raises: it is malformed or of another shape, not UTF-8, or nested too deep."""


def replace_surrogates(text: str) -> str:
    """Halves of surrogate pairs, which neither JSON nor a database can hold, become U+FFFD. A model that is cut off in
    the middle of an emoji writes one as an escape, and names of files may have them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
