"""Validates JSON Schemas of clients, plugins and MCP servers, and values against them: offline, in bounded time.

By default `jsonschema_rs` fetches the URLs in `$schema` and `$ref`, in the calling thread. So validators are made with
`offline=True`, and `check_schema` replaces `jsonschema_rs.meta.validate`, which has no such option.

A `pattern` with look-around or back-references needs backtracking. A value that needs more than 10,000 steps (0.5 ms)
is invalid; the library's default is a million steps. What alternatives and references multiply is counted before
(`json_schema_cost`), because the library cannot be interrupted.
"""

import logging
from collections.abc import Mapping
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs
from pydantic import JsonValue

from rightseat.json_schema.cost import MAX_VISITS_WITH_REASONS, SchemaCost, SchemaTooCostly, check_patterns

logger = logging.getLogger(__name__)

MAX_FAULTS = 5
MAX_FAULT_CHARACTERS = 200
PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000, size_limit=200_000)
"""For the `pattern_options` of every validator. A larger pattern takes 100 ms to compile."""


class SchemaValidator:
    """A compiled schema for many values, in bounded time. Making it raises `ValueError` or `ReferencingError`.

    A value whose validation would take too long is invalid.
    """

    def __init__(self, schema: dict[str, Any] | bool, *, validate_formats: bool | None = None) -> None:
        check_patterns(schema)
        self._validator = jsonschema_rs.validator_for(
            schema, validate_formats=validate_formats, pattern_options=PATTERNS, offline=True
        )
        self._cost = SchemaCost(schema)

    def is_valid(self, value: object) -> bool:
        try:
            self._cost.check(value)
        except SchemaTooCostly:
            return False
        return self._validator.is_valid(value)

    def find_faults(self, value: object, most: int, separator: str = ".") -> list[str]:
        """The reasons why the value is invalid, each with its path; empty if it is valid."""
        try:
            visits = self._cost.check(value)
        except SchemaTooCostly as error:
            return [str(error)]
        if visits > MAX_VISITS_WITH_REASONS and self._validator.is_valid(value):
            return []
        if visits > MAX_VISITS_WITH_REASONS:
            return ["the value does not match the schema, which is too large to say where"]
        return [describe_fault(error, separator) for error in islice(self._validator.iter_errors(value), most)]


def find_faults(name: str, schema: Mapping[str, JsonValue], arguments: Mapping[str, JsonValue]) -> list[str]:
    """Describe the invalid arguments, each with its path. An unusable schema is logged, and nothing is checked: the
    tool has to check its arguments itself."""
    try:
        validator = SchemaValidator(dict(schema))
    except SchemaTooCostly as error:
        return [str(error)]
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        reason = str(error).partition("\n")[0]
        logger.warning("The arguments of the tool %s are not checked: its schema cannot be used: %s", name, reason)
        return []
    return validator.find_faults(dict(arguments), MAX_FAULTS)


def describe_fault(error: jsonschema_rs.ValidationError, separator: str) -> str:
    place = separator.join(map(str, error.instance_path))
    return f"{place}: {error.message}"[:MAX_FAULT_CHARACTERS] if place else error.message[:MAX_FAULT_CHARACTERS]


def check_schema(schema: dict[str, Any] | bool) -> None:
    """Check a schema against its meta-schema. Raises `ValueError`, which includes `jsonschema_rs.ValidationError`."""
    try:
        jsonschema_rs.meta.validate(schema, registry=_OFFLINE)
    except jsonschema_rs.ReferencingError as error:
        raise ValueError(f"unknown meta-schema: {error}") from None


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not fetched")


_OFFLINE = jsonschema_rs.Registry([], retriever=_refuse)
