"""The credential and the address of the current request, from the task of the request to the ask."""

from contextvars import ContextVar

from rightseat.core.limits.rules import Caller

CALLER: ContextVar[Caller] = ContextVar("rightseat_caller", default=Caller())  # noqa: B039  # it is immutable
