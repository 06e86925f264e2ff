"""Finds the operation of a request by its path or by the envelope in its body."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Principal
from rightseat.core.errors import AgentNotFound, BadRequest, RightseatError
from rightseat.faces._shared.responses import decode_body, json_response

T = TypeVar("T")


@dataclass(slots=True)
class OperationRequest:
    """The input of an operation: user, query parameters, body, HTTP request and ids of the path."""

    principal: Principal
    query: Mapping[str, str]
    body: bytes
    http: Request
    ids: Mapping[str, str] = field(default_factory=dict)

    def take_body(self) -> bytes:
        """The body, which is not kept: a large request waits for its turn once it is decoded."""
        body, self.body = self.body, b""
        return body

    def read(self, kind: type[T]) -> T:
        """Decode the body as JSON; an empty body is an empty object. Raises `BadRequest`."""
        return decode_body(self.body, kind)


RouteHandler = Callable[[OperationRequest], Awaitable[Response]]
Routes = Mapping[tuple[str, str], RouteHandler]
"""(method, path) → operation; a part of a path in braces is an id: `("POST", "agent/{agent}/run")`."""


class RouteNotFound(RightseatError):
    code = "not_found"
    status = 404


class MethodNotAllowed(RightseatError):
    code = "method_not_allowed"
    status = 405

    def __init__(self, allowed: Sequence[str]) -> None:
        super().__init__(f"This URL accepts {', '.join(allowed)}.")
        self.allowed = allowed


def find(routes: Routes, method: str, path: str) -> tuple[RouteHandler, dict[str, str]]:
    """Return the operation and the ids in the path, which is percent-encoded because an id may contain slashes."""
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
        raise MethodNotAllowed(allowed)
    raise RouteNotFound("Not found.")


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
    """A request inside the body of a POST to the base path."""

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


def unpack_envelope(envelope: Envelope) -> tuple[str, str, dict[str, str]]:
    """Return method, path and query of the request in the envelope."""
    if envelope.method == "resource/request":
        return unpack_resource(envelope.params)
    if envelope.method not in METHODS:
        known = ", ".join([*METHODS, "resource/request"])
        raise BadRequest(f"Unsupported method {envelope.method!r}; it is one of {known}.")
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
        raise BadRequest(INVALID_RESOURCE_PATH) from None
    if parts.scheme or parts.netloc or not path.startswith("/") or ".." in unquote(parts.path).split("/"):
        raise BadRequest(INVALID_RESOURCE_PATH)
    return method.upper(), parts.path, dict(parse_qsl(parts.query))


INVALID_RESOURCE_PATH = "The path of a resource starts with a slash and is relative to this URL, such as '/threads'."


def parameter(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise BadRequest(f"Missing or invalid parameter {name!r}.")
    return value


def refusal(error: RightseatError) -> Response:
    titles = {"not_found": "Not found", "method_not_allowed": "Method not allowed", "bad_request": "invalid_request"}
    title = "Agent not found" if isinstance(error, AgentNotFound) else titles.get(error.code, error.code)
    response = json_response({"error": title, "message": error.message, "code": error.code}, error.status)
    if isinstance(error, MethodNotAllowed):
        response.headers["allow"] = ", ".join(error.allowed)
    return response
