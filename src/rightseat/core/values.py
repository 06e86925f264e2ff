"""JSON as a type: checked like pydantic's, and read by msgspec, which does not know pydantic's."""

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from pydantic import JsonValue as JsonValue
else:
    JsonValue = Any

JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding JSON raises: it is malformed or of another shape, not UTF-8, or nested too deep."""
