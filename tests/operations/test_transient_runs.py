"""The last runs that are not stored: bounded in number and size, with all spans counted."""

import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.events import Interrupt, RunFailed, RunFinished
from rightseat.core.tracing import NO_OBSERVER
from rightseat.operations.records import RecordReader, RunQuery
from rightseat.operations.transient_runs import EVENT_BYTES, MAX_EVENTS, RUN_BYTES, TransientRun, TransientRuns

DONE = RunFinished("done")


def start(runs: TransientRuns, id: str, user: str = "anna") -> TransientRun:
    return runs.start(
        Ask(messages=(), run_id=id, principal=Principal(user), face="openai", transient=True), NO_OBSERVER
    )


def call_models(run: TransientRun, times: int) -> None:
    for _ in range(times):
        span = run.recorder.start_span("model", "upstream", None, {})
        span.note(input_tokens=3, output_tokens=2)
        span.end()


def ids(runs: TransientRuns, query: RunQuery | None = None) -> list[str]:
    return [one.id for one in runs.list(query or RunQuery())]


def test_a_run_has_its_spans_outcome_and_totals() -> None:
    runs = TransientRuns()
    run = start(runs, "r1")
    call_models(run, 2)
    runs.end(run.record.id, DONE)

    (record,) = runs.list(RunQuery())
    assert (record.id, record.user, record.face, record.outcome) == ("r1", "anna", "openai", "done")
    assert (record.model_calls, record.input_tokens, record.output_tokens) == (2, 6, 4)
    assert [event.span for event in run.events] == ["s0", "s0", "s1", "s1"]


def test_a_failed_run_has_its_code_and_one_without_a_last_event_was_cut_off() -> None:
    runs = TransientRuns()
    runs.end(start(runs, "r1").record.id, RunFailed("model_error", "Away."))
    runs.end(start(runs, "r2").record.id, None)

    assert [(one.outcome, one.code) for one in runs.list(RunQuery())] == [
        ("failed", "cut_off"),
        ("failed", "model_error"),
    ]


def test_the_oldest_runs_are_dropped_by_number_but_not_those_in_progress() -> None:
    runs = TransientRuns(max_runs=2)
    start(runs, "open")
    for number in range(3):
        runs.end(start(runs, f"r{number}").record.id, DONE)

    assert ids(runs) == ["r2", "open"]
    assert runs.find("r1") is None


def test_the_oldest_runs_are_dropped_by_size() -> None:
    runs = TransientRuns(max_bytes=2 * RUN_BYTES + 10 * EVENT_BYTES)
    small, large = start(runs, "small"), start(runs, "large")
    call_models(large, 6)
    runs.end(small.record.id, DONE)
    runs.end(large.record.id, DONE)

    assert ids(runs) == ["large"]


def test_a_run_keeps_few_events_and_counts_all_spans() -> None:
    runs = TransientRuns()
    run = start(runs, "r1")
    call_models(run, MAX_EVENTS)
    runs.end(run.record.id, DONE)

    assert len(run.events) == MAX_EVENTS
    assert run.record.model_calls == MAX_EVENTS


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (RunQuery(user="bob"), ["r2"]),
        (RunQuery(outcome="running"), ["r2"]),
        (RunQuery(reader=RecordReader("anna")), ["r1"]),
        (RunQuery(thread="elsewhere"), []),
    ],
    ids=["user", "outcome", "reader", "thread"],
)
def test_runs_are_selected_like_stored_ones(query: RunQuery, expected: list[str]) -> None:
    runs = TransientRuns()
    runs.end(start(runs, "r1").record.id, DONE)
    start(runs, "r2", "bob")

    assert ids(runs, query) == expected


def test_a_run_that_is_stored_because_it_asks_is_forgotten() -> None:
    runs = TransientRuns()
    asking = RunFinished("waiting", (Interrupt("i1", "approval_required", "May I?"),))
    for id, last in (("r1", asking), ("r2", DONE)):
        ask = Ask(messages=(), run_id=id, principal=Principal("anna"), transient=True, stores_questions=True)
        runs.start(ask, NO_OBSERVER)
        runs.end(id, last)

    assert ids(runs) == ["r2"]
