"""JSON as a type: checked like pydantic's, and read by msgspec, which does not know pydantic's."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import JsonValue as JsonValue
else:
    JsonValue = Any
