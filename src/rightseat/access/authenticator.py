"""Authenticates requests and authorizes them for a face and an agent; every route of a face is protected by it.

    async def list_threads(request: Request, principal: Principal) -> Response:
        ...

    router.add_route("/threads", auth.protect(list_threads, refuse), methods=["GET"])

`app` refuses a face that has an unprotected route. Scopes are checked against the route that was called, never against
the address that a request claims.
"""

import hmac
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from types import MethodType, TracebackType
from typing import NoReturn, Protocol, Self

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rightseat.access import credentials, scopes
from rightseat.access.attempts import FirstUses, WrongKeyLimit
from rightseat.access.client_networks import find_client_network
from rightseat.access.held_response import HeldResponse, is_event_stream, is_short
from rightseat.access.keys import AccessKey, Keys, digest, generate, prefix_of
from rightseat.access.origins import AllowedOrigins
from rightseat.access.scopes import ALL_RIGHTS, AuthenticatedUser, OperatorRights, read_rights
from rightseat.access.sessions import SessionExpired, Sessions, find_cookie
from rightseat.access.stored_keys import StoredKeys
from rightseat.core.ask import ANYONE, Principal
from rightseat.core.audit import AUDIT_LOGGER, KIND, ROUTINE, USER
from rightseat.core.caller import CALLER
from rightseat.core.errors import (
    ConcurrencyLimitExceeded,
    ConfigError,
    InsufficientScope,
    RightseatError,
    TooManyAttempts,
    Unauthenticated,
)
from rightseat.core.limits.rules import Caller
from rightseat.core.read_limits import REQUEST_READS, ReadLimits
from rightseat.core.user_token import set_caller_token

Handler = Callable[[Request, Principal], Awaitable[Response]]
RouteEndpoint = Callable[[Request], Awaitable[Response]]
WriteRefusal = Callable[[RightseatError], Response]

JWT_PATTERN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]*", re.ASCII)

audit = logging.getLogger(AUDIT_LOGGER)

CHALLENGE: Mapping[str, str] = {"www-authenticate": "Bearer"}
"""The header that every response with status 401 carries."""


class TokenVerifier(AbstractAsyncContextManager["TokenVerifier"], Protocol):
    """`access.tokens.Tokens`, which is imported only if the configuration accepts tokens."""

    async def check(self, token: str) -> AuthenticatedUser: ...


class UnknownKey(Unauthenticated):
    """A credential that is no key and no token of this server, and may be a guess."""


class Authenticator:
    """Knows every key and token that this server accepts. `stored` are the keys of the store.

    Sessions of sign-ins are valid under these `sign_in_rules`; empty if no identity provider is configured.
    """

    def __init__(
        self,
        keys: Keys,
        tokens: TokenVerifier | None = None,
        cookie: str | None = None,
        stored: StoredKeys | None = None,
        attempts: WrongKeyLimit | None = None,
        sign_in_rules: str = "",
    ) -> None:
        self._sign_in_rules = sign_in_rules
        self._keys = keys
        self.attempts = attempts or WrongKeyLimit()
        self.first_uses = FirstUses()
        self.stored = stored
        self._tokens = tokens
        self._cookie = cookie
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if self._tokens is not None:
            await self._stack.enter_async_context(self._tokens)
        if self.stored is not None:
            await self._stack.enter_async_context(self.stored)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def authenticate_from(self, address: str | None, headers: Headers) -> AuthenticatedUser:
        """Like `authenticate`, for a client with this address. Raises `TooManyAttempts` too."""
        try:
            user = await self.authenticate(headers)
        except UnknownKey:
            if address is not None:
                self.attempts.record_wrong(address)
            raise
        if address is not None:
            self.attempts.record_right(address, user.credential)
        return user

    async def authenticate(self, headers: Headers) -> AuthenticatedUser:
        """Raises `Unauthenticated`."""
        credential = credentials.read(headers, self._cookie)
        if key := self._find_key(credential):
            return AuthenticatedUser(key.user, key.scopes, f"the key {key.name!r}", key=key.name)
        if self._tokens is not None and JWT_PATTERN.fullmatch(credential):
            return replace(await self._tokens.check(credential), token=credential)
        prefix = prefix_of(credential)
        raise UnknownKey(f"Unknown API key rs_{prefix}_…." if prefix else "Unknown API key.")

    def _find_key(self, credential: str) -> AccessKey | None:
        """Raises `Unauthenticated` for a key that is revoked or has expired."""
        key = self._keys.find(credential)
        if self.stored is None:
            return key
        if key is None:
            key = self.stored.find(credential)
        if key is not None:
            self.stored.check(key)
        return key

    @contextmanager
    def lend_key(self, name: str) -> Iterator[str]:
        """A key for this process to call its own faces with. It is valid inside of the block only."""
        key = generate()
        lent = AccessKey(name, prefix_of(key), digest(key), f"key:{name}")
        self._keys.add(lent)
        try:
            yield key
        finally:
            self._keys.remove(lent)

    async def open_session(self, headers: Headers, sessions: Sessions) -> str:
        """The cookie of a new session for the key or token of this request. Raises `Unauthenticated`."""
        user = await self.authenticate(headers)
        key = self._find_key(credentials.read(headers, self._cookie))
        return sessions.open_for_token(user) if key is None else sessions.open_for_key(key)

    def resume_session(self, cookie: str, sessions: Sessions) -> AuthenticatedUser:
        """Raises `SessionExpired`, or `Unauthenticated` if its key is revoked or has expired."""
        claims = sessions.read(cookie)
        if claims.sign_in:
            if not hmac.compare_digest(claims.sign_in, self._sign_in_rules):
                raise SessionExpired
            return AuthenticatedUser(claims.user, claims.scopes, "a session of the identity provider")
        if not claims.key:
            return AuthenticatedUser(claims.user, claims.scopes, "a session of a token")
        named = [*self._keys.named(claims.key), *(self.stored.named(claims.key) if self.stored else ())]
        for key in named:
            if hmac.compare_digest(sessions.prove(key), claims.proof):
                if self.stored is not None:
                    self.stored.check(key)
                return AuthenticatedUser(key.user, key.scopes, f"a session of the key {key.name!r}", key=key.name)
        raise SessionExpired


class RouteAuth:
    """Authorizes requests to the routes of one face. Without an authenticator every principal is `ANYONE`.

    `route_authenticator` serves those routes of an open face that require a credential all the same, see
    `require_credential`. `allowed_origins` are those that may call this face, beside those of the server. With
    `sessions` a cookie counts where a request has no other credential, and a credential that has a right of an operator
    needs no agent of this face. `face_auth` is the `RouteAuth` of the face that this one was derived from.
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
    ) -> None:
        self.face = face
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

    def require_credential(self) -> "RouteAuth":
        """The same, but requiring a credential. Raises `ConfigError` if no credentials are configured."""
        if self._route_authenticator is None:
            raise ConfigError(
                f"The face {self.face!r} requires keys, but none are configured. `rightseat keys new NAME` makes one."
            )
        return RouteAuth(self.face, self._route_authenticator, allowed_origins=self.allowed_origins)

    async def authorize(self, headers: Headers, agent: str | None = None, address: str | None = None) -> Principal:
        """Raises `Unauthenticated` (401), `InsufficientScope` (403), `TooManyAttempts` (429), `IssuerUnavailable` or
        `KeysUnconfirmed` (503). `address` is that of the client, whose wrong keys are counted.

        Without an agent, any scope for this face is enough; call `check_agent` as soon as the agent is known.
        """
        if self._authenticator is None:
            set_caller_token(ANYONE.id, None)
            return ANYONE
        user = await self._authenticate(self._authenticator, headers, address)
        principal = Principal(user.id, scopes.agents(user.scopes, self.face))
        if principal.agents == () and (self._sessions is None or read_rights(user.scopes).is_empty):
            self._forbid(principal, agent)
        self.check_agent(principal, agent)
        set_caller_token(user.id, user.token)
        CALLER.set(msgspec.structs.replace(CALLER.get(), key=user.key))
        routine: dict[str, object] = {ROUTINE: True}
        if self._authenticator.first_uses.is_first(user.credential):
            routine |= {KIND: "key_use", USER: user.id}
        audit.info("%s was used with %s", self.face, user.credential, extra=routine)
        return principal

    async def rights_of(self, headers: Headers) -> OperatorRights:
        """The credential's rights; all of them without an authenticator. Raises `Unauthenticated`."""
        if self._authenticator is None:
            return ALL_RIGHTS
        return read_rights((await self._authenticate(self._authenticator, headers)).scopes)

    async def has_named_scope(self, headers: Headers, face: str) -> bool:
        """Whether the credential has the scope `FACE:*` by that name; True without an authenticator.

        Raises `Unauthenticated`.
        """
        if self._authenticator is None:
            return True
        return scopes.names_face((await self._authenticate(self._authenticator, headers)).scopes, face)

    async def open_session(self, headers: Headers) -> str | None:
        """The cookie of a new session; None without an authenticator. Raises `Unauthenticated`."""
        if self._authenticator is None or self._sessions is None:
            return None
        return await self._authenticator.open_session(headers, self._sessions)

    def has_sign_in_session(self, headers: Headers) -> bool:
        """Whether the request is authenticated by a session of the identity provider."""
        cookie = find_cookie(headers) if self._sessions and not credentials.is_given(headers) else None
        return bool(self._sessions and cookie and self._sessions.read(cookie).sign_in)

    async def _authenticate(
        self, authenticator: Authenticator, headers: Headers, address: str | None = None
    ) -> AuthenticatedUser:
        try:
            cookie = find_cookie(headers) if self._sessions and not credentials.is_given(headers) else None
            if self._sessions and cookie:
                return authenticator.resume_session(cookie, self._sessions)
            return await authenticator.authenticate_from(address, headers)
        except Unauthenticated as error:
            audit.info("%s refused a request: %s", self.face, error, extra={ROUTINE: True})
            raise

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

    def protect(self, handler: Handler, refuse: WriteRefusal, *, requires_credential: bool = False) -> RouteEndpoint:
        """Return the endpoint of a route: the handler, called after authorization.

        `refuse` writes a refusal in the face's protocol. `requires_credential` holds even where the face is open.
        """
        auth = self.require_credential() if requires_credential else self
        return ProtectedEndpoint(self._face_auth, auth, handler, refuse).respond

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

    async def respond(self, request: Request) -> Response:
        address: str | None = client[0] if (client := request.scope.get("client")) else None
        CALLER.set(Caller(address=find_client_network(address) if address else ""))
        try:
            principal = await self.auth.authorize(request.headers, address=address)
        except Unauthenticated as error:
            response = self.refuse(error)
            if isinstance(error, TooManyAttempts):
                response.headers["retry-after"] = str(error.retry_after)
            if error.status == 401:
                response.headers.update(CHALLENGE)
            return response
        return await self._respond_held(request, principal)

    async def _respond_held(self, request: Request, principal: Principal) -> Response:
        """Bound what the handler reads of what is stored, until its response is sent."""
        reads = self.face_auth.reads.open_request(principal.id)
        REQUEST_READS.set(reads)
        try:
            response = await self.handler(request, principal)
            if reads.refusal is not None:
                response.headers.setdefault("retry-after", str(reads.refusal.retry_after))
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
        except BaseException:
            reads.close()
            raise
        return HeldResponse(response, reads)


def refuse_plainly(error: RightseatError) -> Response:
    return PlainTextResponse(error.message, error.status)


def find_route_auth(endpoint: object) -> RouteAuth | None:
    """The `RouteAuth` of the face that protects this endpoint."""
    if isinstance(endpoint, MethodType) and isinstance(endpoint.__self__, ProtectedEndpoint):
        return endpoint.__self__.face_auth
    return None
