"""Validates a finished value against its schema, including `format`."""

from typing import Any

import jsonschema_rs

from rightseat.core.errors import SchemaNotSupported
from rightseat.json_schema import SchemaValidator


class SchemaCheck:
    """A compiled schema, for many values."""

    def __init__(self, schema: dict[str, Any] | bool, where: str) -> None:
        try:
            self._validator = SchemaValidator(schema, validate_formats=True)
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise SchemaNotSupported(f"{where}: no value can be checked against this schema: {error}") from error

    def __call__(self, value: object) -> str | None:
        """Return None if the value is valid, else the path and the reason."""
        return next(iter(self._validator.find_faults(value, 1, "/")), None)


def compile_schema(schema: dict[str, Any] | bool, where: str = "schema") -> SchemaCheck:
    return SchemaCheck(schema, where)
