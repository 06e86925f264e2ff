"""Dispatches requests of CopilotKit clients since 1.50, by path or in an envelope, to operations."""

import logging
from urllib.parse import quote

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rightseat.core.ask import Principal
from rightseat.core.errors import InternalError, RightseatError
from rightseat.faces._shared.responses import read_body, repair_surrogates
from rightseat.faces.copilotkit.current.routing import (
    Envelope,
    OperationRequest,
    Routes,
    find,
    refusal,
    unpack_envelope,
)

logger = logging.getLogger(__name__)

FORM_PATHS = ("transcribe",)
"""Paths that accept a form instead of JSON."""


class OperationHandler:
    def __init__(self, routes: Routes, max_bytes: int) -> None:
        self._routes = routes
        self._max_bytes = max_bytes

    async def rest(self, request: Request, principal: Principal) -> Response:
        """Run the operation of a path below the base path."""
        path = below(request)
        try:
            received = OperationRequest(principal, dict(request.query_params), await self._body(request, path), request)
        except ClientDisconnect:
            return Response()  # the client is gone
        except RightseatError as error:
            return refusal(error)
        return await self._answer(request.method, path, received)

    async def envelope(self, envelope: Envelope, request: Request, principal: Principal) -> Response:
        """Run the operation that the body names."""
        try:
            method, path, query = unpack_envelope(envelope)
        except RightseatError as error:
            return refusal(error)
        received = OperationRequest(principal, query, bytes(envelope.body), request)
        envelope.body = msgspec.Raw()
        return await self._answer(method, path, received)

    async def _answer(self, method: str, path: str, request: OperationRequest) -> Response:
        try:
            operation, request.ids = find(self._routes, method, path)
            return await operation(request)
        except RightseatError as error:
            return refusal(error)
        except Exception:
            what = f"{method} {path}"
            logger.exception("%r failed", what)
            return refusal(InternalError(what))

    async def _body(self, request: Request, path: str) -> bytes:
        if request.method == "GET":
            return b""
        return repair_surrogates(await read_body(request, self._max_bytes, allow_forms=path in FORM_PATHS))


def below(request: Request) -> str:
    """Return the raw path below the base path. A decoded path could not distinguish a slash inside an id."""
    path, rest = request.scope["path"], request.path_params["rest"]
    raw = request.scope.get("raw_path")
    sent = raw.decode("latin-1") if raw else quote(path)
    return sent.split("/", path.removesuffix(rest).count("/"))[-1].strip("/")
