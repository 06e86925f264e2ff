"""Authorizes requests for a face and an agent; every route of a face is protected by it.

    async def list_threads(request: Request, principal: Principal) -> Response:
        ...

    router.add_route("/threads", auth.protect(list_threads, refuse), methods=["GET"])

`app` refuses a face that has an unprotected route. Scopes are checked against the route that was called, never against
the address that a request claims.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MethodType
from typing import NoReturn, Protocol, runtime_checkable

import msgspec
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.websockets import WebSocket

from rightseat.access import credentials, scopes
from rightseat.access.authenticator import Authenticator
from rightseat.access.authorization import (
    AUTHORIZATION,
    Authorization,
    AuthorizationEnded,
    OpenRequests,
    RightsChanged,
    Watch,
    WatchedResponse,
)
from rightseat.access.client_networks import find_client_network
from rightseat.access.held_response import HeldResponse, is_event_stream, is_short
from rightseat.access.host_login import HostLogin
from rightseat.access.origins import AllowedOrigins
from rightseat.access.scopes import AuthenticatedUser, read_rights
from rightseat.access.sessions import SessionClaims, SessionExpired, Sessions
from rightseat.access.trusted_issuer import TrustedIssuer
from rightseat.access.user_token import set_caller_token
from rightseat.core.ask import ANYONE, Principal
from rightseat.core.audit import AUDIT_LOGGER, KIND, ROUTINE, USER
from rightseat.core.caller import CALLER, Caller
from rightseat.core.errors import (
    ConcurrencyLimitExceeded,
    ConfigError,
    InsufficientScope,
    RightseatError,
    TooManyAttempts,
    Unauthenticated,
)
from rightseat.limits.read_limits import ReadLimits
from rightseat.operations.rights import OperatorRights
from rightseat.reads import READS

Handler = Callable[[Request, Principal], Awaitable[Response]]
RouteEndpoint = Callable[[Request], Awaitable[Response]]
SocketHandler = Callable[[WebSocket], Awaitable[None]]
SocketEndpoint = Callable[[WebSocket], Awaitable[None]]
WriteRefusal = Callable[[RightseatError], Response]
Challenge = Callable[[Request, RightseatError], str]

audit = logging.getLogger(AUDIT_LOGGER)

OPEN_USER = AuthenticatedUser(ANYONE.id, ("*",), "no credential")
"""Of a face that needs no credential."""


def write_plain_challenge(request: Request, error: RightseatError) -> str:
    """`WWW-Authenticate` of a response with status 401; empty for other ones."""
    return "Bearer" if error.status == 401 else ""


class RouteAuth:
    """Authorizes requests to the routes of one face. Without an authenticator every principal is `ANYONE`.

    `route_authenticator` serves those routes of an open face that require a credential all the same, see
    `require_credential`. `allowed_origins` are those that may call this face, beside those of the server. With
    `sessions` a cookie counts where a request has no other credential, and a credential that has a right of an operator
    needs no agent of this face. `face_auth` is the `RouteAuth` of the face that this one was derived from. `host` is
    the login of the application around a copilot; a face that `is_open` on purpose needs it for single routes only.
    Tokens for the `audience` are accepted by this face, and by no other one.
    """

    def __init__(
        self,
        face: str,
        authenticator: Authenticator | None = None,
        *,
        route_authenticator: Authenticator | None = None,
        allowed_origins: AllowedOrigins | None = None,
        sessions: Sessions | None = None,
        face_auth: "RouteAuth | None" = None,
        reads: ReadLimits | None = None,
        host: HostLogin | None = None,
        is_open: bool = False,
        audience: str = "",
    ) -> None:
        self.face = face
        self._audience = audience
        self._host = host if authenticator is not None or not is_open else None
        self._route_host = host
        self.reads = reads or ReadLimits()
        """Those of the face; routes that derive their `RouteAuth` from it count together."""
        self._face_auth = face_auth or self
        self.allowed_origins = allowed_origins
        self._sessions = sessions
        self._authenticator = authenticator
        self._route_authenticator = authenticator or route_authenticator

    @property
    def is_open(self) -> bool:
        return self._authenticator is None

    @property
    def token_issuer(self) -> TrustedIssuer | None:
        """The identity provider whose tokens this face accepts; None for an open face."""
        return None if self._authenticator is None else self._authenticator.token_issuer

    def require_credential(self) -> "RouteAuth":
        """The same, but requiring a credential. Raises `ConfigError` if no credentials are configured."""
        if self._route_authenticator is None:
            raise ConfigError(
                f"The face {self.face!r} requires keys, but none are configured. `rightseat keys new NAME` makes one."
            )
        return RouteAuth(
            self.face,
            self._route_authenticator,
            allowed_origins=self.allowed_origins,
            host=self._route_host,
            audience=self._audience,
        )

    async def authorize(
        self, headers: Headers, agent: str | None = None, address: str | None = None, *, cookie: str | None = None
    ) -> Principal:
        """Like `authorize_request`, for the headers of a request. `cookie` is that of a session."""
        return (await self._authorize(headers, agent, address, cookie)).principal

    async def authorize_request(self, request: Request) -> Authorization:
        address: str | None = client[0] if (client := request.scope.get("client")) else None
        authorization = None if self._host is None else await self._authorize_host(request, self._host)
        if authorization is None:
            authorization = await self._authorize(request.headers, None, address, self._find_cookie(request))
        request.scope[AUTHORIZATION] = authorization
        return authorization

    async def _authorize_host(self, request: Request, host: HostLogin) -> Authorization | None:
        """The user of the application; None if a credential of ours decides, or if users are not known.

        A request with a credential of ours is judged by that alone, right or wrong.
        """
        host.check_local(request, self.allowed_origins)
        if host.principal is None and self._has_own_credential(request):
            return None
        user = await self._find_host_user(request, host)
        return None if user is None else Authorization(self._admit(user, None), user)

    def _has_own_credential(self, request: Request) -> bool:
        authenticator = self._authenticator
        if authenticator is None or not authenticator.has_credentials:
            return False
        return authenticator.is_given(request.headers) or self._find_cookie(request) is not None

    async def _find_host_user(self, request: Request, host: HostLogin) -> AuthenticatedUser | None:
        try:
            return await host.find_user(request)
        except Unauthenticated as error:
            audit.info("%s refused a request: %s", self.face, error, extra={ROUTINE: True})
            raise

    async def _authorize(
        self, headers: Headers, agent: str | None, address: str | None, cookie: str | None
    ) -> Authorization:
        """Raises `Unauthenticated` (401), `InsufficientScope` (403), `TooManyAttempts` (429), `IssuerUnavailable` or
        `KeysUnconfirmed` (503). `address` is that of the client, whose wrong keys are counted.

        Without an agent, any scope for this face is enough; call `check_agent` as soon as the agent is known.
        """
        if self._authenticator is None:
            set_caller_token(ANYONE.id, None)
            return Authorization(ANYONE)
        user = await self._authenticate(self._authenticator, headers, address, cookie)
        principal = self._admit(user, agent)
        CALLER.set(msgspec.structs.replace(CALLER.get(), key=user.key))
        routine: dict[str, object] = {ROUTINE: True}
        if self._authenticator.first_uses.is_first(user.credential):
            routine |= {KIND: "key_use", USER: user.id}
        audit.info("%s was used with %s", self.face, user.credential, extra=routine)
        return Authorization(principal, user, self._find_check(self._authenticator, headers, cookie, user))

    def _admit(self, user: AuthenticatedUser, agent: str | None) -> Principal:
        """Raises `InsufficientScope`."""
        principal = Principal(user.id, scopes.agents(user.scopes, self.face))
        if user.claims is not None:
            principal = msgspec.structs.replace(principal, claims=user.claims, scopes=user.scopes)
        if principal.agents == () and (self._sessions is None or read_rights(user.scopes).is_empty):
            self._forbid(principal, agent)
        self.check_agent(principal, agent)
        set_caller_token(user.id, user.token)
        return principal

    def rights_of(self, request: HTTPConnection) -> OperatorRights:
        """The rights of a request that was authorized; all of them without an authenticator."""
        return find_authorization(request).rights

    async def open_session(self, request: HTTPConnection, response: Response) -> bool:
        """Give the response the cookie of a new session; False without an authenticator. Raises `Unauthenticated`."""
        if self._authenticator is None or self._sessions is None:
            return False
        cookie = await self._authenticator.open_session(request.headers, self._sessions)
        self._sessions.set_cookie(response, cookie, request)
        return True

    async def end_session(self, request: HTTPConnection, response: Response) -> None:
        """End the session of the request's cookie on all servers, and delete the cookie."""
        if self._authenticator is None or self._sessions is None:
            return
        self._sessions.delete_cookies(response, request)
        if cookie := self._sessions.find_cookie(request):
            with suppress(SessionExpired):
                claims = self._sessions.read(cookie)
                await self._authenticator.ended_sessions.end(claims.id, claims.expires_at)

    def has_sign_in_session(self, request: HTTPConnection) -> bool:
        """Whether the request is authenticated by a session of the identity provider."""
        cookie = self._find_cookie(request)
        return bool(self._sessions and cookie and self._sessions.read(cookie).sign_in)

    @property
    def open_requests(self) -> OpenRequests | None:
        return None if self._authenticator is None else self._authenticator.open_requests

    def _find_check(
        self, authenticator: Authenticator, headers: Headers, cookie: str | None, user: AuthenticatedUser
    ) -> Callable[[], None] | None:
        """Operators see the data of others, so their requests end as soon as a new one would be refused.

        A client's chat goes on while its token expires, which may live for five minutes. Only a revoked key ends it.
        """
        if self._sessions is not None:
            return partial(self._check_again, authenticator, headers, cookie, user)
        if authenticator.stored is not None and user.key:
            return partial(authenticator.stored.check_work, user.key)
        return None

    def _find_cookie(self, request: HTTPConnection) -> str | None:
        """The cookie of a session, if it counts: a credential in a header of its own comes first."""
        if self._sessions is None or credentials.is_given(request.headers):
            return None
        return self._sessions.find_cookie(request)

    async def _authenticate(
        self, authenticator: Authenticator, headers: Headers, address: str | None, cookie: str | None
    ) -> AuthenticatedUser:
        try:
            if self._sessions and cookie:
                return authenticator.resume_session(cookie, self._sessions)
            return await authenticator.authenticate_from(address, headers, self._audience)
        except Unauthenticated as error:
            audit.info("%s refused a request: %s", self.face, error, extra={ROUTINE: True})
            raise

    def _check_again(
        self, authenticator: Authenticator, headers: Headers, cookie: str | None, user: AuthenticatedUser
    ) -> None:
        """Raises `Unauthenticated` if a new request would be refused, or would have other rights."""
        if self._sessions and cookie:
            now: AuthenticatedUser | None = authenticator.resume_session(cookie, self._sessions)
        else:
            now = authenticator.authenticate_again(headers, user)
        if now is None or (now.id, now.scopes) != (user.id, user.scopes):
            raise RightsChanged

    def check_agent(self, principal: Principal, agent: str | None) -> None:
        """Raises `InsufficientScope` if the principal may not use this agent."""
        if agent is not None and not principal.may_use(agent):
            self._forbid(principal, agent)

    def may_use(self, principal: Principal, agent: str) -> bool:
        return principal.may_use(agent)

    def _forbid(self, principal: Principal, agent: str | None) -> NoReturn:
        scope = f"{self.face}:{agent or '*'}"
        audit.info("%s refused %r: it needs the scope %r", self.face, principal.id, scope, extra={ROUTINE: True})
        raise InsufficientScope(f"This credential lacks the scope {scope!r}. Ask an operator for one that has it.")

    def protect(
        self,
        handler: Handler,
        refuse: WriteRefusal,
        *,
        requires_credential: bool = False,
        challenge: Challenge = write_plain_challenge,
    ) -> RouteEndpoint:
        """Return the endpoint of a route: the handler, called after authorization.

        `refuse` writes a refusal in the face's protocol, `challenge` the header that says how to authenticate.
        `requires_credential` holds even where the face is open.
        """
        auth = self.require_credential() if requires_credential else self
        return ProtectedEndpoint(self._face_auth, auth, handler, refuse, challenge).respond

    async def open_socket_session(self, request: HTTPConnection, sessions: Sessions) -> str:
        """A token with which the page of this request may open a socket. Raises `Unauthenticated`."""
        user = find_authorization(request).user
        if self._authenticator is not None and user is not None and user.key:
            return await self._authenticator.open_session(request.headers, sessions)
        return sessions.open_for_token(user or OPEN_USER)

    def resume_socket_session(self, claims: SessionClaims, sessions: Sessions) -> Principal:
        """The user whose page may open a socket. Raises `Unauthenticated`, `InsufficientScope`."""
        if self._authenticator is None:
            user = AuthenticatedUser(claims.user, claims.scopes, "a token of a page")
        else:
            user = self._authenticator.resume_claims(claims, sessions)
        return self._admit(user, None)

    @property
    def keys_revision(self) -> int:
        """Another one after each change of a key; keys can expire without it."""
        stored = self._authenticator.stored if self._authenticator is not None else None
        return 0 if stored is None else stored.revision

    def protect_socket(self, handler: SocketHandler) -> SocketEndpoint:
        """The endpoint of a route for WebSockets. The handler admits each user by `resume_socket_session`."""
        return ProtectedSocket(self._face_auth, handler).respond

    def publish(self, handler: Handler) -> RouteEndpoint:
        """Return the endpoint of a route that anyone may call. Only for files that are the same for all."""
        return ProtectedEndpoint(self._face_auth, RouteAuth(self.face), handler, refuse_plainly).respond

    def accept_sessions(self, sessions: Sessions) -> "RouteAuth":
        """The same, but also accepting the cookies of these sessions, and operators who may use no agent themselves."""
        return RouteAuth(
            self.face,
            self._authenticator,
            route_authenticator=self._route_authenticator,
            allowed_origins=self.allowed_origins,
            sessions=sessions,
            face_auth=self,
            host=self._host,
            audience=self._audience,
        )


@dataclass(frozen=True, slots=True)
class ProtectedEndpoint:
    """A handler behind authorization. `face_auth` is that of the face, `auth` that of this route.

    Its method `respond` is the endpoint of a route: Starlette takes methods and functions as endpoints, and any other
    callable as an ASGI application.
    """

    face_auth: RouteAuth
    auth: RouteAuth
    handler: Handler
    refuse: WriteRefusal
    challenge: Challenge = write_plain_challenge

    async def respond(self, request: Request) -> Response:
        address: str | None = client[0] if (client := request.scope.get("client")) else None
        CALLER.set(Caller(address=find_client_network(address) if address else ""))
        try:
            authorization = await self.auth.authorize_request(request)
        except Unauthenticated as error:
            response = self.refuse(error)
            if isinstance(error, TooManyAttempts):
                response.headers["retry-after"] = str(error.retry_after)
            if challenge := self.challenge(request, error):
                response.headers["www-authenticate"] = challenge
            return response
        return await self._respond_held(request, authorization)

    async def _respond_held(self, request: Request, authorization: Authorization) -> Response:
        """Bound what the handler reads of what is stored, until its response is sent."""
        reads = self.face_auth.reads.open_request(authorization.principal.id)
        READS.set(reads)
        try:
            response = await self._respond_watched(request, authorization)
            if reads.retry_after is not None:
                response.headers.setdefault("retry-after", str(reads.retry_after))
            if reads.has_left or is_short(response):
                reads.close()
                return response
            if is_event_stream(response):
                reads.open_stream()
        except ConcurrencyLimitExceeded as error:
            reads.close()
            response = self.refuse(error)
            response.headers.setdefault("retry-after", str(error.retry_after))
            return response
        except AuthorizationEnded as end:
            reads.close()
            return self.refuse(end.problem)
        except BaseException:
            reads.close()
            raise
        return HeldResponse(response, reads)

    async def _respond_watched(self, request: Request, authorization: Authorization) -> Response:
        """Raises `AuthorizationEnded`."""
        open_requests = self.auth.open_requests
        if authorization.check is None or open_requests is None:
            return await self.handler(request, authorization.principal)
        watch = Watch(authorization.check, open_requests)
        response = await watch.do(self.handler(request, authorization.principal))
        return WatchedResponse(response, watch, self.refuse)


@dataclass(frozen=True, slots=True)
class ProtectedSocket:
    """A handler of WebSockets, which checks the token of each."""

    face_auth: RouteAuth
    handler: SocketHandler

    async def respond(self, websocket: WebSocket) -> None:
        address: str | None = websocket.client.host if websocket.client else None
        CALLER.set(Caller(address=find_client_network(address) if address else ""))
        await self.handler(websocket)


@runtime_checkable
class ForwardingEndpoint(Protocol):
    """An endpoint that calls another one, which may change."""

    @property
    def target(self) -> RouteEndpoint: ...


def find_authorization(request: HTTPConnection) -> Authorization:
    found: Authorization = request.scope[AUTHORIZATION]
    return found


def refuse_plainly(error: RightseatError) -> Response:
    return PlainTextResponse(error.message, error.status)


def find_route_auth(endpoint: object) -> RouteAuth | None:
    """The `RouteAuth` of the face that protects this endpoint."""
    owner = endpoint.__self__ if isinstance(endpoint, MethodType) else None
    if isinstance(owner, ForwardingEndpoint):
        return find_route_auth(owner.target)
    return owner.face_auth if isinstance(owner, ProtectedEndpoint | ProtectedSocket) else None
