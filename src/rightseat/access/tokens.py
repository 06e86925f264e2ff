"""Verifies JWTs of one issuer, for one audience, with asymmetric signatures.

A valid token has an allowed algorithm, a signature by a key of the issuer, the configured issuer and audience, an
expiry in the future, and a user id.
"""

import time
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from joserfc import jws, jwt
from joserfc.errors import (
    BadSignatureError,
    ExpiredTokenError,
    InvalidClaimError,
    JoseError,
    MissingClaimError,
    UnsupportedAlgorithmError,
)
from joserfc.jwa import JWSAlgModel

from rightseat.access.jwks import Jwks
from rightseat.access.scopes import AuthenticatedUser
from rightseat.access.trusted_issuer import TrustedIssuer
from rightseat.core.ask import ANYONE
from rightseat.core.errors import Unauthenticated

MALFORMED = (JoseError, ValueError, TypeError, KeyError, RecursionError)
MAX_USER_CHARS = 255
TOKEN_TYPES = ("", "jwt", "at+jwt")
"""In the header `typ`. Issuers sign other things with the same keys: notices of a sign-out, security events, proofs."""
EVENTS_CLAIM = "events"
"""Of security events (RFC 8417), whose `typ` was optional once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The requirements for tokens, and the claims that are read."""

    issuer: str
    audience: str
    algorithms: Collection[str]
    user_claim: str = "sub"
    scopes: tuple[str, ...] = ("*",)
    scopes_claim: str | None = None
    leeway_seconds: int = 30


class Tokens:
    def __init__(self, rules: Rules, jwks: Jwks, clock: Callable[[], float] = time.time) -> None:
        self._rules = rules
        self._jwks = jwks
        self._algorithms = AllowedAlgorithms(algorithms=rules.algorithms, strict_check_header=False)
        self._clock = clock
        self._claims = self._require_audience(rules.audience)

    @property
    def issuer(self) -> TrustedIssuer:
        return TrustedIssuer(self._rules.issuer, has_scopes=self._rules.scopes_claim is not None)

    def _require_audience(self, *audiences: str) -> jwt.JWTClaimsRegistry:
        return jwt.JWTClaimsRegistry(
            now=lambda: int(self._clock()),
            leeway=self._rules.leeway_seconds,
            iss={"essential": True, "value": self._rules.issuer},
            aud={"essential": True, "values": list(audiences)},
            exp={"essential": True},
        )

    async def __aenter__(self) -> Self:
        await self._jwks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._jwks.__aexit__(kind, error, trace)

    async def check(self, token: str, audience: str = "") -> AuthenticatedUser:
        """`audience` is accepted beside that of the rules.

        Raises `Unauthenticated`, or `IssuerUnavailable` if the issuer's keys cannot be read. Errors never quote the
        token.
        """
        required = self._require_audience(self._rules.audience, audience) if audience else self._claims
        try:
            claims = (await decode_signed(token, self._jwks, self._algorithms)).claims
            required.validate(claims)
            if EVENTS_CLAIM in claims:
                raise WrongTokenType
        except MALFORMED as error:
            raise Unauthenticated(explain(error)) from None  # its text may quote the token
        user = read_user(claims, self._rules.user_claim)
        return AuthenticatedUser(user, self._scopes(claims), f"a token of {user!r}", expires_at=float(claims["exp"]))

    def _scopes(self, claims: dict[str, Any]) -> tuple[str, ...]:
        if self._rules.scopes_claim is None:
            return self._rules.scopes
        value = claims.get(self._rules.scopes_claim)
        scopes = value.split() if isinstance(value, str) else value if isinstance(value, list) else ()
        return tuple(scope for scope in scopes if isinstance(scope, str))


class AllowedAlgorithms(jws.JWSRegistry):
    """The allowed algorithms. EdDSA may be one: joserfc deprecates the name, but issuers still use it."""

    def get_alg(self, name: str) -> JWSAlgModel:
        if name not in (self.allowed or ()):
            raise UnsupportedAlgorithmError
        return self.algorithms[name]


async def decode_signed(token: str, jwks: Jwks, algorithms: AllowedAlgorithms) -> jwt.Token:
    """The header and the claims of a token that a key of the issuer signed. The claims are not checked.

    Raises `MALFORMED` errors, `UnknownKeyId` among them, and `IssuerUnavailable`.
    """
    header = jws.extract_compact(token.encode(), registry=algorithms).headers()
    algorithms.get_alg(header["alg"])
    if str(header.get("typ") or "").lower().removeprefix("application/") not in TOKEN_TYPES:
        raise WrongTokenType
    key = await jwks.find(header.get("kid"))
    if key is None:
        raise UnknownKeyId
    return jwt.decode(token, key, registry=algorithms)


class UnknownKeyId(BadSignatureError):
    """The issuer publishes no key with the id in the token's header."""


class WrongTokenType(JoseError):
    """The issuer signed it, but not as a token of a user."""


def explain(error: Exception) -> str:
    match error:
        case WrongTokenType():
            return "The token is of another type: neither an access token nor an ID token."
        case UnsupportedAlgorithmError():
            return "The signature algorithm of the token is not allowed."
        case BadSignatureError():
            return "The token is not signed by a key of its issuer."
        case ExpiredTokenError():
            return "The token has expired. Sign in again."
        case InvalidClaimError(claim="iss") | MissingClaimError(claim="iss"):
            return "The token has another issuer."
        case InvalidClaimError(claim="aud") | MissingClaimError(claim="aud"):
            return "The token is for another audience."
        case InvalidClaimError(claim="nbf" | "iat"):
            return "The token is not valid yet."
        case MissingClaimError():
            return "The token lacks a claim: iss, aud and exp are required."
        case _:
            return "The token is malformed."


def read_user(claims: dict[str, Any], claim: str) -> str:
    """Refuses ids that are reserved for unauthenticated requests and for API keys."""
    user = claims.get(claim)
    if not isinstance(user, str) or not 0 < len(user) <= MAX_USER_CHARS:
        raise Unauthenticated(f"The token has no user id: the claim {claim!r} should be a non-empty string.")
    if not user.strip() or any(unicodedata.category(character) in ("Cc", "Cs") for character in user):
        raise Unauthenticated(f"The user id of the token, in the claim {claim!r}, is blank or has control characters.")
    if user == ANYONE.id or user.startswith("key:"):
        raise Unauthenticated("The user id of the token is reserved.")
    return user
