"""Keeps the last transient runs of this process for operators: spans and outcomes, no text of the conversation.

Both their number and their size are bounded; the oldest are dropped first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from rightseat.core.ask import Ask
from rightseat.core.events import Event, RunFailed, RunFinished, SpanEnded, SpanStarted
from rightseat.core.run.outcome import LastEvent
from rightseat.core.run.spans import CUT_OFF, SpanRecorder, format_now
from rightseat.core.tracing import Observer
from rightseat.operations.records import RunQuery, RunRecord, begin_record, describe_end, end_record, is_wanted_run

MAX_RUNS = 500
MAX_BYTES = 2 * 2**20
MAX_EVENTS = 400
"""Of one run: 200 spans. Its totals count all spans."""
EVENT_BYTES = 300  # of a span event without its texts, and its place in a list
RUN_BYTES = 2000  # of a run without its events, with its recorder
QUESTION_BYTES = 200  # of the id of an interrupt, and its place in a dict


@dataclass(slots=True, eq=False)
class TransientRun:
    """`record` has no outcome while the run is in progress. It is the sink of its recorder. With `stores_questions` the
    run is stored, and forgotten here, once it has asked some.

    Its questions are stored by its face: `record.is_waiting` is unknown once it has asked some, until one is answered.
    """

    record: RunRecord
    recorder: SpanRecorder
    stores_questions: bool = False
    events: list[SpanStarted | SpanEnded] = field(default_factory=list)
    questions: Sequence[str] = ()
    size_bytes: int = RUN_BYTES

    def append_nowait(self, event: Event) -> None:
        if len(self.events) < MAX_EVENTS and isinstance(event, SpanStarted | SpanEnded):
            self.events.append(event)
            self.size_bytes += EVENT_BYTES + (len(event.name) if isinstance(event, SpanStarted) else 0)

    def end(self, last: LastEvent | None) -> None:
        """Without a last event the run was cut off."""
        end = describe_end(last or RunFailed(CUT_OFF, ""), self.recorder.history.totals, format_now())
        self.record = msgspec.structs.replace(
            end_record(self.record, end), is_waiting=None if end.has_questions else False
        )
        if isinstance(last, RunFinished):
            self.questions = tuple(interrupt.id for interrupt in last.interrupts)
            self.size_bytes += QUESTION_BYTES * len(self.questions)


class TransientRuns:
    def __init__(self, *, max_runs: int = MAX_RUNS, max_bytes: int = MAX_BYTES) -> None:
        self._max_runs = max_runs
        self._max_bytes = max_bytes
        self._runs: dict[str, TransientRun] = {}  # the oldest first
        self._size_bytes = 0  # of the runs that have ended
        self._asking: dict[str, TransientRun] = {}  # by the ids of their questions that no run has answered

    def start(self, ask: Ask, observer: Observer) -> TransientRun:
        """Its `recorder` observes the run and passes its spans on to `observer`."""
        record = begin_record(ask, format_now(), self._take_question_time(ask))
        run = TransientRun(record, SpanRecorder(observer), ask.stores_questions)
        run.recorder.attach(run)
        self._runs[ask.run_id] = run
        return run

    def end(self, run_id: str, last: LastEvent | None) -> None:
        """Without a last event the run was cut off."""
        run = self._runs[run_id]
        run.end(last)
        if run.stores_questions and run.questions:
            del self._runs[run_id]
            return
        self._asking.update(dict.fromkeys(run.questions, run))
        self._size_bytes += run.size_bytes
        self._forget()

    def list(self, query: RunQuery, before: str | None = None) -> Sequence[RunRecord]:
        """The runs of the query that started before this time, the most recently started first, up to its limit."""
        newest = (run.record for run in reversed(self._runs.values()))
        wanted = (one for one in newest if is_wanted_run(one, query) and (before is None or one.started_at < before))
        return [one for one, _ in zip(wanted, range(query.limit + 1), strict=False)]

    def find(self, run_id: str) -> TransientRun | None:
        return self._runs.get(run_id)

    def _take_question_time(self, ask: Ask) -> str | None:
        """When the runs ended whose questions the ask answers; these wait no more."""
        asking = [self._asking.pop(one.interrupt_id, None) for one in ask.answers]
        answered = [run for run in asking if run is not None]
        for run in answered:
            run.record = msgspec.structs.replace(run.record, is_waiting=False)
        return max((run.record.ended_at for run in answered if run.record.ended_at), default=None)

    def _forget(self) -> None:
        """Runs in progress stay: `max_concurrent_runs_per_user` and the limits bound their number."""
        ended = [run for run in self._runs.values() if run.record.ended_at is not None]
        for run in ended:
            if len(self._runs) <= self._max_runs and self._size_bytes <= self._max_bytes:
                return
            del self._runs[run.record.id]
            self._size_bytes -= run.size_bytes
            for question in run.questions:
                if self._asking.get(question) is run:
                    del self._asking[question]
