"""What limits know of a request, in the ask: its credential and address, and the model that they downgraded it to."""

from contextvars import ContextVar

import msgspec


class Caller(msgspec.Struct, frozen=True, omit_defaults=True):
    """The credential and the address of a request. `key` is the name of an API key; empty without one. `address` is a
    network for IPv6."""

    key: str = ""
    address: str = ""


CALLER: ContextVar[Caller] = ContextVar("rightseat_caller", default=Caller())  # noqa: B039  # it is immutable
"""Of the current request, from its task to the ask."""


class Downgrade(msgspec.Struct, frozen=True):
    """A run that another model answers. `limits` are those that led there; they do not count the calls of the run."""

    model: str
    limits: tuple[str, ...]

    @property
    def limit(self) -> str:
        """The one that decided about the model."""
        return self.limits[0]

    def after(self, earlier: "Downgrade | None") -> "Downgrade":
        """The model of the first one stays."""
        return self if earlier is None else Downgrade(earlier.model, (*earlier.limits, *self.limits))
