"""Who is signed in, and signing in and out."""

from dataclasses import asdict
from importlib.metadata import version

from starlette.requests import Request
from starlette.responses import Response

from rightseat.access.authenticator import RouteAuth
from rightseat.access.sessions import delete_cookies, set_cookie
from rightseat.config import FILE
from rightseat.faces._shared.base_url import base_url
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.audit_lines import write_line
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.health.own_server import OwnServer

LANGUAGES = ("en", "zh-CN")
ALL = ("*",)


class SessionRoutes:
    def __init__(self, auth: RouteAuth, own_server: OwnServer | None, *, is_editing: bool, currency: str) -> None:
        self._auth = auth
        self._own_server = own_server
        self._is_editing = is_editing
        self._currency = currency

    def routes(self) -> Routes:
        return {("GET", "me"): self.me, ("POST", "session"): self.sign_in, ("DELETE", "session"): self.sign_out}

    async def me(self, request: OperatorRequest) -> Response:
        """Each right is a list of agents, `*` for all of them, or null. `setup` names the file that is missing.

        `currency` is that of all costs.
        """
        can_be_set_up = self._own_server is not None and self._own_server.can_be_set_up
        rights = {"use": request.principal.agents, **asdict(request.rights)}
        return json_response(
            {
                "user": request.principal.id,
                "rights": {right: ALL if agents is None else agents or None for right, agents in rights.items()},
                "edit": self._is_editing,
                "access": "open" if self._auth.is_open else "keys",
                "version": version("rightseat"),
                "currency": self._currency,
                "languages": LANGUAGES,
                "setup": {"file": FILE} if can_be_set_up else None,
            }
        )

    async def sign_in(self, request: OperatorRequest) -> Response:
        response = Response(status_code=204)
        cookie = await self._auth.open_session(request.http.headers)
        if cookie is not None:
            set_cookie(response, cookie, is_secure=is_secure(request.http))
            write_line("%s signed in", request.principal.id)
        return response

    async def sign_out(self, request: OperatorRequest) -> Response:
        response = Response(status_code=204)
        delete_cookies(response, is_secure=is_secure(request.http))
        if not self._auth.is_open:
            write_line("%s signed out", request.principal.id)
        return response


def is_secure(request: Request) -> bool:
    """Whether browsers reach this server by https, perhaps through a proxy."""
    return base_url(request).startswith("https:")
