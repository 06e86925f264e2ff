"""Handlers around the endpoints of a face: they read the body, and convert errors to responses."""

import logging
from collections.abc import Awaitable, Callable

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rightseat.access.route_auth import Handler, WriteRefusal
from rightseat.core.ask import Principal
from rightseat.core.errors import InternalError, RightseatError
from rightseat.core.ids import new_id
from rightseat.faces._shared.responses import read_body

logger = logging.getLogger(__name__)

BodyEndpoint = Callable[[bytes, Request, Principal], Awaitable[Response]]


def make_handler(endpoint: BodyEndpoint, max_bytes: int, refuse: WriteRefusal, *, allow_forms: bool = False) -> Handler:
    """`refuse` writes an error in the form of the face."""

    async def handle(request: Request, principal: Principal) -> Response:
        has_body = request.method not in ("GET", "HEAD")
        body = await read_body(request, max_bytes, allow_forms=allow_forms) if has_body else b""
        return await endpoint(body, request, principal)

    return convert_errors(handle, refuse)


def convert_errors(handler: Handler, refuse: WriteRefusal) -> Handler:
    async def handle(request: Request, principal: Principal) -> Response:
        try:
            return await handler(request, principal)
        except ClientDisconnect:
            return Response()  # the client is gone
        except RightseatError as error:
            return refuse(error)
        except Exception:
            id = new_id("request")
            logger.exception("%s: %s %s failed", id, request.method, request.url.path)
            return refuse(InternalError(id))

    return handle
