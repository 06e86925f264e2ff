"""Holds the caller's token for outbound requests on behalf of the user.

A context variable carries it from the task of the request to the task of the run. It is never stored: neither in the
ask, nor in the log, nor in the data of a durable run. A run that is resumed in another process has no token.
"""

from contextvars import ContextVar
from typing import NamedTuple

from rightseat.core.ask import Principal


class CallerToken(NamedTuple):
    user: str
    token: str

    def __repr__(self) -> str:
        return f"CallerToken({self.user!r})"


_CALLER_TOKEN: ContextVar[CallerToken | None] = ContextVar("rightseat_caller_token", default=None)


def set_caller_token(user: str, token: str | None) -> None:
    """Called in the task of the request, after the token was verified. None means that the request has no token."""
    _CALLER_TOKEN.set(None if token is None else CallerToken(user, token))


def get_caller_token(principal: Principal) -> str | None:
    """None if there is no token, or if the task was started for another user, as in a long session."""
    caller = _CALLER_TOKEN.get()
    return caller.token if caller is not None and caller.user == principal.id else None
