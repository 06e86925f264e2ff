"""Finds out who sent a request: by its API key, its token, or its session."""

import hmac
import logging
import re
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

from starlette.datastructures import Headers

from rightseat.access import credentials
from rightseat.access.attempts import FirstUses, WrongKeyLimit
from rightseat.access.authorization import OpenRequests
from rightseat.access.ended_sessions import EndedSessions
from rightseat.access.keys import AccessKey, Keys, digest, generate, prefix_of
from rightseat.access.scopes import AuthenticatedUser
from rightseat.access.sessions import SessionClaims, SessionExpired, Sessions
from rightseat.access.stored_keys import StoredKeys
from rightseat.access.trusted_issuer import TrustedIssuer
from rightseat.core.audit import AUDIT_LOGGER
from rightseat.core.errors import Unauthenticated

JWT_PATTERN = re.compile(r"[\w-]+\.[\w-]+\.[\w-]*", re.ASCII)

audit = logging.getLogger(AUDIT_LOGGER)


class TokenVerifier(AbstractAsyncContextManager["TokenVerifier"], Protocol):
    """`access.tokens.Tokens`, which is imported only if the configuration accepts tokens."""

    @property
    def issuer(self) -> TrustedIssuer: ...

    async def check(self, token: str, audience: str = "") -> AuthenticatedUser: ...


class UnknownKey(Unauthenticated):
    """A credential that is no key and no token of this server, and may be a guess."""


class TokenExpired(Unauthenticated):
    def __init__(self) -> None:
        super().__init__("The token has expired. Send a new one.")


class Authenticator:
    """Knows every key and token that this server accepts. `stored` are the keys of the store.

    Sessions of sign-ins are valid under these `sign_in_rules`; empty if no identity provider is configured. Without
    `has_credentials` all users are those of the application around a copilot, and no credential of ours is looked for.
    """

    def __init__(
        self,
        keys: Keys,
        tokens: TokenVerifier | None = None,
        cookie: str | None = None,
        stored: StoredKeys | None = None,
        attempts: WrongKeyLimit | None = None,
        sign_in_rules: str = "",
        ended_sessions: EndedSessions | None = None,
        *,
        has_credentials: bool = True,
    ) -> None:
        self.has_credentials = has_credentials
        self._sign_in_rules = sign_in_rules
        self.ended_sessions = ended_sessions or EndedSessions()
        self.open_requests = OpenRequests()
        self._keys = keys
        self.attempts = attempts or WrongKeyLimit()
        self.first_uses = FirstUses()
        self.stored = stored
        if stored is not None:
            stored.names_in_file = keys.names()
        self.last_uses: dict[str, float] = {}
        """When each key was last used, as far as this process knows: seconds since 1970, by name."""
        self._tokens = tokens
        self._cookie = cookie
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if self._tokens is not None:
            await self._stack.enter_async_context(self._tokens)
        if self.stored is not None:
            await self._stack.enter_async_context(self.stored)
        await self._stack.enter_async_context(self.ended_sessions)
        await self._stack.enter_async_context(self.open_requests)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def token_issuer(self) -> TrustedIssuer | None:
        """The identity provider whose tokens are accepted."""
        return None if self._tokens is None else self._tokens.issuer

    async def authenticate_from(self, address: str | None, headers: Headers, audience: str = "") -> AuthenticatedUser:
        """Like `authenticate`, for a client with this address. Raises `TooManyAttempts` too."""
        try:
            user = await self.authenticate(headers, audience)
        except UnknownKey:
            if address is not None:
                self.attempts.record_wrong(address)
            raise
        if address is not None:
            self.attempts.record_right(address, user.credential)
        return user

    async def authenticate(self, headers: Headers, audience: str = "") -> AuthenticatedUser:
        """Tokens for this `audience` are accepted too. Raises `Unauthenticated`."""
        credential = credentials.read(headers, self._cookie)
        if key := self._find_key(credential):
            self._record_use(key)
            return describe_key_user(key)
        if self._tokens is not None and JWT_PATTERN.fullmatch(credential):
            return replace(await self._tokens.check(credential, audience), token=credential)
        prefix = prefix_of(credential)
        raise UnknownKey(f"Unknown API key rs_{prefix}_…." if prefix else "Unknown API key.")

    def _record_use(self, key: AccessKey) -> None:
        self.last_uses[key.name] = time.time()
        if self.stored is not None:
            self.stored.record_use(key)

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

    def authenticate_again(self, headers: Headers, user: AuthenticatedUser) -> AuthenticatedUser | None:
        """The user whom the headers of an earlier request authenticate now; None for a key that is gone.

        A token is valid until it expires. Raises `Unauthenticated`.
        """
        if user.key:
            key = self._find_key(credentials.read(headers, self._cookie))
            return None if key is None else describe_key_user(key)
        if user.expires_at is not None and user.expires_at <= time.time():
            raise TokenExpired
        return user

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

    def is_given(self, headers: Headers) -> bool:
        """Whether a request has a credential that this server judges, right or wrong."""
        return credentials.is_given(headers, self._cookie)

    async def open_session(self, headers: Headers, sessions: Sessions) -> str:
        """The cookie of a new session for the key or token of this request. Raises `Unauthenticated`."""
        user = await self.authenticate(headers)
        key = self._find_key(credentials.read(headers, self._cookie))
        return sessions.open_for_token(user) if key is None else sessions.open_for_key(key)

    def resume_session(self, cookie: str, sessions: Sessions) -> AuthenticatedUser:
        """Raises `SessionExpired`, or `Unauthenticated` if its key is revoked or has expired."""
        return self.resume_claims(sessions.read(cookie), sessions)

    def resume_claims(self, claims: SessionClaims, sessions: Sessions) -> AuthenticatedUser:
        """The same for the content of a cookie, whose end is not checked again."""
        self.ended_sessions.check(claims.id)
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
                self._record_use(key)
                return AuthenticatedUser(key.user, key.scopes, f"a session of the key {key.name!r}", key=key.name)
        raise SessionExpired


def describe_key_user(key: AccessKey) -> AuthenticatedUser:
    return AuthenticatedUser(key.user, key.scopes, f"the key {key.name!r}", key=key.name)
