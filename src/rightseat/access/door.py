"""A face's door. Every route of a face is behind it, and none can be added beside it: `app` refuses such a face.

    async def threads(request: Request, principal: Principal) -> Response:
        ...

    router.add_route("/threads", door.guard(threads, refuse), methods=["GET"])

What a credential may use is checked by the route that was called and never by the address that a request claims.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from types import MethodType, TracebackType
from typing import NoReturn, Protocol, Self

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from rightseat.access import carriers, scopes
from rightseat.access.keys import Keys, prefix_of
from rightseat.access.pages import Pages
from rightseat.access.scopes import Holder
from rightseat.core.acting import sign
from rightseat.core.ask import ANYONE, Principal
from rightseat.core.errors import ConfigError, OutOfScope, Refused

Handler = Callable[[Request, Principal], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]
Refuse = Callable[[Refused], Response]

FORM_OF_A_TOKEN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]*", re.ASCII)

audit = logging.getLogger("rightseat.audit")

CHALLENGE: Mapping[str, str] = {"www-authenticate": "Bearer"}
"""A header that belongs to every answer of status 401."""


class Tokens(AbstractAsyncContextManager["Tokens"], Protocol):
    """`access.tokens`, which only a server that takes tokens imports."""

    async def check(self, token: str) -> Holder: ...


class Doorman:
    """Knows every credential that is good for this server."""

    def __init__(self, keys: Keys, tokens: Tokens | None = None, cookie: str | None = None) -> None:
        self._keys = keys
        self._tokens = tokens
        self._cookie = cookie
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if self._tokens is not None:
            await self._stack.enter_async_context(self._tokens)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def recognize(self, headers: Headers) -> Holder:
        """Raises `Refused`."""
        credential = carriers.read(headers, self._cookie)
        if key := self._keys.find(credential):
            return Holder(key.user, key.scopes, f"the key {key.name!r}")
        if self._tokens is not None and FORM_OF_A_TOKEN.fullmatch(credential):
            return replace(await self._tokens.check(credential), token=credential)
        prefix = prefix_of(credential)
        raise Refused(f"The key rs_{prefix}_… is not known here." if prefix else "The key is not known here.")


class Door:
    """The door of one face, at one address. Without a doorman it is open, and whoever comes is the same anyone.

    `inner` is who looks after those rooms of an open face that want a key all the same: see `locked`. `pages` are web
    pages that may come through it, beside those that the server lets in everywhere.
    """

    def __init__(
        self, face: str, doorman: Doorman | None = None, *, inner: Doorman | None = None, pages: Pages | None = None
    ) -> None:
        self.face = face
        self.pages = pages
        self._doorman = doorman
        self._inner = doorman or inner

    @property
    def is_open(self) -> bool:
        return self._doorman is None

    @property
    def locked(self) -> "Door":
        """The same door for what wants a credential wherever there is one. Raises `ConfigError`: there is none."""
        if self._inner is None:
            raise ConfigError(f"The face {self.face!r} asks for keys, and there are none.")
        return Door(self.face, self._inner, pages=self.pages)

    async def admit(self, headers: Headers, agent: str | None = None) -> Principal:
        """Who asks. Raises `Refused` (401), `OutOfScope` (403) or `Unverifiable` (503).

        Without an agent any scope for this face will do; call `check` as soon as the agent is known.
        """
        if self._doorman is None:
            sign(ANYONE.id, None)
            return ANYONE
        try:
            holder = await self._doorman.recognize(headers)
        except Refused as error:
            audit.info("%s refused a request: %s", self.face, error)
            raise
        principal = Principal(holder.user, scopes.agents(holder.scopes, self.face))
        if principal.agents == ():
            self._turn_away(principal, agent)
        self.check(principal, agent)
        sign(holder.user, holder.token)
        audit.info("%s was used with %s", self.face, holder.by)
        return principal

    def check(self, principal: Principal, agent: str | None) -> None:
        """Raises `OutOfScope` where the principal may not use this agent."""
        if agent is not None and not principal.may_use(agent):
            self._turn_away(principal, agent)

    def may(self, principal: Principal, agent: str) -> bool:
        return principal.may_use(agent)

    def _turn_away(self, principal: Principal, agent: str | None) -> NoReturn:
        wanted = f"{self.face}:{agent or '*'}"
        audit.info("%s refused %r: it needs the scope %r", self.face, principal.id, wanted)
        raise OutOfScope(f"This credential does not reach that. Ask for one with the scope {wanted!r}.")

    def guard(self, handler: Handler, refuse: Refuse, *, locked: bool = False) -> Endpoint:
        """A route's endpoint: the handler, behind this door. `refuse` writes a refusal as the clients read it.

        `locked` wants a credential even where the face is open.
        """
        return GuardedEndpoint(self, self.locked if locked else self, handler, refuse).respond


@dataclass(frozen=True, slots=True)
class GuardedEndpoint:
    """A handler behind a door. Its method `respond` is the endpoint of a route: Starlette takes methods and functions
    as endpoints, and any other callable as an ASGI application. `admitting` is the same door, or that door `locked`."""

    door: Door
    admitting: Door
    handler: Handler
    refuse: Refuse

    async def respond(self, request: Request) -> Response:
        try:
            principal = await self.admitting.admit(request.headers)
        except Refused as error:
            answer = self.refuse(error)
            if error.status == 401:
                answer.headers.update(CHALLENGE)
            return answer
        return await self.handler(request, principal)


def guard_of(endpoint: object) -> Door | None:
    """The door that a route is behind."""
    if isinstance(endpoint, MethodType) and isinstance(endpoint.__self__, GuardedEndpoint):
        return endpoint.__self__.door
    return None
