"""Validates JSON Schemas of clients, plugins and MCP servers, and values against them: offline, in bounded time.

By default `jsonschema_rs` fetches the URLs in `$schema` and `$ref`, in the calling thread. So validators are made with
`offline=True`, and `check_schema` replaces `jsonschema_rs.meta.validate`, which has no such option.

A `pattern` with look-around or back-references needs backtracking. A value that needs more than 10,000 steps (0.5 ms)
is invalid; the library's default is a million steps.
"""

import logging
from collections.abc import Mapping
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs
from pydantic import JsonValue

logger = logging.getLogger(__name__)

MAX_FAULTS = 5
MAX_FAULT_CHARACTERS = 200
PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
"""For the `pattern_options` of every validator."""


def find_faults(name: str, schema: Mapping[str, JsonValue], arguments: Mapping[str, JsonValue]) -> list[str]:
    """Describe the invalid arguments, each with its path. An unusable schema is logged, and nothing is checked: the
    tool has to check its arguments itself."""
    try:
        validator = jsonschema_rs.validator_for(dict(schema), pattern_options=PATTERNS, offline=True)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        reason = str(error).partition("\n")[0]
        logger.warning("The arguments of the tool %s are not checked: its schema cannot be used: %s", name, reason)
        return []
    return [describe_fault(error) for error in islice(validator.iter_errors(dict(arguments)), MAX_FAULTS)]


def describe_fault(error: jsonschema_rs.ValidationError) -> str:
    place = ".".join(map(str, error.instance_path))
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
