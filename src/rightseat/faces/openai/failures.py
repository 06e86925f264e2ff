"""What goes wrong, in OpenAI's shape: `{"error": {"message", "type", "param", "code"}}`, with the status that fits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from rightseat.core import errors
from rightseat.core.errors import (
    BadAsk,
    ConcurrencyLimitExceeded,
    LimitExceeded,
    ModelLoading,
    PromptTooLong,
    RightseatError,
)
from rightseat.faces.answers import answer

TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
"""By status; any other below 500 is an `invalid_request_error`, and from 500 on it is ours."""

KINDS = {ConcurrencyLimitExceeded.code: "requests"}
"""Where a code has a type of its own, beside that of its status."""

CODES = {PromptTooLong.code: "context_length_exceeded", "refused": "invalid_api_key", "denied": "content_filter"}
"""Where OpenAI has a word of its own. Its clients look for it."""

STATUSES = {PromptTooLong.code: 400, "denied": 400, "approval_required": 403, "answer_required": 403, "cancelled": 503}

FINAL = {"model_refused", "model_refused_key", "too_many_rounds", "too_many_calls", "answer_too_long"}
"""Asking again would bring the same; OpenAI's clients do so at any status from 500 on, unless they are told."""


SOON = "3"
"""Seconds after which a model that is being loaded may answer. OpenAI's clients wait so long, and ask again."""


class BadRequest(BadAsk):
    """`param` is the field that is wrong, as a path."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.openai_code = code


class ModelNotFound(RightseatError):
    code = "model_not_found"
    status = 404

    def __init__(self, name: str, what: str = "is no agent and no model of this server") -> None:
        super().__init__(f"{name!r} {what}. GET /models lists those that you may use.")


@dataclass(frozen=True, slots=True)
class Failure:
    """What is told of one. `code` is for programs, and `param` the field that it is about."""

    message: str
    status: int
    code: str
    param: str | None = None
    retry_after: int | None = None

    @classmethod
    def of(cls, error: RightseatError) -> "Failure":
        if isinstance(error, BadRequest):
            return cls(error.message, error.status, error.openai_code or "invalid_request", error.param)
        param = "model" if isinstance(error, ModelNotFound) else None
        retry_after = error.retry_after if isinstance(error, LimitExceeded) else None
        status = status_of(error.code, error.status)
        return cls(error.message, status, CODES.get(error.code, error.code), param, retry_after)

    @classmethod
    def of_run(cls, code: str, message: str) -> "Failure":
        """For a run that ended with the `code` of an error."""
        return cls(message, status_of(code), CODES.get(code, code))

    def body(self, warnings: Sequence[str] = ()) -> dict[str, Any]:
        kind = (
            KINDS.get(self.code)
            or TYPES.get(self.status)
            or ("server_error" if self.status >= 500 else "invalid_request_error")
        )
        told = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": told, "warnings": list(warnings)} if warnings else {"error": told}

    def response(self, warnings: Sequence[str] = ()) -> Response:
        response = answer(self.body(warnings), self.status)
        if self.status >= 500 and self.code in FINAL:
            response.headers["x-should-retry"] = "false"
        if self.code == ModelLoading.code:
            response.headers["retry-after"] = SOON
        if self.retry_after is not None:
            response.headers["retry-after"] = str(self.retry_after)
        return response


def refuse(error: RightseatError) -> Response:
    return Failure.of(error).response()


def status_of(code: str, otherwise: int = 500) -> int:
    return STATUSES.get(code) or _known.get(code, otherwise)


def _all(kind: type[RightseatError]) -> Iterator[type[RightseatError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _all(below)


_known = {kind.code: kind.status for kind in _all(RightseatError) if kind.__module__ == errors.__name__}
