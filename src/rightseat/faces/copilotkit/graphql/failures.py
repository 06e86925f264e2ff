"""Maps rightseat errors to CopilotKit's error codes, visibility and severity."""

from dataclasses import dataclass
from textwrap import shorten
from typing import Any

from rightseat.core.errors import NotConfigured, RightseatError


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

MAX_MESSAGE_CHARS = 1000

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


def shorten_message(message: str) -> str:
    """A message about a request may quote a sent image."""
    return shorten(message, MAX_MESSAGE_CHARS)


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
