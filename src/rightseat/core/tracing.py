"""Tracing: reports the runs, model calls, tool calls and steps of the server as nested spans.

The core reports to an `Observer` and depends on no telemetry library. The observer and the innermost span are in the
context of the run's task. A coroutine opens spans with `trace_span`, and they become the parents of spans in the code
that it calls. A generator shares its context with its consumer, so its spans have no children, unless it is the only
work of its task until it ends: then it uses `SpanScope`.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, Self

TraceKind = Literal["run", "model", "tool", "step"]
AttributeValue = str | int | float | bool
Attributes = Mapping[str, AttributeValue]


class Span(Protocol):
    def note(self, **attributes: AttributeValue) -> None:
        """Add attributes before the span ends."""
        ...

    def mark_first_chunk(self) -> None:
        """The first chunk of a model response has arrived, or the first text of a run. Called at most once."""
        ...

    def end(self, error: str | None = None) -> None:
        """End the span, exactly once. `error` is the code of the error, if there was one."""
        ...


class Observer(Protocol):
    """Called from within the run: it must be fast and must not raise."""

    def start_span(self, kind: TraceKind, name: str, parent: Span | None, attributes: Attributes) -> Span: ...


class _NullObserver:
    """An observer, and a span, that do nothing."""

    def start_span(self, kind: TraceKind, name: str, parent: Span | None, attributes: Attributes) -> Span:
        return self

    def note(self, **attributes: AttributeValue) -> None:
        pass

    def mark_first_chunk(self) -> None:
        pass

    def end(self, error: str | None = None) -> None:
        pass


NO_OBSERVER = _NullObserver()

_observer: ContextVar[Observer] = ContextVar("observer", default=NO_OBSERVER)
_span: ContextVar[Span | None] = ContextVar("span", default=None)


class LogContext(NamedTuple):
    """The ids that log lines of the current task contain."""

    request: str = ""
    run: str = ""
    thread: str = ""


LOG_CONTEXT: ContextVar[LogContext] = ContextVar("about", default=LogContext())  # noqa: B039  # it is immutable


REQUEST_BEGAN: ContextVar[float | None] = ContextVar("request_began", default=None)
"""When the request of the current task came, by `time.perf_counter`; None if nothing measures requests."""


def current_span() -> Span | None:
    """The innermost span."""
    return _span.get()


def start_span(kind: TraceKind, name: str, **attributes: AttributeValue) -> Span:
    """Start a child of the innermost span. The caller ends it."""
    return _observer.get().start_span(kind, name, _span.get(), attributes)


def trace_span(
    kind: TraceKind, name: str, observer: Observer | None = None, **attributes: AttributeValue
) -> "_TracedBlock":
    """A span around the block, and the parent of spans that start in it. Not for generators.

    An exception ends it with the exception's code. `observer` receives this span and all spans in the block.
    """
    return _TracedBlock(kind, name, observer, attributes)


class _TracedBlock:
    """A class and not a generator, because every run keeps one open: it takes a third of the memory."""

    __slots__ = ("_attributes", "_inside", "_kind", "_name", "_observer", "_span", "_watching")

    def __init__(self, kind: TraceKind, name: str, observer: Observer | None, attributes: Attributes) -> None:
        self._kind: TraceKind = kind
        self._name = name
        self._observer = observer
        self._attributes: Attributes | None = attributes

    def __enter__(self) -> Span:
        self._watching = _observer.set(self._observer) if self._observer is not None else None
        self._span = _observer.get().start_span(self._kind, self._name, _span.get(), self._attributes or {})
        self._attributes = None
        self._inside = _span.set(self._span)
        return self._span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _span.reset(self._inside)
        if self._watching is not None:
            _observer.reset(self._watching)
        self._span.end(None if error is None else error_name(error))


class SpanScope:
    """Makes a span the parent of spans that start until `close`. For a generator, which closes it before it ends.

    Only for a generator that runs alone in its task: its consumer starts no other span in between.
    """

    __slots__ = ("_outer",)

    def __init__(self, span: Span) -> None:
        self._outer = _span.get()
        _span.set(span)

    def close(self) -> None:
        _span.set(self._outer)  # a token could not be reset: the generator may be closed in another context


class LazySpan:
    """A span that starts with the first work inside of it, and is the parent of spans in that work.

    For work that is skipped if its result is stored: a step without work in this process has no span.
    """

    __slots__ = ("_attributes", "_kind", "_name", "_span")

    def __init__(self, kind: TraceKind, name: str, **attributes: AttributeValue) -> None:
        self._kind: TraceKind = kind
        self._name = name
        self._attributes = attributes
        self._span: Span | None = None

    def start(self) -> Span:
        """Start the span, unless it has started."""
        if self._span is None:
            self._span = start_span(self._kind, self._name, **self._attributes)
        return self._span

    @contextmanager
    def work(self) -> Iterator[Span]:
        """Around work in a coroutine. The span stays open after it."""
        span = self.start()
        inside = _span.set(span)
        try:
            yield span
        finally:
            _span.reset(inside)

    def end(self, error: str | None = None) -> None:
        """End the span, if it has started."""
        if self._span is not None:
            self._span.end(error)
            self._span = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the span, with the code of an exception."""
        self.end(None if error is None else error_name(error))


def error_name(error: BaseException) -> str:
    """The code of a `RightseatError`, `cancelled`, or the class name of any other exception."""
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        return "cancelled"
    return getattr(error, "code", None) or type(error).__name__
