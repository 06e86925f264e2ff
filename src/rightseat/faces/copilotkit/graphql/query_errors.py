"""Writes errors of GraphQL documents and queries."""

import logging
from typing import Any

from graphql import GraphQLError

from rightseat.core.errors import RightseatError
from rightseat.faces.copilotkit.graphql import failures

logger = logging.getLogger(__name__)

INTERNAL = "Something went wrong on the server. Its log has the details."


def write_query_error(error: GraphQLError) -> dict[str, Any]:
    """Format an error of a query: rightseat errors with their message, internal errors with a generic one."""
    formatted: dict[str, Any] = dict(error.formatted)
    original = error.original_error
    if isinstance(original, RightseatError):
        return formatted | {"extensions": failures.write_error_extensions(original)}
    if isinstance(original, GraphQLError):  # a variable of the wrong type
        return formatted | {"message": failures.shorten_message(error.message)}
    if original is not None:
        logger.error("a query failed", exc_info=original)
        return formatted | {"message": INTERNAL, "extensions": failures.write_extensions(failures.UNKNOWN, INTERNAL)}
    return formatted


def write_invalid(errors: list[GraphQLError]) -> dict[str, Any]:
    """Return the response body for invalid GraphQL."""
    return {"errors": [{**error.formatted, "message": failures.shorten_message(error.message)} for error in errors]}
