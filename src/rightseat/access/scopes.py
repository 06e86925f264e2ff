"""What a credential is for: faces and agents, as `face:agent`. Either may be `*`, and `*` alone is everything."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a credential stands for, and what it is for. `by` is what the audit log calls it.

    `token` is the credential itself, where it is a token of the user's: an issuer's, and no key of ours.
    """

    user: str
    scopes: tuple[str, ...]
    by: str
    token: str | None = field(default=None, repr=False)


def agents(scopes: Iterable[str], face: str) -> tuple[str, ...] | None:
    """The agents that the scopes open at this face; None is all of them."""
    found: list[str] = []
    for scope in scopes:
        its_face, _, agent = scope.partition(":")
        if its_face not in ("*", face):
            continue
        if agent in ("*", ""):
            return None
        found.append(agent)
    return tuple(found)
