"""Whether the arguments of a call fit the schema of its tool.

Nothing is fetched, and the time is bounded. A `pattern` with look-around or back-references is searched by trying one
way after another; a value for which 10,000 steps (0.5 ms) do not suffice does not fit. The default is a million.
"""

import logging
from collections.abc import Mapping
from itertools import islice

import jsonschema_rs
from pydantic import JsonValue

logger = logging.getLogger(__name__)

MAX_FAULTS = 5
MAX_FAULT_CHARACTERS = 200
PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
"""For the `pattern_options` of every validator."""


def find_faults(name: str, schema: Mapping[str, JsonValue], arguments: Mapping[str, JsonValue]) -> list[str]:
    """What does not fit, each with its place. A schema that cannot be used to check is logged, and finds nothing: the
    tool has to check by itself."""
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
