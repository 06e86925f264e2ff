"""Requests of today's clients, by path or in an envelope, answered by one table of operations."""

import logging
from collections.abc import Mapping
from urllib.parse import quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rightseat.core.ask import Principal
from rightseat.core.errors import InternalError, RightseatError
from rightseat.faces.answers import mended, read_body
from rightseat.faces.copilotkit.current.routing import Call, Envelope, Routes, find, refusal, unpack

logger = logging.getLogger(__name__)

FORMS = ("transcribe",)
"""Where a form may be sent instead of JSON."""


class Serving:
    def __init__(self, routes: Routes, most: int) -> None:
        self._routes = routes
        self._most = most

    async def rest(self, request: Request, principal: Principal) -> Response:
        """An operation by its path below the base address."""
        path = below(request)
        try:
            body = await self._body(request, path)
        except ClientDisconnect:
            return Response()  # for nobody
        except RightseatError as error:
            return refusal(error)
        return await self._answer(request.method, path, dict(request.query_params), body, request, principal)

    async def envelope(self, envelope: Envelope, request: Request, principal: Principal) -> Response:
        """An operation that is named in the body."""
        try:
            method, path, query = unpack(envelope)
        except RightseatError as error:
            return refusal(error)
        inside = bytes(envelope.body)
        return await self._answer(method, path, query, inside, request, principal)

    async def _answer(
        self, method: str, path: str, query: Mapping[str, str], body: bytes, request: Request, principal: Principal
    ) -> Response:
        try:
            operation, ids = find(self._routes, method, path)
            return await operation(Call(principal, ids, query, body, request))
        except RightseatError as error:
            return refusal(error)
        except Exception:
            what = f"{method} {path}"
            logger.exception("%r failed", what)
            return refusal(InternalError(what))

    async def _body(self, request: Request, path: str) -> bytes:
        if request.method == "GET":
            return b""
        return mended(await read_body(request, self._most, forms=path in FORMS))


def below(request: Request) -> str:
    """The path below the base address, as it was sent: once decoded, nobody knows which slashes belong to an id."""
    whole, rest = request.scope["path"], request.path_params["rest"]
    raw = request.scope.get("raw_path")
    sent = raw.decode("latin-1") if raw else quote(whole)
    return sent.split("/", whole.removesuffix(rest).count("/"))[-1].strip("/")
