"""Who is signed in, and signing in and out."""

import logging
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Literal

import msgspec
from starlette.responses import Response

from rightseat.access.route_auth import RouteAuth
from rightseat.access.sign_in.refusal import SignInRefused
from rightseat.access.sign_in.service import SignIn
from rightseat.config import FILE
from rightseat.core.ask import AgentNames
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.health.own_server import OwnServer
from rightseat.operations.audit_lines import write_line

logger = logging.getLogger(__name__)

LANGUAGES = ("en", "zh-CN")
ALL = ("*",)


class SignInOffer(msgspec.Struct, frozen=True):
    """An identity provider, and the address of this server that leads to it."""

    name: str
    url: str


class MissingFile(msgspec.Struct, frozen=True):
    file: str


class SignedInUser(msgspec.Struct, frozen=True):
    """Each of `rights` is a list of agents, `*` for all of them, or null. `setup` names the file that is missing.

    `currency` is that of all costs.
    """

    user: str
    rights: Mapping[str, Sequence[str] | None]
    edit: bool
    access: Literal["open", "keys"]
    version: str
    currency: str
    languages: Sequence[str]
    setup: MissingFile | None
    sign_in: SignInOffer | None


class SignedOut(msgspec.Struct, frozen=True):
    """`continue` is the address of the identity provider that ends its session too."""

    url: str = msgspec.field(name="continue")


class SessionRoutes:
    def __init__(
        self,
        auth: RouteAuth,
        own_server: OwnServer | None,
        sign_in: SignIn | None,
        *,
        is_editing: bool,
        currency: str,
    ) -> None:
        self._auth = auth
        self._sign_in = sign_in
        self._own_server = own_server
        self._is_editing = is_editing
        self._currency = currency

    def routes(self) -> Routes:
        return {("GET", "me"): self.me, ("POST", "session"): self.sign_in, ("DELETE", "session"): self.sign_out}

    async def me(self, request: OperatorRequest) -> Response:
        is_without_file = self._own_server is not None and self._own_server.is_without_file
        rights: dict[str, AgentNames] = {"use": request.principal.agents, **request.rights.agents}
        return json_response(
            SignedInUser(
                user=request.principal.id,
                rights={right: ALL if agents is None else agents or None for right, agents in rights.items()},
                edit=self._is_editing,
                access="open" if self._auth.is_open else "keys",
                version=version("rightseat"),
                currency=self._currency,
                languages=LANGUAGES,
                setup=MissingFile(str(FILE)) if is_without_file else None,
                sign_in=describe_sign_in(self._sign_in),
            )
        )

    async def sign_in(self, request: OperatorRequest) -> Response:
        response = Response(status_code=204)
        if await self._auth.open_session(request.http, response):
            write_line("%s signed in", request.principal.id, kind="sign_in")
        return response

    async def sign_out(self, request: OperatorRequest) -> Response:
        """The session ends on all servers. One of the identity provider ends there too, if it has an address for that:
        `continue` is where the page goes on."""
        url = await self._find_sign_out_url(request)
        response = Response(status_code=204) if url is None else json_response(SignedOut(url))
        await self._auth.end_session(request.http, response)
        if not self._auth.is_open:
            write_line("%s signed out", request.principal.id, kind="sign_in")
        return response

    async def _find_sign_out_url(self, request: OperatorRequest) -> str | None:
        if self._sign_in is None or not self._auth.has_sign_in_session(request.http):
            return None
        try:
            return await self._sign_in.find_sign_out_url()
        except SignInRefused as error:
            logger.warning("%s keeps its session of %s: %s", self._sign_in.name, request.principal.id, error)
            return None


def describe_sign_in(sign_in: SignIn | None) -> SignInOffer | None:
    return None if sign_in is None else SignInOffer(sign_in.name, sign_in.addresses.start_url)
