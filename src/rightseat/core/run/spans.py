"""Writes the spans of a stored run to its log, and reads them from there.

1. A span is written when it starts and when it ends, beside the agent's events: two entries, whatever it streams.
2. Times are in milliseconds since the `began_at` of `RunStarted`. A process that resumes the run continues to count by
   the wall clock.
3. Spans that are open when a process dies are ended with the error `cut_off` by the process that resumes or closes the
   run. Their work starts again as new spans, whose ids no earlier span of the run has.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from rightseat.core.errors import RightseatError
from rightseat.core.events import Event, RunFailed, RunFinished, RunStarted, SpanEnded, SpanEvent, SpanStarted, Usage
from rightseat.core.tracing import NO_OBSERVER, Attributes, AttributeValue, Observer, Span, TraceKind
from rightseat.core.usage import ModelUsage, RunTotals, add_usage

CUT_OFF = "cut_off"
CANCELLED = "cancelled"
TOKEN_COUNTS = ("input_tokens", "cache_read_tokens", "reasoning_tokens")
ABOUT = ("call", "flow", "plugin")
"""The attributes of a span that the log has; traces have more."""


class SpanHistory:
    """The spans in the events of a run: those that are open, and the totals of all."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.began_at: str | None = None
        self.open: dict[str, SpanStarted] = {}
        self.last_at = 0
        self.started = 0
        """The number of spans that have started."""
        self.finished_calls: dict[str, str] = {}
        """The spans of tool calls that have ended, by the id of the call."""
        self._models: dict[tuple[str, str | None], ModelUsage] = {}
        self._tool_calls = 0
        self._flow: str | None = None
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self.began_at = self.began_at or event.began_at
        elif isinstance(event, SpanStarted):
            self._start(event)
        elif isinstance(event, SpanEnded):
            self._end(event)

    def endings(self, at: int, error: str | None) -> Iterator[SpanEnded]:
        """The events that end all open spans, the last started first."""
        return (SpanEnded(id, at, error=error) for id in reversed([*self.open]))

    @property
    def totals(self) -> RunTotals:
        return RunTotals(tuple(self._models.values()), self._tool_calls, self._flow)

    def _start(self, event: SpanStarted) -> None:
        self.open[event.span] = event
        self.started += 1
        self.last_at = max(self.last_at, event.at)
        if event.kind == "tool":
            self._tool_calls += 1
        elif event.kind == "step" and self._flow is None and event.about and "flow" in event.about:
            self._flow = f"{event.about.get('plugin', '')}.{event.about['flow']}"

    def _end(self, event: SpanEnded) -> None:
        self.last_at = max(self.last_at, event.at)
        started = self.open.pop(event.span, None)
        if started is None:
            return
        if started.kind == "tool" and event.error != CUT_OFF and started.about and "call" in started.about:
            self.finished_calls[str(started.about["call"])] = started.span
        if started.kind == "model":
            self._count_model(started, event)

    def _count_model(self, started: SpanStarted, event: SpanEnded) -> None:
        model = str(started.about["model"]) if started.about and "model" in started.about else None
        known = self._models.get((started.name, model)) or ModelUsage(started.name, 0, None, model)
        usage = add_usage(*(one for one in (known.usage, event.usage) if one)) if known.usage or event.usage else None
        self._models[started.name, model] = ModelUsage(started.name, known.calls + 1, usage, model)


class SpanSink(Protocol):
    """Where spans are written: the log of the run, or a list in memory."""

    def append_nowait(self, event: Event) -> object: ...


class SpanRecorder:
    """A `core.tracing.Observer` of one run. It writes spans to the log, and passes them on to `observer`.

    Spans that start before `attach` are written by it. A failure of the log is not raised here: the writer raises it
    again for the next event of the run. With `keeps_events` spans can be written again to a log that was lost.
    """

    def __init__(self, observer: Observer = NO_OBSERVER, *, keeps_events: bool = False) -> None:
        self.history = SpanHistory()
        self.began_at = format_time(time.time())
        self._observer = observer
        self._clock_offset = -time.monotonic()
        self._writer: SpanSink | None = None
        self._waiting: list[RecordedSpan] = []  # for `attach`
        self._events: list[SpanEvent] | None = [] if keeps_events else None
        self._repeated: Mapping[str, str] = {}  # calls that ended before this process, and their spans

    def resume(self, history: SpanHistory) -> None:
        """Continue the spans and the clock of a run that another process began."""
        self.history = history
        self._repeated = dict(history.finished_calls)
        if history.began_at is not None:
            self.began_at = history.began_at
            elapsed = time.time() - datetime.fromisoformat(history.began_at).timestamp()
            self._clock_offset = elapsed - time.monotonic()

    def attach(self, writer: SpanSink) -> None:
        """Write to this log, which already has the start of the run. Ends the spans of a process that died."""
        self._writer = writer
        self._end_all(CUT_OFF)
        for span in self._waiting:
            self.write_start(span)
        self._waiting.clear()

    def attach_again(self, writer: SpanSink) -> None:
        """Write to this log, which was lost and created again, and add the spans that this process has written.

        Does nothing for a log that has them already.
        """
        if writer is self._writer:
            return
        self._writer = writer
        for event in self._events or ():
            self._append(event)

    def detach(self) -> None:
        """Write nothing more: the log is closed, or belongs to another process."""
        self._writer = None

    def close(self, last: RunFinished | RunFailed) -> None:
        """End all open spans. Later spans are not written."""
        is_cancelled = isinstance(last, RunFinished) and last.outcome == CANCELLED
        self._end_all(last.code if isinstance(last, RunFailed) else CANCELLED if is_cancelled else None)
        self.detach()

    def now(self) -> int:
        """Never before the last span event: the wall clocks of two processes may differ."""
        return max(round((self._clock_offset + time.monotonic()) * 1000), self.history.last_at)

    def start_span(self, kind: TraceKind, name: str, parent: Span | None, attributes: Attributes) -> Span:
        outer = parent if isinstance(parent, RecordedSpan) else None
        inner = self._observer.start_span(kind, name, outer.inner if outer else None, attributes)
        span = RecordedSpan(self, inner, kind, name, outer, attributes)
        if kind == "tool" and (id := self._repeated.get(str(attributes.get("call")))):
            span.id = id  # a call that streams its stored events again
        elif self._writer is None:
            self._waiting.append(span)
        else:
            self.write_start(span)
        return span

    def write_start(self, span: "RecordedSpan") -> None:
        span.id = f"s{self.history.started}"
        parent = span.outer.id if span.outer else None
        name, about = describe_span(span.name, span.attributes)
        self._write(SpanStarted(span.id, span.kind, name, self.now(), parent or None, about or None))

    def write_end(self, ended: SpanEnded) -> None:
        if ended.span in self.history.open:
            self._write(ended)

    def _end_all(self, error: str | None) -> None:
        for ended in [*self.history.endings(self.now(), error)]:
            self._write(ended)

    def _write(self, event: SpanEvent) -> None:
        is_written = self._append(event)
        if self._events is not None:
            self._events.append(event)
        if is_written or self._events is not None:
            self.history.add(event)

    def _append(self, event: SpanEvent) -> bool:
        if self._writer is None:
            return False
        try:
            self._writer.append_nowait(event)
        except RightseatError:
            return False
        return True


class RecordedSpan:
    """`inner` is the span of the observer behind the recorder. `id` is empty until the start is written."""

    __slots__ = (
        "_error",
        "_first",
        "_reason",
        "_recorder",
        "_usage",
        "attributes",
        "id",
        "inner",
        "kind",
        "name",
        "outer",
    )

    def __init__(
        self,
        recorder: SpanRecorder,
        inner: Span,
        kind: TraceKind,
        name: str,
        outer: "RecordedSpan | None",
        attributes: Attributes,
    ) -> None:
        self.id = ""
        self.inner = inner
        self.kind: TraceKind = kind
        self.name = name
        self.outer = outer
        self.attributes = attributes
        self._recorder = recorder
        self._usage: Usage | None = None
        self._reason: str | None = None
        self._error: str | None = None
        self._first: int | None = None

    def note(self, **attributes: AttributeValue) -> None:
        self.inner.note(**attributes)
        if any(name in attributes for name in TOKEN_COUNTS):
            self._usage = note_tokens(self._usage, attributes)
        if reason := attributes.get("reason"):
            self._reason = str(reason)
        if error := attributes.get("error"):
            self._error = str(error)

    def mark_first_chunk(self) -> None:
        self.inner.mark_first_chunk()
        if self.kind == "run":
            return  # the log has the texts themselves
        self._first = self._recorder.now()

    def end(self, error: str | None = None) -> None:
        self.inner.end(error)
        recorder = self._recorder
        recorder.write_end(
            SpanEnded(self.id, recorder.now(), self._first, self._usage, self._reason, error or self._error)
        )


def describe_span(name: str, attributes: Attributes) -> tuple[str, dict[str, str | int]]:
    """The name of a span in the log, and its `about`. A model has the name that the configuration gives it."""
    about = {key: value for key in ABOUT if isinstance(value := attributes.get(key), str | int)}
    key = attributes.get("model_key")
    if not key or key == name:
        return name, about
    return str(key), {"model": name, **about}


def note_tokens(known: Usage | None, attributes: Attributes) -> Usage:
    """The usage so far, with the token counts among the attributes."""
    counts = {key: int(value) for key, value in attributes.items() if key.endswith("_tokens")}
    return msgspec.structs.replace(known or Usage(0, 0), **counts)


def format_now() -> str:
    """The time in the form of stored times."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
