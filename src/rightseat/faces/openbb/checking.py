"""Arguments held against a tool's JSON Schema, before they leave for a server that is not ours."""

from collections.abc import Mapping
from typing import Any

from rightseat.core.errors import BadAsk
from rightseat.core.json_schema import find_faults


def check(arguments: Mapping[str, Any], schema: Mapping[str, Any], name: str) -> None:
    """Raises `BadAsk` with what does not fit."""
    if faults := find_faults(name, schema, arguments):
        raise BadAsk(f"The arguments do not fit the schema of {name}: {'; '.join(faults)}. Nothing was sent.")
