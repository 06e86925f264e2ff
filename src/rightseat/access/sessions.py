"""Sessions of browsers: a signed cookie that stands for a key or a token which the page sent once, or for a sign-in.

The session of a key ends when the key is removed from the configuration, revoked or expired; the session of a token
ends with the token; that of a sign-in ends when `access.oidc` has another provider or other grants. The cookie holds
neither key nor token.
"""

import base64
import hashlib
import hmac
import os
import secrets
import time
from pathlib import Path

import msgspec
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response

from rightseat.access.keys import AccessKey
from rightseat.access.scopes import AuthenticatedUser
from rightseat.core.errors import Unauthenticated

SECURE_COOKIE = "__Host-rightseat"
PLAIN_COOKIE = "rightseat"
"""Browsers accept the prefix `__Host-` only over https."""
SECRET_BYTES = 32


class SessionClaims(msgspec.Struct, frozen=True, omit_defaults=True):
    """The signed content of a cookie.

    A session of a key has `key` and `proof`, one of a token `user` and `scopes`. One of a sign-in also has `sign_in`:
    the rules under which the identity provider's claims were accepted.
    """

    expires_at: float
    key: str = ""
    proof: str = ""
    user: str = ""
    scopes: tuple[str, ...] = ()
    sign_in: str = ""


class SessionExpired(Unauthenticated):
    def __init__(self) -> None:
        super().__init__("The session has ended. Sign in again.")


class Sessions:
    def __init__(self, secret: bytes, hours: float) -> None:
        self._secret = secret
        self._seconds = hours * 3600

    def open_for_key(self, key: AccessKey) -> str:
        return self._sign(SessionClaims(self._end(), key=key.name, proof=self.prove(key)))

    def open_for_token(self, user: AuthenticatedUser) -> str:
        end = min(self._end(), user.expires_at or self._end())
        return self._sign(SessionClaims(end, user=user.id, scopes=user.scopes))

    def open_for_person(self, user: AuthenticatedUser, rules: str) -> str:
        return self._sign(SessionClaims(self._end(), user=user.id, scopes=user.scopes, sign_in=rules))

    def read(self, cookie: str) -> SessionClaims:
        """Raises `SessionExpired`, also for a cookie that this server did not sign."""
        body, _, signature = cookie.partition(".")
        if not hmac.compare_digest(self._signature(body).encode(), signature.encode()):
            raise SessionExpired
        claims = msgspec.json.decode(base64.urlsafe_b64decode(body), type=SessionClaims)
        if claims.expires_at < time.time():
            raise SessionExpired
        return claims

    def prove(self, key: AccessKey) -> str:
        """Identifies the key by its hash, which the cookie must not reveal."""
        return hmac.digest(self._secret, key.hash.encode(), "sha256").hex()

    def _end(self) -> float:
        return time.time() + self._seconds

    def _sign(self, claims: SessionClaims) -> str:
        body = base64.urlsafe_b64encode(msgspec.json.encode(claims)).decode()
        return f"{body}.{self._signature(body)}"

    def _signature(self, body: str) -> str:
        return hmac.new(self._secret, body.encode(), hashlib.sha256).hexdigest()


def find_cookie(headers: Headers) -> str | None:
    found = {name: value for line in headers.getlist("cookie") for name, value in cookie_parser(line).items()}
    return found.get(SECURE_COOKIE) or found.get(PLAIN_COOKIE)


def set_cookie(response: Response, value: str, *, is_secure: bool) -> None:
    """A cookie for the browser's session; the server decides when it ends."""
    name = SECURE_COOKIE if is_secure else PLAIN_COOKIE
    response.set_cookie(name, value, httponly=True, samesite="strict", secure=is_secure)


def delete_cookies(response: Response, *, is_secure: bool) -> None:
    for name in {PLAIN_COOKIE, SECURE_COOKIE if is_secure else PLAIN_COOKIE}:
        response.delete_cookie(name, httponly=True, samesite="strict", secure=is_secure)


def load_secret(path: Path) -> bytes:
    """The secret in the file; a new one if there is no file."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_bytes()
    with os.fdopen(file, "wb") as opened:
        secret = secrets.token_bytes(SECRET_BYTES)
        opened.write(secret)
    return secret
