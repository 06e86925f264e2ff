"""Errors in Anthropic's format: `{"type": "error", "error": {"type", "message"}, "request_id"}`, with its statuses."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from rightseat.core import errors
from rightseat.core.errors import (
    BadRequest,
    BudgetExceeded,
    ContextTooLong,
    GuardDenied,
    LimitExceeded,
    ModelBusy,
    ModelLoading,
    RequestTooLarge,
    RightseatError,
    Unauthenticated,
)
from rightseat.core.tracing import LOG_CONTEXT
from rightseat.core.types import JsonValue
from rightseat.faces._shared.responses import json_response
from rightseat.limits.response_headers import LimitLevel

REQUEST_ID = "request-id"

TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""By status; others below 500 are `invalid_request_error`, from 500 on `api_error`."""

STATUSES = {
    BudgetExceeded.code: 402,  # no client of this protocol retries it, unlike a 429
    ModelBusy.code: 529,
    ContextTooLong.code: 400,
    GuardDenied.code: 400,
    "cancelled": 503,
}

NOT_RETRYABLE = {
    Unauthenticated.code,  # Claude Code retries a wrong key for a minute otherwise
    BudgetExceeded.code,
    RequestTooLarge.code,
    "model_refused",
    "model_refused_key",
    "max_turns_exceeded",
    "too_many_tool_calls",
    "response_too_long",
}
"""A retry would fail the same way. Clients retry 408, 409, 429 and all from 500 on, unless a header forbids it."""

TOO_LONG = "prompt is too long: "
"""The words by which Claude Code knows that it must compact the conversation."""

LOADING_RETRY_S = 3
"""Seconds until a model that is being loaded may be ready."""
MAX_PATH_CHARS = 200

NOT_SERVED = {
    "batches": "Batches of messages are not served: send each message by itself.",
    "files": "The Files API is not served: send files as base64 or by their URL.",
    "skills": "Skills are not served.",
    "complete": "The legacy completions API is not served: POST {base}/v1/messages.",
}
"""By a segment of their path."""


class InvalidMessagesRequest(BadRequest):
    """`details` are for programs, such as an `error_code` that Anthropic's SDKs know."""

    def __init__(self, message: str, *, details: Mapping[str, JsonValue] | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.details = details
        self.answer_status = status


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error response, also in the middle of a stream."""

    message: str
    status: int
    code: str
    details: Mapping[str, JsonValue] | None = None
    retry_after: int | None = None

    @classmethod
    def of(cls, error: RightseatError) -> "ErrorReply":
        if isinstance(error, InvalidMessagesRequest):
            return cls(error.message, error.answer_status, error.code, error.details)
        retry_after = error.retry_after if isinstance(error, LimitExceeded) else None
        status = STATUSES.get(error.code, error.status)
        return cls(explain(error.code, error.message), status, error.code, retry_after=retry_after)

    @classmethod
    def of_run(cls, code: str, message: str) -> "ErrorReply":
        """For a run that ended with the `code` of an error."""
        status = STATUSES.get(code) or _known.get(code, 500)
        return cls(explain(code, message), status, code)

    @property
    def type(self) -> str:
        return TYPES.get(self.status) or ("api_error" if self.status >= 500 else "invalid_request_error")

    def body(self) -> dict[str, Any]:
        error: dict[str, Any] = {"type": self.type, "message": self.message}
        if self.details:
            error["details"] = dict(self.details)
        return {"type": "error", "error": error, "request_id": current_request_id()}

    def response(self, headers: Mapping[str, str] | None = None) -> Response:
        response = json_response(self.body(), self.status, headers={**(headers or {}), **request_id_header()})
        if self.code in NOT_RETRYABLE:
            response.headers["x-should-retry"] = "false"
        wait = LOADING_RETRY_S if self.code == ModelLoading.code else self.retry_after
        if wait is not None and self.status != STATUSES[BudgetExceeded.code]:
            response.headers["retry-after"] = str(wait)
        return response


def explain(code: str, message: str) -> str:
    return TOO_LONG + message if code == ContextTooLong.code else message


def refuse(error: RightseatError) -> Response:
    return ErrorReply.of(error).response()


def write_limit_headers(level: LimitLevel) -> dict[str, str]:
    name = f"anthropic-ratelimit-{level.counted}"
    opens_at = datetime.fromtimestamp(level.opens_at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {f"{name}-limit": str(level.most), f"{name}-remaining": str(level.left), f"{name}-reset": opens_at}


def message_id(run_id: str) -> str:
    return f"msg_{run_id.removeprefix('run_')}"


def current_request_id() -> str:
    """The id of the request in the server's log, which `x-request-id` has too."""
    return LOG_CONTEXT.get().request


def request_id_header() -> dict[str, str]:
    id = current_request_id()
    return {REQUEST_ID: id} if id else {}


def explain_path(method: str, path: str, base: str, status: int) -> str:
    """Why `method` cannot be used at `path`, which is below `base`, the path of the face."""
    shown = base + path[:MAX_PATH_CHARS]
    if status == 405:
        return f"{shown} does not support {method}."
    if not path.strip("/"):
        return f"{shown or '/'} is the base URL of Anthropic's Messages API, for ANTHROPIC_BASE_URL."
    for segment in path.split("/"):
        if reason := NOT_SERVED.get(segment):
            return reason.format(base=base)
    return f"{shown} is not served. There are {base}/v1/messages, {base}/v1/messages/count_tokens and {base}/v1/models."


def _all(kind: type[RightseatError]) -> Iterator[type[RightseatError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _all(below)


_known = {kind.code: kind.status for kind in _all(RightseatError) if kind.__module__ == errors.__name__}
