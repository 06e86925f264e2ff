"""Arguments held against a tool's JSON Schema, before they leave for a server that is not ours."""

import logging
from collections.abc import Mapping
from itertools import islice
from typing import Any

import jsonschema_rs

from rightseat.core.errors import BadAsk
from rightseat.wire.json_schema import PATTERNS

logger = logging.getLogger(__name__)

TOLD = 5  # faults that a model is told of at once
LONGEST = 200  # characters of one of them


def check(arguments: Mapping[str, Any], schema: Mapping[str, Any], name: str) -> None:
    """Raises `BadAsk` with what does not fit. A schema that is none itself checks nothing: the tool's server will."""
    try:
        validator = jsonschema_rs.validator_for(dict(schema), pattern_options=PATTERNS, offline=True)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        logger.info("the schema of %s cannot be used to check arguments: %s", name, str(error).partition("\n")[0])
        return
    if faults := [fault(error) for error in islice(validator.iter_errors(dict(arguments)), TOLD)]:
        raise BadAsk(f"The arguments do not fit the schema of {name}: {'; '.join(faults)}. Nothing was sent.")


def fault(error: jsonschema_rs.ValidationError) -> str:
    place = ".".join(map(str, error.instance_path))
    return f"{place}: {error.message}"[:LONGEST] if place else error.message[:LONGEST]
