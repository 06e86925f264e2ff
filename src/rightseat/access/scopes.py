"""Scopes of credentials, as `face:agent`. Either half may be `*`; `*` alone allows every face and every agent.

The rights of operators are scopes too, and no other scope includes them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rightseat.core.ask import AgentNames
from rightseat.core.types import JsonValue
from rightseat.operations.rights import OperatorRights


@dataclass(frozen=True, slots=True)
class AuthenticatedUser:
    """The user that a credential authenticates. `credential` describes it in the audit log.

    `token` is the user's own token if an issuer signed it; it is None for our API keys.
    """

    id: str
    scopes: tuple[str, ...]
    credential: str
    token: str | None = field(default=None, repr=False)
    key: str = ""
    """The name of the API key; empty for a token."""
    expires_at: float | None = field(default=None, compare=False)
    """When the token expires, in seconds since 1970."""
    claims: Mapping[str, JsonValue] | None = field(default=None, compare=False)
    """What the application around a copilot knows about its user; None for a user of ours."""


def agents(scopes: Iterable[str], face: str) -> AgentNames:
    """The agents that the scopes allow at this face; None means all of them."""
    return _named_agents(scopes, ("*", face, f"{face}.*"))


def read_rights(scopes: Sequence[str]) -> OperatorRights:
    """A right must be named, as `operator.watch:AGENT` or `usage:*`; `operator.*:AGENT` names all for these agents.

    The scope `*` includes none, so that a key of a user never becomes that of an operator.
    """
    watch, read, act, author = (
        _named_agents(scopes, (f"operator.{right}", "operator.*")) for right in ("watch", "read", "act", "author")
    )
    return OperatorRights(watch, read, act, author, usage=_named_agents(scopes, ("usage",)) is None)


def _named_agents(scopes: Iterable[str], faces: Sequence[str]) -> AgentNames:
    found: list[str] = []
    for scope in scopes:
        face, _, agent = scope.partition(":")
        if face not in faces:
            continue
        if agent in ("*", ""):
            return None
        found.append(agent)
    return tuple(found)
