"""What a run does, for whoever watches the server: spans with a beginning, an end and a parent.

The core tells an `Observer` and knows no telemetry. The observer and the innermost span are in the context of the run's
task. A coroutine opens spans with `observed`, and what it calls sees them as parents. A generator must not change the
context, because whoever reads it shares it: it takes a span with `begin`, and nothing below sees it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple, Protocol

Kind = Literal["run", "model", "tool", "step"]
Value = str | int | float | bool
Attributes = Mapping[str, Value]


class Span(Protocol):
    def note(self, **attributes: Value) -> None:
        """Say more of it, before it ends."""
        ...

    def end(self, error: str | None = None) -> None:
        """It is over; `error` is the code of what went wrong. A span ends once."""
        ...


class Observer(Protocol):
    """It is called from the run itself: it must be quick, and must not raise."""

    def begin(self, kind: Kind, name: str, parent: Span | None, attributes: Attributes) -> Span: ...


class _Nothing:
    """A span, and an observer, where nobody watches."""

    def begin(self, kind: Kind, name: str, parent: Span | None, attributes: Attributes) -> Span:
        return self

    def note(self, **attributes: Value) -> None:
        pass

    def end(self, error: str | None = None) -> None:
        pass


NOBODY = _Nothing()

_observer: ContextVar[Observer] = ContextVar("observer", default=NOBODY)
_span: ContextVar[Span | None] = ContextVar("span", default=None)


class About(NamedTuple):
    """What the work at hand is for, as log lines say it."""

    request: str = ""
    run: str = ""
    thread: str = ""


ABOUT: ContextVar[About] = ContextVar("about", default=About())  # noqa: B039  # nobody can change it


def begin(kind: Kind, name: str, **attributes: Value) -> Span:
    """A span below the innermost one. Whoever takes it ends it."""
    return _observer.get().begin(kind, name, _span.get(), attributes)


@contextmanager
def observed(kind: Kind, name: str, observer: Observer | None = None, **attributes: Value) -> Iterator[Span]:
    """A span around the block, which is the parent of what is begun in it. Not for generators.

    An exception ends it with the exception's code. `observer` is told of all that happens in the block from now on.
    """
    watching = _observer.set(observer) if observer is not None else None
    span = begin(kind, name, **attributes)
    inside = _span.set(span)
    error: str | None = None
    try:
        yield span
    except BaseException as failure:
        error = error_name(failure)
        raise
    finally:
        _span.reset(inside)
        if watching is not None:
            _observer.reset(watching)
        span.end(error)


def error_name(error: BaseException) -> str:
    """The code of an error of ours; else its class."""
    return getattr(error, "code", None) or type(error).__name__
