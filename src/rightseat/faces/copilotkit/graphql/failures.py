"""Maps rightseat errors to CopilotKit's error codes, visibility and severity."""

import logging
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

from graphql import GraphQLError

from rightseat.core.errors import NotConfigured, RightseatError

logger = logging.getLogger(__name__)


class MissingCloudKey(NotConfigured):
    code = "missing_cloud_key"


class NoGuardrails(NotConfigured):
    code = "no_guardrails"


@dataclass(frozen=True, slots=True)
class ErrorKind:
    code: str
    status: int
    visibility: str
    severity: str


NETWORK = ErrorKind("NETWORK_ERROR", 503, "banner", "critical")
AUTHENTICATION = ErrorKind("AUTHENTICATION_ERROR", 401, "banner", "critical")
FORBIDDEN = ErrorKind("AUTHENTICATION_ERROR", 403, "banner", "critical")
CONFIGURATION = ErrorKind("CONFIGURATION_ERROR", 400, "banner", "warning")
AGENT_NOT_FOUND = ErrorKind("AGENT_NOT_FOUND", 500, "banner", "critical")
MISSING_KEY = ErrorKind("MISSING_PUBLIC_API_KEY_ERROR", 400, "banner", "critical")
NOT_FOUND = ErrorKind("API_NOT_FOUND", 404, "banner", "critical")
MISUSE = ErrorKind("MISUSE", 400, "dev_only", "warning")
DENIED = ErrorKind("GUARDRAILS_VALIDATION_FAILED", 403, "toast", "warning")
LIMITED = ErrorKind("CONFIGURATION_ERROR", 429, "toast", "warning")
TOO_LARGE = ErrorKind("CONFIGURATION_ERROR", 413, "toast", "warning")
UNKNOWN = ErrorKind("UNKNOWN", 500, "toast", "critical")

INTERNAL = "Something went wrong on the server. Its log has the details."

KINDS = {
    "agent_error": NETWORK,
    "agent_failed": UNKNOWN,
    "agent_refused": CONFIGURATION,
    "agent_timeout": NETWORK,
    "agent_unreachable": NETWORK,
    "agent_endpoint_not_found": NOT_FOUND,
    "agent_not_found": AGENT_NOT_FOUND,
    "bad_request": MISUSE,
    "budget_exceeded": LIMITED,
    "concurrency_limit_exceeded": LIMITED,
    "rate_limit_exceeded": LIMITED,
    "request_too_large": TOO_LARGE,
    "context_too_long": CONFIGURATION,
    "guard_denied": DENIED,
    "guard_failed": NETWORK,
    "not_configured": MISUSE,
    "missing_cloud_key": MISSING_KEY,
    "no_guardrails": CONFIGURATION,
    "model_busy": CONFIGURATION,  # CopilotKit's code for every 4xx response of a model provider
    "model_error": NETWORK,
    "model_loading": NETWORK,
    "model_refused": CONFIGURATION,
    "model_refused_key": AUTHENTICATION,
    "schema_not_supported": CONFIGURATION,
    "model_timeout": NETWORK,
    "model_unreachable": NETWORK,
    "insufficient_scope": FORBIDDEN,
    "unauthenticated": AUTHENTICATION,
    "issuer_unavailable": NETWORK,
}


def kind_of(code: str) -> ErrorKind:
    """Return the kind for a `code` of `core.errors`."""
    return KINDS.get(code, UNKNOWN)


def base_extensions(kind: ErrorKind) -> dict[str, Any]:
    return {
        "name": "CopilotError",
        "statusCode": kind.status,
        "code": kind.code,
        "visibility": kind.visibility,
        "severity": kind.severity,
        "troubleshootingUrl": None,
    }


def write_refusal(kind: ErrorKind, message: str, key: str) -> dict[str, Any]:
    """Return the response body for a request that failed before streaming started."""
    return {
        "errors": [{"message": message, "path": [key], "extensions": write_extensions(kind, message)}],
        "data": None,
    }


def write_error_extensions(error: RightseatError) -> dict[str, Any]:
    return write_extensions(kind_of(error.code), error.message)


def write_extensions(kind: ErrorKind, message: str) -> dict[str, Any]:
    return base_extensions(kind) | {"originalError": {"message": message}}


def write_query_error(error: GraphQLError) -> dict[str, Any]:
    """Format an error of a query: rightseat errors with their message, internal errors with a generic one."""
    formatted: dict[str, Any] = dict(error.formatted)
    original = error.original_error
    if isinstance(original, RightseatError):
        return formatted | {"extensions": write_error_extensions(original)}
    if isinstance(original, GraphQLError):  # a variable of the wrong type
        return formatted | {"message": shorten(error.message, 1000)}
    if original is not None:
        logger.error("a query failed", exc_info=original)
        return formatted | {"message": INTERNAL, "extensions": write_extensions(UNKNOWN, INTERNAL)}
    return formatted


def write_invalid(errors: list[GraphQLError]) -> dict[str, Any]:
    """Return the response body for invalid GraphQL. Messages are shortened, because they may quote a sent image."""
    return {"errors": [{**error.formatted, "message": shorten(error.message, 1000)} for error in errors]}


def write_failed_status(code: str, message: str) -> dict[str, Any]:
    """Return the status of a response that failed during streaming."""
    kind = kind_of(code)
    original = {
        "code": kind.code,
        "statusCode": kind.status,
        "severity": kind.severity,
        "visibility": kind.visibility,
        "originalErrorType": code,
        "extensions": base_extensions(kind),
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
