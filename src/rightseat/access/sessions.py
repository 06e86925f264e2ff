"""Sessions of browsers: a signed cookie that stands for a key or a token which the page sent once, or for a sign-in.

The session of a key ends when the key is removed from the configuration, revoked or expired; the session of a token
ends with the token; that of a sign-in ends when `access.oidc` has another provider or other grants. Every session ends
when its browser signs out (`ended_sessions`). The cookie holds neither key nor token.

Where browsers use https, a session counts only under a name that begins with `__Host-`. A page of a sister domain, or
of the same host over plain http, can set a cookie of any other name, and so sign a browser in as somebody else.
"""

import base64
import hashlib
import hmac
import secrets
import time

import msgspec
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection, cookie_parser
from starlette.responses import Response

from rightseat.access.keys import AccessKey
from rightseat.access.scopes import AuthenticatedUser
from rightseat.core.errors import Unauthenticated

SECURE_COOKIE = "__Host-rightseat"
PLAIN_COOKIE = "rightseat"
"""Browsers accept the prefix `__Host-` only over https."""
ID_BYTES = 16


class SessionClaims(msgspec.Struct, frozen=True, omit_defaults=True):
    """The signed content of a cookie.

    A session of a key has `key` and `proof`, one of a token `user` and `scopes`. One of a sign-in also has `sign_in`:
    the rules under which the identity provider's claims were accepted. `id` is random; a session that an older version
    opened gets its signature as its id, and has no `opened_at`.
    """

    expires_at: float
    key: str = ""
    proof: str = ""
    user: str = ""
    scopes: tuple[str, ...] = ()
    sign_in: str = ""
    id: str = ""
    opened_at: float = 0.0


class SessionExpired(Unauthenticated):
    def __init__(self) -> None:
        super().__init__("The session has ended. Sign in again.")


class Sessions:
    """`public_url` is that of the configuration: with one that begins with https, browsers use https whatever the
    request says, which a proxy may have passed on over plain http."""

    def __init__(self, secret: bytes, hours: float, public_url: str | None = None) -> None:
        self._secret = secret
        self._seconds = hours * 3600
        self._public_url = public_url

    def open_for_key(self, key: AccessKey) -> str:
        return self._sign(SessionClaims(self._end(), key=key.name, proof=self.prove(key), id=new_id()))

    def open_for_token(self, user: AuthenticatedUser) -> str:
        end = min(self._end(), user.expires_at or self._end())
        return self._sign(SessionClaims(end, user=user.id, scopes=user.scopes, id=new_id()))

    def open_for_person(self, user: AuthenticatedUser, rules: str) -> str:
        return self._sign(SessionClaims(self._end(), user=user.id, scopes=user.scopes, sign_in=rules, id=new_id()))

    def find_cookie(self, connection: HTTPConnection) -> str | None:
        """The request's cookie of a session."""
        is_secure = uses_https(connection, self._public_url)
        return read_cookie(connection.headers, SECURE_COOKIE if is_secure else PLAIN_COOKIE)

    def set_cookie(self, response: Response, value: str, connection: HTTPConnection) -> None:
        """A cookie for the browser's session; the server decides when it ends."""
        is_secure = uses_https(connection, self._public_url)
        name = SECURE_COOKIE if is_secure else PLAIN_COOKIE
        response.set_cookie(name, value, httponly=True, samesite="strict", secure=is_secure)

    def delete_cookies(self, response: Response, connection: HTTPConnection) -> None:
        """Also the plain one, which a version before may have set over https."""
        is_secure = uses_https(connection, self._public_url)
        for name in {PLAIN_COOKIE, SECURE_COOKIE if is_secure else PLAIN_COOKIE}:
            response.delete_cookie(name, httponly=True, samesite="strict", secure=is_secure)

    def read(self, cookie: str) -> SessionClaims:
        """Raises `SessionExpired`, also for a cookie that this server did not sign."""
        body, _, signature = cookie.partition(".")
        if not hmac.compare_digest(self._signature(body).encode(), signature.encode()):
            raise SessionExpired
        claims = msgspec.json.decode(base64.urlsafe_b64decode(body), type=SessionClaims)
        self.check_end(claims)
        return claims if claims.id else msgspec.structs.replace(claims, id=signature)

    def check_end(self, claims: SessionClaims) -> None:
        """Raises `SessionExpired`."""
        if claims.expires_at < time.time():
            raise SessionExpired

    def prove(self, key: AccessKey) -> str:
        """Identifies the key by its hash, which the cookie must not reveal."""
        return hmac.digest(self._secret, key.hash.encode(), "sha256").hex()

    def _end(self) -> float:
        return time.time() + self._seconds

    def _sign(self, claims: SessionClaims) -> str:
        claims = msgspec.structs.replace(claims, opened_at=time.time())
        body = base64.urlsafe_b64encode(msgspec.json.encode(claims)).decode()
        return f"{body}.{self._signature(body)}"

    def _signature(self, body: str) -> str:
        return hmac.new(self._secret, body.encode(), hashlib.sha256).hexdigest()


def uses_https(connection: HTTPConnection, public_url: str | None) -> bool:
    """Whether browsers reach this server by https, perhaps through a proxy that is trusted to say so."""
    return connection.scope["scheme"] == "https" or (public_url or "").startswith("https:")


def read_cookie(headers: Headers, name: str) -> str | None:
    found = {name: value for line in headers.getlist("cookie") for name, value in cookie_parser(line).items()}
    return found.get(name) or None


def new_id() -> str:
    return secrets.token_urlsafe(ID_BYTES)
