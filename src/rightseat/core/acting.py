"""The token of whoever is signed in, for what is done in their name.

It goes along with the task of a request to the task of the run, and is written nowhere: it is not in the ask, not in
the log, and not in what is kept of a durable run. A run that goes on in another process has none.
"""

from contextvars import ContextVar
from typing import NamedTuple

from rightseat.core.ask import Principal


class Signed(NamedTuple):
    user: str
    token: str

    def __repr__(self) -> str:
        return f"Signed({self.user!r})"


_SIGNED: ContextVar[Signed | None] = ContextVar("rightseat_signed", default=None)


def sign(user: str, token: str | None) -> None:
    """Called by whoever has checked the token, in the task of the request. None: this one came without a token."""
    _SIGNED.set(None if token is None else Signed(user, token))


def token_of(principal: Principal) -> str | None:
    """None too where the task was begun for somebody else, as one of a long session may be."""
    signed = _SIGNED.get()
    return signed.token if signed is not None and signed.user == principal.id else None
