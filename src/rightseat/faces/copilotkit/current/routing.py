"""The path of a request, or the envelope in its body → one operation."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Principal
from rightseat.core.errors import AgentNotFound, BadAsk, RightseatError
from rightseat.core.values import JSON_ERRORS
from rightseat.faces.answers import answer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """What an operation gets: who asks, the ids from the path, what the path's query says, and the body."""

    principal: Principal
    ids: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    request: Request

    def read(self, kind: type[T]) -> T:
        """The body as JSON; where there is none, an empty object. Raises `BadAsk`."""
        try:
            return msgspec.json.decode(self.body or b"{}", type=kind)
        except JSON_ERRORS as error:
            raise BadAsk(f"The body cannot be read: {error}.") from error


Operation = Callable[[Call], Awaitable[Response]]
Routes = Mapping[tuple[str, str], Operation]
"""(method, path) → operation; a part of a path in braces is an id: `("POST", "agent/{agent}/run")`."""


class NotFound(RightseatError):
    code = "not_found"
    status = 404


class WrongMethod(RightseatError):
    code = "method_not_allowed"
    status = 405

    def __init__(self, allowed: Sequence[str]) -> None:
        super().__init__(f"This address takes {', '.join(allowed)}.")
        self.allowed = allowed


def find(routes: Routes, method: str, path: str) -> tuple[Operation, dict[str, str]]:
    """The operation, and the ids in the path, which is still in its %-escapes: an id may have slashes."""
    segments = path.strip("/").split("/")
    allowed: list[str] = []
    for (takes, pattern), operation in routes.items():
        ids = match(pattern.split("/"), segments)
        if ids is None:
            continue
        if takes == method:
            return operation, ids
        allowed.append(takes)
    if allowed:
        raise WrongMethod(allowed)
    raise NotFound("There is nothing at this address.")


def match(pattern: Sequence[str], segments: Sequence[str]) -> dict[str, str] | None:
    if len(pattern) != len(segments):
        return None
    ids: dict[str, str] = {}
    for wanted, segment in zip(pattern, segments, strict=True):
        if wanted.startswith("{") and segment:
            ids[wanted[1:-1]] = unquote(segment)
        elif wanted != segment:
            return None
    return ids


class Envelope(msgspec.Struct):
    """One request of many in the body of a POST to the base address."""

    method: str
    params: dict[str, Any] = {}
    body: msgspec.Raw = msgspec.Raw(b"")


METHODS: dict[str, tuple[str, str]] = {
    "info": ("GET", "info"),
    "agent/run": ("POST", "agent/{agentId}/run"),
    "agent/connect": ("POST", "agent/{agentId}/connect"),
    "agent/stop": ("POST", "agent/{agentId}/stop/{threadId}"),
    "transcribe": ("POST", "transcribe"),
}


def unpack(envelope: Envelope) -> tuple[str, str, dict[str, str]]:
    """Method, path and query of what is inside."""
    if envelope.method == "resource/request":
        return unpack_resource(envelope.params)
    if envelope.method not in METHODS:
        known = ", ".join([*METHODS, "resource/request"])
        raise BadAsk(f"Unsupported method {envelope.method!r}; it is one of {known}.")
    method, path = METHODS[envelope.method]
    for name in ("agentId", "threadId"):
        if "{" + name + "}" in path:
            path = path.replace("{" + name + "}", quote(parameter(envelope.params, name), safe=""))
    return method, path, {}


def unpack_resource(params: Mapping[str, Any]) -> tuple[str, str, dict[str, str]]:
    path, method = parameter(params, "path"), parameter(params, "httpMethod")
    try:
        parts = urlsplit(path)
    except ValueError:
        raise BadAsk(ELSEWHERE) from None
    if parts.scheme or parts.netloc or not path.startswith("/") or ".." in unquote(parts.path).split("/"):
        raise BadAsk(ELSEWHERE)
    return method.upper(), parts.path, dict(parse_qsl(parts.query))


ELSEWHERE = "The path of a resource begins at this address: '/threads', say."


def parameter(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise BadAsk(f"Missing or invalid parameter {name!r}.")
    return value


def refusal(error: RightseatError) -> Response:
    titles = {"not_found": "Not found", "method_not_allowed": "Method not allowed", "bad_ask": "invalid_request"}
    title = "Agent not found" if isinstance(error, AgentNotFound) else titles.get(error.code, error.code)
    response = answer({"error": title, "message": error.message, "code": error.code}, error.status)
    if isinstance(error, WrongMethod):
        response.headers["allow"] = ", ".join(error.allowed)
    return response
