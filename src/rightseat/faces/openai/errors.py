"""Errors in OpenAI's format, `{"error": {"message", "type", "param", "code"}}`, with matching HTTP statuses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from rightseat.core import errors
from rightseat.core.errors import (
    BadRequest,
    BudgetExceeded,
    ConcurrencyLimitExceeded,
    ContextTooLong,
    LimitExceeded,
    ModelLoading,
    QueueFull,
    QueueTimeout,
    RateLimitExceeded,
    RequestTooLarge,
    RightseatError,
)
from rightseat.faces._shared.model_names import ModelNotFound, NoModelNamed
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.sealed_reasoning import BrokenSeal

TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
"""By status; others below 500 are `invalid_request_error`, from 500 on `server_error`."""

KINDS = {
    ConcurrencyLimitExceeded.code: "requests",
    QueueFull.code: "requests",
    QueueTimeout.code: "requests",
    RateLimitExceeded.code: "tokens",  # of a run in progress: requests are counted before it
    BudgetExceeded.code: "insufficient_quota",
    RequestTooLarge.code: "tokens",
}
"""Types of codes that differ from that of their status."""

CODES = {
    ContextTooLong.code: "context_length_exceeded",
    "unauthenticated": "invalid_api_key",
    "guard_denied": "content_filter",
}
"""OpenAI's own codes, which its clients look for."""

STATUSES = {
    ContextTooLong.code: 400,
    "guard_denied": 400,
    "approval_required": 403,
    "answer_required": 403,
    "cancelled": 503,
}

NOT_RETRYABLE = {"model_refused", "model_refused_key", "max_turns_exceeded", "too_many_tool_calls", "response_too_long"}
"""A retry would fail the same way; OpenAI's clients retry from status 500 on unless a header forbids it."""

UNSUPPORTED_APIS = {
    "completions": "The legacy completions API is not served.",
}
"""By the first segment of their path."""

UNSUPPORTED_PATHS = {
    "/responses/compact": "Compaction of a conversation is not served. Clients such as Codex summarize it themselves.",
    "/responses/input_tokens": "Tokens are not counted in advance. `usage` of a response has their number.",
}
UNSUPPORTED_METHODS = {
    ("GET", "/responses"): "Responses are created by POST, and streamed with `stream: true`. There is no WebSocket.",
}

SERVED_PATHS = "/responses, /chat/completions, /conversations, /embeddings, /audio/transcriptions, /models and /files"
MAX_PATH_CHARS = 200

LOADING_RETRY_S = "3"
"""Seconds until a model that is being loaded may be ready. OpenAI's clients wait this long before they retry."""


class InvalidRequest(BadRequest):
    """`param` is the path of the invalid field."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.openai_code = code


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """An error response. `param` is the path of the field that it concerns."""

    message: str
    status: int
    code: str
    param: str | None = None
    retry_after: int | None = None
    kind: str | None = None
    """The `type`, if the code does not determine it."""

    @classmethod
    def of(cls, error: RightseatError) -> "ErrorResponse":
        if isinstance(error, InvalidRequest):
            return cls(error.message, error.status, error.openai_code or "invalid_request", error.param)
        if isinstance(error, NoModelNamed):
            return cls(error.message, error.status, "invalid_request", "model")
        param = "model" if isinstance(error, ModelNotFound) else "input" if isinstance(error, BrokenSeal) else None
        retry_after = error.retry_after if isinstance(error, LimitExceeded) else None
        kind = error.counted if isinstance(error, RateLimitExceeded) else None
        status = status_of(error.code, error.status)
        return cls(error.message, status, CODES.get(error.code, error.code), param, retry_after, kind)

    @classmethod
    def of_run(cls, code: str, message: str) -> "ErrorResponse":
        """For a run that ended with the `code` of an error."""
        return cls(message, status_of(code), CODES.get(code, code))

    def body(self, warnings: Sequence[str] = ()) -> dict[str, Any]:
        kind = (
            self.kind
            or KINDS.get(self.code)
            or TYPES.get(self.status)
            or ("server_error" if self.status >= 500 else "invalid_request_error")
        )
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": error, "warnings": list(warnings)} if warnings else {"error": error}

    def response(self, warnings: Sequence[str] = ()) -> Response:
        response = json_response(self.body(warnings), self.status)
        if self.status >= 500 and self.code in NOT_RETRYABLE:
            response.headers["x-should-retry"] = "false"
        if self.code == ModelLoading.code:
            response.headers["retry-after"] = LOADING_RETRY_S
        if self.retry_after is not None:
            response.headers["retry-after"] = str(self.retry_after)
        return response


def refuse(error: RightseatError) -> Response:
    return ErrorResponse.of(error).response()


def explain_path(method: str, path: str, base: str, status: int) -> str:
    """Why `method` cannot be used at `path`, which is below `base`, the path of the face."""
    shown = base + path[:MAX_PATH_CHARS]
    if status == 405:
        reasons = (UNSUPPORTED_METHODS.get((method, path)), UNSUPPORTED_PATHS.get(path))
        return " ".join([f"{shown} does not support {method}.", *filter(None, reasons)])
    if not path.strip("/"):
        return f"{shown} is the base URL of an OpenAI-compatible API, for clients such as OpenAI(base_url=…)."
    if reason := UNSUPPORTED_APIS.get(path.split("/")[1]):
        return f"{reason} Use chat completions: POST {base}/chat/completions."
    return f"{shown} is not served. Below {base} there are {SERVED_PATHS}."


def status_of(code: str, otherwise: int = 500) -> int:
    return STATUSES.get(code) or _known.get(code, otherwise)


def _all(kind: type[RightseatError]) -> Iterator[type[RightseatError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _all(below)


_known = {kind.code: kind.status for kind in _all(RightseatError) if kind.__module__ == errors.__name__}
