"""Validates a finished value against its schema, including `format`."""

from typing import Any

import jsonschema_rs

from rightseat.core.errors import SchemaNotSupported
from rightseat.core.json_schema import PATTERNS


class SchemaCheck:
    """A compiled schema, for many values."""

    def __init__(self, schema: dict[str, Any] | bool, where: str) -> None:
        try:
            self._validator = jsonschema_rs.validator_for(
                schema, validate_formats=True, pattern_options=PATTERNS, offline=True
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise SchemaNotSupported(f"{where}: no value can be checked against this schema: {error}") from error

    def __call__(self, value: object) -> str | None:
        """Return None if the value is valid, else the path and the reason."""
        error = next(iter(self._validator.iter_errors(value)), None)
        if error is None:
            return None
        path = "/".join(str(piece) for piece in error.instance_path)
        return f"{path}: {error.message}" if path else error.message


def compile_schema(schema: dict[str, Any] | bool, where: str = "schema") -> SchemaCheck:
    return SchemaCheck(schema, where)
