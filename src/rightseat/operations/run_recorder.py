"""Records transient runs while they are written, if the configuration asks for it (`evals.record: all`)."""

import logging
from datetime import UTC, datetime, timedelta

from rightseat.core.ask import Ask
from rightseat.core.errors import RightseatError
from rightseat.core.events import Delta, Event, RunFailed, RunFinished, SpanEnded, SpanStarted, ToolCallReturned
from rightseat.core.log import Entry, Writer
from rightseat.core.stream.compaction import compact
from rightseat.operations.audit import format_audit_time
from rightseat.operations.recordings import Recordings, RunRecording, record_ask

logger = logging.getLogger(__name__)

MAX_RECORDED_CHARS = 16 * 2**20
"""Of one run. A longer one is not recorded."""


class RunRecorder:
    """`days` is how long a recording is kept."""

    def __init__(self, store: Recordings, days: float) -> None:
        self._store = store
        self._age = timedelta(days=days)

    def record(self, ask: Ask, writer: Writer) -> Writer:
        return _RecordingWriter(self, ask, writer) if ask.purpose == "answer" else writer

    async def add(self, recording: RunRecording) -> None:
        """A run whose recording cannot be stored goes on."""
        try:
            await self._store.add(recording, self._expiry())
        except RightseatError as error:
            logger.warning("run %s is not recorded: %s", recording.run, error)

    async def keep(self, run: str) -> None:
        """Count the days again, because its user has judged the run, or because a case was made from it."""
        try:
            await self._store.keep(run, self._expiry())
        except RightseatError as error:
            logger.warning("the recording of run %s is not kept for longer: %s", run, error)

    def _expiry(self) -> str:
        return format_audit_time(datetime.now(UTC) + self._age)


class _RecordingWriter:
    """A `Writer` that stores what it has written before the last event of the run."""

    def __init__(self, recorder: RunRecorder, ask: Ask, writer: Writer) -> None:
        self._recorder = recorder
        self._ask = ask
        self._writer = writer
        self._events: list[Event] = []
        self._chars = 0

    @property
    def failure(self) -> RightseatError | None:
        return self._writer.failure

    async def append(self, event: Event) -> Entry:
        self._add(event)
        if isinstance(event, RunFinished | RunFailed):
            await self._store()
        return await self._writer.append(event)

    def append_nowait(self, event: Event) -> Entry:
        self._add(event)
        return self._writer.append_nowait(event)

    async def flush(self) -> None:
        await self._writer.flush()

    def _add(self, event: Event) -> None:
        if isinstance(event, SpanStarted | SpanEnded) or self._chars > MAX_RECORDED_CHARS:
            return
        if isinstance(event, Delta):
            self._chars += len(event.text)
        elif isinstance(event, ToolCallReturned):
            self._chars += len(event.content)
        self._events.append(event)

    async def _store(self) -> None:
        ask = self._ask
        if self._chars > MAX_RECORDED_CHARS:
            logger.warning("run %s is not recorded: it has more than %d characters", ask.run_id, MAX_RECORDED_CHARS)
            return
        recording = RunRecording(
            run=ask.run_id,
            thread=ask.thread_id,
            owner=ask.principal.id,
            agent=ask.agent,
            face=ask.face or None,
            ask=record_ask(ask),
            messages=ask.messages,
            payloads={answer.interrupt_id: answer.payload for answer in ask.answers},
            events=tuple(compact(self._events)),
            is_transient=True,
        )
        await self._recorder.add(recording)
