"""The spans of a run in its log: which there are, when, and that they cost nothing per chunk."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat.core.agent import Agent
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.errors import LogWriteFailed, ModelUnreachable
from rightseat.core.events import Event, RunFinished, RunStarted, SpanEnded, SpanStarted, Usage
from rightseat.core.log import Entry
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.subagents import AgentToolbox
from rightseat.core.messages import user
from rightseat.core.model import CallChunk, Chunk, Model, StopChunk, TextChunk, UsageChunk, set_model_key
from rightseat.core.run.durable import build_run_started
from rightseat.core.run.spans import RecordedSpan, SpanHistory, SpanRecorder
from rightseat.core.runtime import Runtime
from rightseat.core.threads import RunClaim
from rightseat.core.tools import Toolbox
from rightseat.core.tracing import trace_span
from rightseat.core.usage import ModelUsage, RunTotals
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, calls, check_order, says
from rightseat.toolboxes.functions import Function, FunctionToolbox, tool

ANNA = Principal("anna")


@asynccontextmanager
async def running(agent: Agent) -> AsyncIterator[Runtime]:
    runtime = Runtime({"clerk": agent}, log=MemoryLog(), threads=MemoryThreads(), engine=LocalEngine())
    async with asyncio.timeout(30):
        try:
            yield runtime
        finally:
            await runtime.close()


async def events_of(agent: Agent, **given: Any) -> list[Event]:
    async with running(agent) as runtime:
        ask = await runtime.start(Ask(messages=(user("Hi"),), agent="clerk", principal=ANNA, **given))
        return [entry.event async for batch in runtime.follow(ask.run_id) for entry in batch]


def spans_in(events: Sequence[Event]) -> tuple[list[SpanStarted], dict[str, SpanEnded]]:
    ended = {event.span: event for event in events if isinstance(event, SpanEnded)}
    return [event for event in events if isinstance(event, SpanStarted)], ended


def named(model: Model, key: str = "upstream") -> Model:
    set_model_key(model, key)
    return model


def calling(*names: str) -> list[Chunk]:
    chunks = [CallChunk(index, "{}", f"call_{index}", name) for index, name in enumerate(names)]
    return [*chunks, UsageChunk(11, 7), StopChunk("tool_calls")]


def toolboxes(*tools: Function) -> list[Toolbox]:
    return [FunctionToolbox(tools)]


async def test_a_run_has_spans_of_itself_its_model_calls_and_its_tools() -> None:
    both = asyncio.Barrier(2)

    @tool
    async def wait() -> str:
        await both.wait()
        return "done"

    model = named(ScriptedModel([calling("wait", "wait"), [TextChunk("Hi"), UsageChunk(5, 2, 3), StopChunk("stop")]]))

    events = await events_of(Loop(model, toolboxes(wait)))

    started, ended = spans_in(events)
    check_order(events)
    assert [(span.span, span.kind, span.name, span.parent) for span in started] == [
        ("s0", "run", "clerk", None),
        ("s1", "model", "upstream", "s0"),
        ("s2", "tool", "wait", "s0"),
        ("s3", "tool", "wait", "s0"),
        ("s4", "model", "upstream", "s0"),
    ]
    assert started[1].about == {"model": "ScriptedModel"}
    assert started[2].about == {"call": "call_0"}
    assert ended["s1"].usage == Usage(11, 7)
    assert ended["s1"].reason == "tool_calls"
    assert ended["s4"].usage == Usage(5, 2, 3)
    assert all(span.error is None for span in ended.values())
    assert started[3].at <= ended["s2"].at  # side by side
    assert [event.at for event in events if isinstance(event, SpanStarted | SpanEnded)] == sorted(
        event.at for event in events if isinstance(event, SpanStarted | SpanEnded)
    )
    assert SpanHistory(events).totals == RunTotals((ModelUsage("upstream", 2, Usage(16, 9, 3), "ScriptedModel"),), 2)


async def test_the_start_of_a_run_has_its_time_its_face_and_the_answers() -> None:
    answers = (Answer("i-1", "resolved"), Answer("i-2", "cancelled", by="olga"))
    ask = Ask(messages=(), agent="clerk", principal=ANNA, face="operator", answers=answers)

    started = build_run_started(ask, RunClaim(1), SpanRecorder())

    assert started.through == "operator"
    assert [(one.interrupt_id, one.status, one.by) for one in started.answered] == [
        ("i-1", "resolved", "anna"),
        ("i-2", "cancelled", "olga"),
    ]
    assert started.began_at is not None
    assert started.began_at.endswith("Z")


async def test_a_transient_run_has_no_spans() -> None:
    events = await events_of(Loop(ScriptedModel([says("Hi")])), transient=True)

    assert spans_in(events) == ([], {})
    assert isinstance(events[0], RunStarted)
    assert events[0].began_at is None


async def test_a_failed_call_and_its_run_end_with_the_error_code() -> None:
    events = await events_of(Loop(ScriptedModel([[TextChunk("Hi"), ModelUnreachable("Away.")]])))

    _, ended = spans_in(events)
    check_order(events)
    assert (ended["s1"].error, ended["s0"].error) == ("model_unreachable", "model_unreachable")
    assert ended["s1"].first is not None


async def test_a_tool_that_fails_has_the_code_of_its_result() -> None:
    @tool
    async def spoil() -> str:
        raise ValueError("no")

    model = ScriptedModel([calling("spoil"), says("Sorry.")])

    _, ended = spans_in(await events_of(Loop(model, toolboxes(spoil))))

    assert (ended["s2"].error, ended["s0"].error) == ("tool_failed", None)


async def test_a_cancelled_run_ends_its_spans_before_its_last_event() -> None:
    is_running = asyncio.Event()

    @tool
    async def hang() -> str:
        is_running.set()
        await asyncio.Event().wait()
        return ""

    async with running(Loop(ScriptedModel([calling("hang")]), toolboxes(hang))) as runtime:
        ask = await runtime.start(Ask(messages=(user("Hi"),), agent="clerk", principal=ANNA))
        await is_running.wait()
        started, ended = spans_in([entry.event for entry in await runtime.read(ask.run_id)])
        assert [span.span for span in started if span.span not in ended] == ["s0", "s2"]  # the log is live

        await runtime.cancel(ask.run_id)
        events = [entry.event for entry in await runtime.read(ask.run_id)]

    check_order(events)
    assert [ended.error for ended in spans_in(events)[1].values()] == [None, "cancelled", "cancelled"]
    assert events[-1] == RunFinished("cancelled", usage=Usage(11, 7))


async def test_a_run_has_two_entries_more_for_each_call() -> None:
    @tool
    async def look() -> str:
        return "x"

    turns = 7
    model = ScriptedModel([*[calling("look", "look", "look")] * turns, says("Done.")])

    events = await events_of(Loop(model, toolboxes(look)))

    spans = [event for event in events if isinstance(event, SpanStarted | SpanEnded)]
    assert len(spans) == 2 * (1 + (turns + 1) + 3 * turns)


async def test_the_recorder_does_nothing_while_chunks_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    counts: list[int] = []
    for owner in (SpanRecorder, RecordedSpan, SpanHistory):
        for name, method in list(vars(owner).items()):
            if callable(method) and name != "__init__":
                monkeypatch.setattr(owner, name, noting(called, f"{owner.__name__}.{name}", method))

    for chunks in (1, 50, 5000):
        called.clear()
        await events_of(Loop(ScriptedModel([says(*["word "] * chunks)])))
        counts.append(len(called))

    assert counts[0] > 0
    assert counts == [counts[0]] * 3


def noting(called: list[str], name: str, method: Any) -> Any:
    def call(*args: Any, **given: Any) -> Any:
        called.append(name)
        return method(*args, **given)

    return call


async def test_spans_of_a_streaming_tool_are_inside_of_its_span() -> None:
    inner = Loop(named(ScriptedModel([says("Four.")]), "small"), description="Counts.")
    outer = Loop(
        named(ScriptedModel([calls("counter", '{"question": "2 + 2?"}'), says("It is four.")])),
        [AgentToolbox({"counter": inner})],
    )

    started, _ = spans_in(await events_of(outer))

    assert [(span.kind, span.name, span.parent) for span in started] == [
        ("run", "clerk", None),
        ("model", "upstream", "s0"),
        ("tool", "counter", "s0"),
        ("model", "small", "s2"),
        ("model", "upstream", "s0"),
    ]


class FailingWriter:
    """Refuses every event after the first two."""

    failure = None

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def append(self, event: Event) -> Entry:
        raise AssertionError("spans are written without waiting")

    def append_nowait(self, event: Event) -> Entry:
        if len(self.events) == 2:
            raise LogWriteFailed("the disk is full")
        self.events.append(event)
        return Entry(1, len(self.events), event)

    async def flush(self) -> None:
        pass


def test_a_log_that_cannot_be_written_does_not_fail_the_work() -> None:
    recorder, writer = SpanRecorder(), FailingWriter()
    recorder.attach(writer)

    with trace_span("run", "clerk", recorder), trace_span("model", "a"), trace_span("tool", "b") as inner:
        inner.note(error="x")

    assert [type(event) for event in writer.events] == [SpanStarted, SpanStarted]


def test_a_process_that_resumes_a_run_ends_open_spans_and_repeats_no_id() -> None:
    began_at = "2026-01-01T00:00:00.000Z"
    log: list[Event] = [
        RunStarted("r", "t", "clerk", began_at=began_at),
        SpanStarted("s0", "run", "clerk", 0),
        SpanStarted("s1", "model", "upstream", 2, "s0"),
        SpanEnded("s1", 10, usage=Usage(11, 7)),
        SpanStarted("s2", "tool", "look", 11, "s0"),
    ]
    recorder, writer = SpanRecorder(), RecordingWriter()
    recorder.resume(SpanHistory(log))

    with trace_span("run", "clerk", recorder):
        recorder.attach(writer)
        with trace_span("model", "upstream") as span:
            span.note(input_tokens=5, output_tokens=3)
        recorder.close(RunFinished("done"))

    check_order([*log, *writer.events, RunFinished("done")])
    started, ended = spans_in(writer.events)
    assert [(span.span, span.parent) for span in started] == [("s3", None), ("s4", "s3")]
    assert (ended["s2"].error, ended["s0"].error, ended["s3"].error) == ("cut_off", "cut_off", None)
    assert started[0].at > 365 * 24 * 3600 * 1000 / 2  # by the wall clock, since `began_at`
    assert recorder.began_at == began_at
    assert recorder.history.totals == RunTotals((ModelUsage("upstream", 2, Usage(16, 10)),), 1)


def test_a_call_that_ended_before_the_takeover_has_no_second_span() -> None:
    log: list[Event] = [
        RunStarted("r", "t", "clerk", began_at="2026-01-01T00:00:00.000Z"),
        SpanStarted("s0", "run", "clerk", 0),
        SpanStarted("s1", "tool", "flow", 1, "s0", {"call": "c1"}),
        SpanEnded("s1", 9),
        SpanStarted("s2", "tool", "flow", 10, "s0", {"call": "c2"}),
    ]
    recorder, writer = SpanRecorder(), RecordingWriter()
    recorder.resume(SpanHistory(log))

    with trace_span("run", "clerk", recorder):
        recorder.attach(writer)
        for call in ("c1", "c2"):
            with trace_span("tool", "flow", call=call), trace_span("model", "upstream"):
                pass
        recorder.close(RunFinished("done"))

    check_order([*log, *writer.events, RunFinished("done")])
    assert [(span.span, span.kind, span.parent) for span in spans_in(writer.events)[0]] == [
        ("s3", "run", None),
        ("s4", "model", "s1"),
        ("s5", "tool", "s3"),
        ("s6", "model", "s5"),
    ]


def test_a_log_that_was_lost_gets_the_spans_again_once() -> None:
    recorder, lost, again = SpanRecorder(keeps_events=True), FailingWriter(), RecordingWriter()

    with trace_span("run", "clerk", recorder):
        recorder.attach(lost)
        with trace_span("model", "upstream"), trace_span("tool", "look"):
            pass  # the log is lost after two entries
        recorder.attach_again(again)
        recorder.attach_again(again)
        recorder.close(RunFinished("done"))

    check_order([RunStarted("r", "t", "clerk"), *again.events, RunFinished("done")])
    assert [span.kind for span in spans_in(again.events)[0]] == ["run", "model", "tool"]


class RecordingWriter(FailingWriter):
    def append_nowait(self, event: Event) -> Entry:
        self.events.append(event)
        return Entry(2, len(self.events), event)


def test_the_clock_of_a_run_never_goes_back_where_another_process_resumes_it() -> None:
    log: list[Event] = [
        RunStarted("r", "t", "clerk", began_at="2999-01-01T00:00:00.000Z"),
        SpanStarted("s0", "run", "clerk", 5000),
    ]
    recorder = SpanRecorder()
    recorder.resume(SpanHistory(log))

    assert recorder.now() == 5000
