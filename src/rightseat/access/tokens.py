"""JWTs of one issuer, for one audience, signed with a key pair.

A token is good if all of it is: the algorithm is one that is allowed, the signature is by a key of the issuer, issuer
and audience are the configured ones, it has an end that is not over, and it says who it is about.
"""

import time
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
from rightseat.access.scopes import Holder
from rightseat.core.ask import ANYONE
from rightseat.core.errors import Refused

MALFORMED = (JoseError, ValueError, TypeError, KeyError, RecursionError)
LONGEST_USER = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a token must be, and what of it is read."""

    issuer: str
    audience: str
    algorithms: Collection[str]
    user: str = "sub"
    scopes: tuple[str, ...] = ("*",)
    scopes_claim: str | None = None
    leeway: int = 30


class Tokens:
    def __init__(self, rules: Rules, jwks: Jwks, clock: Callable[[], float] = time.time) -> None:
        self._rules = rules
        self._jwks = jwks
        self._signatures = Signatures(algorithms=rules.algorithms, strict_check_header=False)
        self._claims = jwt.JWTClaimsRegistry(
            now=lambda: int(clock()),
            leeway=rules.leeway,
            iss={"essential": True, "value": rules.issuer},
            aud={"essential": True, "value": rules.audience},
            exp={"essential": True},
        )

    async def __aenter__(self) -> Self:
        await self._jwks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._jwks.__aexit__(kind, error, trace)

    async def check(self, token: str) -> Holder:
        """Raises `Refused`, or `Unverifiable` where the issuer's keys cannot be had. Nothing of the token is told."""
        try:
            header = jws.extract_compact(token.encode(), registry=self._signatures).headers()
            self._signatures.get_alg(header["alg"])
            key = await self._jwks.find(header.get("kid"))
            if key is None:
                raise BadSignatureError
            claims = jwt.decode(token, key, registry=self._signatures).claims
            self._claims.validate(claims)
        except MALFORMED as error:
            raise Refused(explain(error)) from None  # its text may hold what the token says
        user = read_user(claims, self._rules.user)
        return Holder(user, self._scopes(claims), f"a token of {user!r}")

    def _scopes(self, claims: dict[str, Any]) -> tuple[str, ...]:
        if self._rules.scopes_claim is None:
            return self._rules.scopes
        said = claims.get(self._rules.scopes_claim)
        named = said.split() if isinstance(said, str) else said if isinstance(said, list) else ()
        return tuple(scope for scope in named if isinstance(scope, str))


class Signatures(jws.JWSRegistry):
    """The algorithms that are allowed. EdDSA may be one: joserfc warns of its name, but issuers go on using it."""

    def get_alg(self, name: str) -> JWSAlgModel:
        if name not in (self.allowed or ()):
            raise UnsupportedAlgorithmError
        return self.algorithms[name]


def explain(error: Exception) -> str:
    match error:
        case UnsupportedAlgorithmError():
            return "The token is signed in a way that is not allowed here."
        case BadSignatureError():
            return "The token is not signed by a key of its issuer."
        case ExpiredTokenError():
            return "The token has expired. Sign in again."
        case InvalidClaimError(claim="iss") | MissingClaimError(claim="iss"):
            return "The token is of another issuer."
        case InvalidClaimError(claim="aud") | MissingClaimError(claim="aud"):
            return "The token is for another audience."
        case InvalidClaimError(claim="nbf" | "iat"):
            return "The token is not valid yet."
        case MissingClaimError():
            return "The token lacks a claim: it should have iss, aud and exp."
        case _:
            return "The token is malformed."


def read_user(claims: dict[str, Any], claim: str) -> str:
    """Not a name that stands for somebody else here: whoever comes through an open door, or the holder of a key."""
    user = claims.get(claim)
    if not isinstance(user, str) or not 0 < len(user) <= LONGEST_USER:
        raise Refused(f"The token does not say who it is about: {claim!r} should be a text.")
    if user == ANYONE.id or user.startswith("key:"):
        raise Refused("The token is about a name that is reserved here.")
    return user
