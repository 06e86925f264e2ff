"""Our errors in the words of CopilotKit's clients: their codes, who sees them, and how loud."""

import logging
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

from graphql import GraphQLError

from rightseat.core.errors import Misuse, RightseatError

logger = logging.getLogger(__name__)


class MissingCloudKey(Misuse):
    code = "missing_cloud_key"


class NoGuardrails(Misuse):
    code = "no_guardrails"


@dataclass(frozen=True, slots=True)
class Kind:
    code: str
    status: int
    visibility: str
    severity: str


NETWORK = Kind("NETWORK_ERROR", 503, "banner", "critical")
AUTHENTICATION = Kind("AUTHENTICATION_ERROR", 401, "banner", "critical")
FORBIDDEN = Kind("AUTHENTICATION_ERROR", 403, "banner", "critical")
CONFIGURATION = Kind("CONFIGURATION_ERROR", 400, "banner", "warning")
AGENT_NOT_FOUND = Kind("AGENT_NOT_FOUND", 500, "banner", "critical")
MISSING_KEY = Kind("MISSING_PUBLIC_API_KEY_ERROR", 400, "banner", "critical")
NOT_FOUND = Kind("API_NOT_FOUND", 404, "banner", "critical")
MISUSE = Kind("MISUSE", 400, "dev_only", "warning")
DENIED = Kind("GUARDRAILS_VALIDATION_FAILED", 403, "toast", "warning")
LIMITED = Kind("CONFIGURATION_ERROR", 429, "toast", "warning")
UNKNOWN = Kind("UNKNOWN", 500, "toast", "critical")

INTERNAL = "Something went wrong inside the server. Its log has more."

KINDS = {
    "agent_error": NETWORK,
    "agent_failed": UNKNOWN,
    "agent_refused": CONFIGURATION,
    "agent_timeout": NETWORK,
    "agent_unreachable": NETWORK,
    "nothing_there": NOT_FOUND,
    "agent_not_found": AGENT_NOT_FOUND,
    "bad_ask": MISUSE,
    "concurrency_limit_exceeded": LIMITED,
    "context_too_long": CONFIGURATION,
    "denied": DENIED,
    "guard_failed": NETWORK,
    "misuse": MISUSE,
    "missing_cloud_key": MISSING_KEY,
    "no_guardrails": CONFIGURATION,
    "model_busy": CONFIGURATION,  # their word for whatever a model's server answers with 4xx
    "model_error": NETWORK,
    "model_loading": NETWORK,
    "model_refused": CONFIGURATION,
    "model_refused_key": AUTHENTICATION,
    "unenforceable": CONFIGURATION,
    "model_timeout": NETWORK,
    "model_unreachable": NETWORK,
    "out_of_scope": FORBIDDEN,
    "refused": AUTHENTICATION,
    "unverifiable": NETWORK,
}


def kind_of(code: str) -> Kind:
    """For a `code` of `core.errors`."""
    return KINDS.get(code, UNKNOWN)


def extensions(kind: Kind) -> dict[str, Any]:
    return {
        "name": "CopilotError",
        "statusCode": kind.status,
        "code": kind.code,
        "visibility": kind.visibility,
        "severity": kind.severity,
        "troubleshootingUrl": None,
    }


def refused(kind: Kind, message: str, key: str) -> dict[str, Any]:
    """The body of a request that failed before anything was streamed."""
    return {"errors": [{"message": message, "path": [key], "extensions": told(kind, message)}], "data": None}


def of(error: RightseatError) -> dict[str, Any]:
    return told(kind_of(error.code), error.message)


def told(kind: Kind, message: str) -> dict[str, Any]:
    return extensions(kind) | {"originalError": {"message": message}}


def explained(error: GraphQLError) -> dict[str, Any]:
    """What went wrong in a query: an error of ours as it is, any other only as a fact."""
    formatted: dict[str, Any] = dict(error.formatted)
    original = error.original_error
    if isinstance(original, RightseatError):
        return formatted | {"extensions": of(original)}
    if isinstance(original, GraphQLError):  # a variable of another type than its own
        return formatted | {"message": shorten(error.message, 1000)}
    if original is not None:
        logger.error("a query failed", exc_info=original)
        return formatted | {"message": INTERNAL, "extensions": told(UNKNOWN, INTERNAL)}
    return formatted


def invalid(errors: list[GraphQLError]) -> dict[str, Any]:
    """The body of an operation that is not valid GraphQL. A message may quote what was sent, and that a picture."""
    return {"errors": [{**error.formatted, "message": shorten(error.message, 1000)} for error in errors]}


def failed(code: str, message: str) -> dict[str, Any]:
    """The status of a response that failed while it was streamed."""
    kind = kind_of(code)
    original = {
        "code": kind.code,
        "statusCode": kind.status,
        "severity": kind.severity,
        "visibility": kind.visibility,
        "originalErrorType": code,
        "extensions": extensions(kind),
    }
    details: dict[str, Any] = {"description": message, "originalError": original}
    if kind is DENIED:
        details["guardrailsReason"] = message
    return {
        "__typename": "FailedResponseStatus",
        "code": "Failed",
        "reason": "GUARDRAILS_VALIDATION_FAILED" if kind is DENIED else "UNKNOWN_ERROR",
        "details": details,
    }
