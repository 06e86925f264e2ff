"""The last word: whether a finished value fits its schema, `format` included."""

from typing import Any

import jsonschema_rs

from rightseat.core.errors import Unenforceable
from rightseat.core.json_schema import PATTERNS


class Check:
    """Compiled once, asked often."""

    def __init__(self, schema: dict[str, Any] | bool, where: str) -> None:
        try:
            self._validator = jsonschema_rs.validator_for(
                schema, validate_formats=True, pattern_options=PATTERNS, offline=True
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise Unenforceable(f"{where}: no value can be checked against this schema: {error}") from error

    def __call__(self, value: object) -> str | None:
        """None where it fits; else where it does not, and why."""
        error = next(iter(self._validator.iter_errors(value)), None)
        if error is None:
            return None
        path = "/".join(str(piece) for piece in error.instance_path)
        return f"{path}: {error.message}" if path else error.message


def compile(schema: dict[str, Any] | bool, where: str = "schema") -> Check:
    return Check(schema, where)
