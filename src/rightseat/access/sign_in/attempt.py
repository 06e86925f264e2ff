"""A sign-in in progress. The browser keeps it in an encrypted cookie, so that any replica can finish it."""

import secrets

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response

from rightseat.access.sessions import read_cookie
from rightseat.access.sign_in.refusal import SignInRefused

SECURE_ATTEMPT_COOKIE = "__Host-rightseat-sign-in"
PLAIN_ATTEMPT_COOKIE = "rightseat-sign-in"
"""Browsers accept the prefix `__Host-` only over https."""
ATTEMPT_S = 600
NOT_BEGUN = "the browser sent no cookie of a sign-in in progress: it took too long, or was begun in another browser"


class SignInAttempt(msgspec.Struct, frozen=True):
    """`state` ties the provider's response to this browser, `nonce` its ID token, and `verifier` (PKCE) the code."""

    state: str
    nonce: str
    verifier: str


def new_attempt() -> SignInAttempt:
    """256 random bits each."""
    return SignInAttempt(*(secrets.token_urlsafe(32) for _ in range(3)))


def find_attempt_cookie(headers: Headers, *, is_secure: bool) -> str:
    """Over https only under the name that no sister domain can set: else it could have its victim finish the sign-in of
    an attacker. Raises `SignInRefused`."""
    cookie = read_cookie(headers, SECURE_ATTEMPT_COOKIE if is_secure else PLAIN_ATTEMPT_COOKIE)
    if not cookie:
        raise SignInRefused("expired", NOT_BEGUN)
    return cookie


def set_attempt_cookie(response: Response, value: str, *, is_secure: bool) -> None:
    """`Lax`: the provider's redirect is a navigation from another site, for which `Strict` cookies are not sent."""
    name = SECURE_ATTEMPT_COOKIE if is_secure else PLAIN_ATTEMPT_COOKIE
    response.set_cookie(name, value, max_age=ATTEMPT_S, httponly=True, samesite="lax", secure=is_secure)


def delete_attempt_cookie(response: Response, *, is_secure: bool) -> None:
    name = SECURE_ATTEMPT_COOKIE if is_secure else PLAIN_ATTEMPT_COOKIE
    response.delete_cookie(name, httponly=True, samesite="lax", secure=is_secure)
