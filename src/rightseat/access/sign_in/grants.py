"""From the claims of a user to scopes, by the exact values that the configuration grants something to."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rightseat.access import scopes
from rightseat.access.scopes import AuthenticatedUser, read_rights
from rightseat.access.sign_in.refusal import SignInRefused
from rightseat.access.tokens import read_user
from rightseat.config import Oidc

Claims = Mapping[str, Any]


def grant_scopes(options: Oidc, claims: Claims) -> AuthenticatedUser:
    """Raises `Unauthenticated` without a valid user id, and `SignInRefused` if nothing of the console is granted."""
    user = read_user(dict(claims), options.user_claim)
    granted = [scope for grant in options.grants if applies(grant.path, grant.value, claims) for scope in grant.scopes]
    found = tuple(dict.fromkeys(granted))
    if scopes.agents(found, "operator") == () and read_rights(found).is_empty:
        raise SignInRefused("no_access", f"no grant of `access.oidc.grants` lets the user {user!r} use the console")
    return AuthenticatedUser(user, found, f"a sign-in with {options.display_name}")


def applies(path: Sequence[str], value: str | None, claims: Claims) -> bool:
    if value is None:
        return True
    found = read_claim(path, claims)
    return value in found if isinstance(found, list) else found == value


def read_claim(path: Sequence[str], claims: Claims) -> Any:
    """None if there is no such claim."""
    found: Any = claims
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def lacks_claims(options: Oidc, claims: Claims) -> bool:
    """Whether a claim that the configuration names is missing: some providers only have it in the user info."""
    paths = [(options.user_claim,), *(grant.path for grant in options.grants if grant.path)]
    return any(read_claim(path, claims) is None for path in paths)


def digest_rules(options: Oidc) -> str:
    """Identifies the provider and the grants. A session that was opened under others ends."""
    rules = [options.issuer, options.client_id, options.user_claim, [grant.model_dump() for grant in options.grants]]
    return hashlib.sha256(msgspec.json.encode(rules)).hexdigest()[:32]
