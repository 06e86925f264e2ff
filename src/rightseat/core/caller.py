"""The credential and the address of the current request, from the task of the request to the ask."""

from contextvars import ContextVar

from rightseat.core.limits.rules import Caller, Subject

CALLER: ContextVar[Caller] = ContextVar("rightseat_caller", default=Caller())  # noqa: B039  # it is immutable


def own_subjects(user: str) -> dict[Subject, str]:
    """Whose counters the current request may see: those of its user and of its key."""
    return {"user": user, "key": CALLER.get().key}
