"""Runs, from their first event to their last, whatever happens in between."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import msgspec
import pytest
from pydantic import JsonValue

from rightseat.core.agent import Agent
from rightseat.core.artifacts import Artifacts, StoredArtifact
from rightseat.core.ask import Ask, Principal, ToolOffer
from rightseat.core.engine import Steps
from rightseat.core.errors import (
    AgentNotFound,
    BadRequest,
    InternalError,
    MaxTurnsExceeded,
    ModelRefused,
    ModelRefusedKey,
    ModelUnreachable,
    RightseatError,
    RunExists,
    RunNotFound,
)
from rightseat.core.events import (
    Event,
    ReasoningStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    StateReplaced,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallStarted,
)
from rightseat.core.hooks import Hooks
from rightseat.core.log import Log
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Call, Message, Result, Text, user
from rightseat.core.model import CallChunk, StopChunk, TextChunk
from rightseat.core.run.outcome import Failure
from rightseat.core.runtime import Runtime
from rightseat.core.threads import RunClaim, Threads
from rightseat.core.tools import Invocation, Tool
from rightseat.core.usage import RunTotals
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.stores.files import MemoryArtifacts
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, calls, check_order, says
from tests.conditions import settle, until
from tests.events import without_spans

ANNA = Principal("anna")


@dataclass
class Doing:
    """An agent that is one function."""

    run: Callable[[Ask, Steps], AsyncIterator[Event]]
    description: str = ""


def saying(*events: Event | Exception) -> Agent:
    """An agent that says this, and raises what is an exception."""

    async def run(ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        for event in events:
            if isinstance(event, Exception):
                raise event
            yield event

    return Doing(run)


class Endless:
    """An agent that opens some things, and then goes on until it is cancelled."""

    description = ""

    def __init__(self) -> None:
        self.is_waiting = asyncio.Event()
        self.was_closed = False

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        try:
            yield StepStarted("answering")
            yield TextStarted("m")
            yield TextDelta("m", "Let me")
            yield ReasoningStarted("m")
            yield ToolCallStarted("c", "search", "m")
            yield ToolCallDelta("c", '{"q"')
            self.is_waiting.set()
            await asyncio.Event().wait()
        finally:
            self.was_closed = True


@asynccontextmanager
async def running(
    agent: Agent,
    *,
    log: Log | None = None,
    threads: Threads | None = None,
    hooks: Hooks | None = None,
    artifacts: Artifacts | None = None,
) -> AsyncIterator[Runtime]:
    runtime = Runtime(
        {"default": agent},
        log=log or MemoryLog(),
        threads=threads or MemoryThreads(),
        engine=LocalEngine(),
        hooks=hooks,
        artifacts=artifacts,
    )
    async with asyncio.timeout(30):
        try:
            yield runtime
        finally:
            await runtime.close()


def asking(text: str = "Hi", run_id: str = "r", thread_id: str = "t", state: JsonValue = None) -> Ask:
    return Ask(messages=(user(text),), run_id=run_id, thread_id=thread_id, principal=ANNA, state=state)


async def heard(runtime: Runtime, run_id: str = "r", after: str | None = None) -> list[Event]:
    return without_spans([entry.event async for batch in runtime.follow(run_id, after) for entry in batch])


async def answer(runtime: Runtime, ask: Ask) -> list[Event]:
    """Ask, hear the run to its end, and hold it against the rules."""
    await runtime.start(ask)
    events = [entry.event async for batch in runtime.follow(ask.run_id) for entry in batch]
    check_order(events)
    return without_spans(events)


# From first to last


async def test_a_run_has_the_events_of_the_agent_between_its_start_and_its_end() -> None:
    ask = asking()
    async with running(saying(TextStarted("m"), TextDelta("m", "Hi"), TextEnded("m"))) as runtime:
        events = await answer(runtime, ask)

    assert events == [
        RunStarted("r", "t", "default", new_messages=ask.messages),
        TextStarted("m"),
        TextDelta("m", "Hi"),
        TextEnded("m"),
        RunFinished("done"),
    ]


async def test_a_run_whose_client_has_something_to_do_ends_as_waiting() -> None:
    offer = ToolOffer("show_chart", "Draw a chart.", {"type": "object"})
    async with running(Loop(ScriptedModel([calls("show_chart")]))) as runtime:
        events = await answer(runtime, msgspec.structs.replace(asking(), tools=(offer,)))

    assert events[-1] == RunFinished("waiting")


async def messages_of(runtime: Runtime) -> Sequence[Message]:
    thread = await runtime.thread("t", ANNA)
    return thread.messages if thread else ()


async def test_a_run_continues_without_followers() -> None:
    async with running(Loop(ScriptedModel([says(*"word " * 1000)]))) as runtime:
        ask = await runtime.start(asking())
        messages = await until(lambda: messages_of(runtime))
        events = await heard(runtime, ask.run_id)

    check_order(events)
    assert messages[-1].text == "word " * 1000


async def test_a_follower_resumes_after_the_last_entry_that_it_received() -> None:
    async with running(Loop(ScriptedModel([says("Hel", "lo")]))) as runtime:
        events = await answer(runtime, asking())
        seen, *_ = [entry for entry in await runtime.read("r") if isinstance(entry.event, TextDelta)]

        assert await heard(runtime, after=seen.id) == events[3:]


async def test_a_follower_that_stops_reading_pauses_the_agent_and_no_other_run() -> None:
    said = 0

    async def talk(ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        nonlocal said
        if ask.run_id == "quick":
            return
        yield TextStarted("m")
        for said in range(10_000):  # noqa: B007  # counted from outside
            yield TextDelta("m", "x")

    async with running(Doing(talk)) as runtime:
        await runtime.start(asking(run_id="stuck", thread_id="a"))
        async with aclosing(runtime.follow("stuck")) as batches:
            await anext(batches)
            await settle()
            assert said < 100
            assert (await answer(runtime, asking(run_id="quick", thread_id="b")))[-1] == RunFinished("done")


async def test_a_run_is_started_once() -> None:
    async with running(saying()) as runtime:
        await runtime.start(asking())

        with pytest.raises(RunExists):
            await runtime.start(asking())


async def test_an_agent_that_is_not_there_is_refused_before_anything_starts() -> None:
    async with running(saying()) as runtime:
        with pytest.raises(AgentNotFound, match=r"No agent named 'nobody'\. Configured: default\."):
            await runtime.start(Ask(messages=(user("Hi"),), agent="nobody", run_id="r"))

        with pytest.raises(RunNotFound):
            await heard(runtime)


async def test_a_model_is_asked_by_its_name_unless_an_agent_has_it() -> None:
    async with running(saying()) as runtime:
        for name in ("default", "bare"):
            runtime.models[name] = ScriptedModel([says("Hi")])
        theirs = await answer(runtime, Ask(messages=(user("Hi"),), run_id="a"))
        its_own = await answer(runtime, Ask(messages=(user("Hi"),), agent="bare", run_id="b"))

    assert not any(isinstance(event, TextDelta) for event in theirs)
    assert [event.text for event in its_own if isinstance(event, TextDelta)] == ["Hi"]


async def test_an_agent_need_not_be_a_generator() -> None:
    class Events:
        """An iterator as a class: it has no `aclose`."""

        def __init__(self) -> None:
            self.left: list[Event] = [TextEnded("m"), TextStarted("m")]

        def __aiter__(self) -> AsyncIterator[Event]:
            return self

        async def __anext__(self) -> Event:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    async with running(Doing(lambda ask, steps: Events())) as runtime:
        events = await answer(runtime, asking())

    assert events[1:] == [TextStarted("m"), TextEnded("m"), RunFinished("done")]


# What is kept


async def test_the_thread_is_kept_before_the_run_is_over() -> None:
    ask = asking("Hi", state={"mood": "good"})
    agent = saying(TextStarted("m"), TextDelta("m", "Hello"), TextEnded("m"), StateReplaced({"mood": "better"}))
    async with running(agent) as runtime:
        await runtime.start(ask)
        async for batch in runtime.follow("r"):
            if any(isinstance(entry.event, RunFinished) for entry in batch):
                thread = await runtime.thread("t", ANNA)

    assert thread is not None
    assert thread.messages == (*ask.messages, Message("assistant", (Text("Hello"),), id="m"))
    assert thread.state == {"mood": "better"}
    assert [run.outcome for run in thread.runs] == ["done"]


async def test_a_state_that_the_agent_does_not_change_is_saved_as_the_client_sent_it() -> None:
    async with running(saying()) as runtime:
        await answer(runtime, asking(state={"mood": "good"}))

        thread = await runtime.thread("t", ANNA)

    assert thread is not None
    assert thread.state == {"mood": "good"}


async def test_a_thread_is_not_shown_to_another() -> None:
    async with running(saying()) as runtime:
        await answer(runtime, asking())

        assert await runtime.thread("t", Principal("ben")) is None


# Failures


@pytest.mark.parametrize(
    "error",
    [
        BadRequest("The picture cannot be read."),
        ModelRefusedKey("The model provider returned HTTP 401: it does not accept the API key."),
        ModelRefused("The model provider returned HTTP 429.", 429),
        ModelUnreachable("Cannot reach the model server."),
        MaxTurnsExceeded(16),
    ],
)
async def test_a_rightseat_error_ends_the_run_with_its_code_and_message(error: RightseatError) -> None:
    async with running(saying(TextStarted("m"), error)) as runtime:
        events = await answer(runtime, asking())

    assert events[-2:] == [TextEnded("m", complete=False), RunFailed(error.code, error.message)]


async def test_an_unexpected_error_is_reported_without_its_text_and_logged_with_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = ConnectionError("postgres://admin:secret@db is down")
    async with running(saying(TextStarted("m"), error)) as runtime:
        events = await answer(runtime, asking(run_id="run_7"))

    match events[-1]:
        case RunFailed(code="internal_error", message=message):
            assert "run_7" in message
            assert "secret" not in message
        case other:
            pytest.fail(f"ended with {other}")
    [record] = caplog.records
    assert "run_7" in record.getMessage()
    assert record.exc_info
    assert record.exc_info[1] is error


async def test_an_agent_may_emit_run_failed_itself() -> None:
    async with running(saying(TextStarted("m"), RunFailed("remote_error", "The other side gave up."))) as runtime:
        events = await answer(runtime, asking())

    assert events[-1] == RunFailed("remote_error", "The other side gave up.")


async def test_an_agent_that_breaks_the_rules_fails_and_leaves_nothing_open() -> None:
    async with running(saying(TextStarted("m"), TextDelta("other", "Hi"))) as runtime:
        events = await answer(runtime, asking())

    assert isinstance(events[-1], RunFailed)
    assert events[-1].code == "internal_error"


async def test_something_cancelled_inside_the_agent_is_a_failure_and_no_cancel() -> None:
    async def run(ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        yield TextStarted("m")
        connection: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        connection.cancel()
        await connection

    async with running(Doing(run)) as runtime:
        events = await answer(runtime, asking())

    assert isinstance(events[-1], RunFailed)
    assert events[-1].code == "internal_error"


@dataclass
class Unreliable(MemoryThreads):
    """A store whose database is away, or takes its time."""

    def __init__(self, *, begin: bool = True, finish: bool = True) -> None:
        super().__init__()
        self.begins, self.finishes = begin, finish
        self.is_beginning, self.is_finishing = asyncio.Event(), asyncio.Event()
        self.may_begin, self.may_finish = asyncio.Event(), asyncio.Event()
        self.may_begin.set()
        self.may_finish.set()

    async def claim(
        self, ask: Ask, *, again: bool = False, artifact: StoredArtifact | None = None, needs_slot: bool = False
    ) -> RunClaim:
        self.is_beginning.set()
        await self.may_begin.wait()
        if not self.begins:
            raise ConnectionError("secret database is down")
        return await super().claim(ask, artifact=artifact)

    async def finish(
        self,
        ask: Ask,
        said: tuple[Message, ...],
        state: JsonValue,
        last: RunFinished | RunFailed,
        totals: RunTotals | None = None,
    ) -> None:
        self.is_finishing.set()
        await self.may_finish.wait()
        if not self.finishes:
            raise ConnectionError("secret database is down")
        await super().finish(ask, said, state, last, totals)


async def test_a_store_that_fails_to_begin_refuses_the_run() -> None:
    async with running(saying(), threads=Unreliable(begin=False)) as runtime:
        with pytest.raises(InternalError):
            await runtime.start(asking())

        with pytest.raises(RunNotFound):
            await heard(runtime)


async def test_a_store_that_fails_at_the_end_fails_the_run_so_that_no_follower_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures: list[Failure] = []

    async def on_error(ask: Ask, failure: Failure) -> None:
        failures.append(failure)

    async with running(saying(), threads=Unreliable(finish=False), hooks=Hooks(on_error=[on_error])) as runtime:
        events = await answer(runtime, asking())

    assert isinstance(events[-1], RunFailed)
    assert events[-1].code == "internal_error"
    (failure,) = failures
    assert (failure.code, failure.message) == (events[-1].code, events[-1].message)
    assert (failure.source, failure.operation) == ("runtime", "save_thread")
    assert any(record.exc_info for record in caplog.records)


async def test_the_first_of_two_failures_is_reported() -> None:
    async with running(saying(ModelUnreachable("gone")), threads=Unreliable(finish=False)) as runtime:
        events = await answer(runtime, asking())

    assert events[-1] == RunFailed("model_unreachable", "gone")


async def test_a_run_that_was_taken_over_by_another_process_stops_without_a_word() -> None:
    log, taken_over = MemoryLog(), asyncio.Event()
    called: list[str] = []

    async def run(ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        yield StateReplaced("ours")
        await taken_over.wait()
        yield StateReplaced("too late")

    async def hook(ask: Ask, outcome: object) -> None:
        called.append("hook")

    hooks, ask = Hooks(after_request=[hook], on_error=[hook]), asking()
    async with running(Doing(run), log=log, hooks=hooks) as runtime:
        await runtime.start(ask)
        await settle()
        async with log.open("r", 1000) as other:
            taken_over.set()
            await settle()
            await other.append(RunFinished("done"))
        events = await heard(runtime)
        thread = await runtime.thread("t", ANNA)

    assert events == [
        RunStarted("r", "t", "default", new_messages=ask.messages),
        StateReplaced("ours"),
        RunFinished("done"),
    ]
    assert thread is not None
    assert thread.messages == ()
    assert called == []


# Cancelling


async def test_a_cancel_ends_open_events_and_finishes_the_run_as_cancelled() -> None:
    agent = Endless()
    async with running(agent) as runtime:
        await runtime.start(asking())
        await agent.is_waiting.wait()

        assert await runtime.cancel("r") is True
        assert agent.was_closed
        events = await heard(runtime)

    check_order(events)
    assert events[-1] == RunFinished("cancelled")


async def test_messages_before_a_cancel_are_saved() -> None:
    agent = Endless()
    async with running(agent) as runtime:
        await runtime.start(asking())
        await agent.is_waiting.wait()
        await runtime.cancel("r")

        thread = await runtime.thread("t", ANNA)

    assert thread is not None
    assert thread.messages[-1].parts == (Text("Let me"), Call("c", "search", '{"q"'))


async def test_a_run_that_is_not_there_is_not_cancelled() -> None:
    async with running(saying()) as runtime:
        await answer(runtime, asking())
        await settle()

        assert await runtime.cancel("r") is False
        assert await runtime.cancel("nobody") is False


async def test_a_run_that_is_cancelled_before_it_began_still_comes_to_an_end() -> None:
    async with running(Endless()) as runtime:
        await runtime.start(asking())
        await runtime.cancel("r")
        events = await heard(runtime)

    check_order(events)
    assert events[-1] == RunFinished("cancelled")


async def test_a_start_that_is_cancelled_during_the_claim_releases_the_thread_and_leaves_no_run() -> None:
    threads = Unreliable()
    threads.may_begin.clear()
    async with running(saying(), threads=threads) as runtime:
        starting = asyncio.create_task(runtime.start(asking()))
        await threads.is_beginning.wait()
        starting.cancel()
        await settle()
        threads.may_begin.set()
        await asyncio.wait((starting,))

        assert starting.cancelled()
        with pytest.raises(RunNotFound):
            await heard(runtime)
        assert (await answer(runtime, asking(run_id="next")))[-1] == RunFinished("done")


def record(id: str) -> StoredArtifact:
    return StoredArtifact(id, "default", id, "text/plain", b"a record")


async def test_the_artifact_of_a_run_is_stored_before_the_run_starts() -> None:
    found: list[StoredArtifact | None] = []

    async def look(ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        found.append(await threads.artifacts.get("x_1", ANNA))
        for event in (TextStarted("m"), TextDelta("m", "Hi"), TextEnded("m")):
            yield event

    threads = MemoryThreads()
    async with running(Doing(look), threads=threads, artifacts=threads.artifacts) as runtime:
        await runtime.start(asking(), lambda _: record("x_1"))
        await heard(runtime)

    assert found == [record("x_1")]


async def test_a_start_that_is_cancelled_leaves_no_artifact() -> None:
    threads = Unreliable()
    threads.may_begin.clear()
    async with running(saying(), threads=threads, artifacts=threads.artifacts) as runtime:
        starting = asyncio.create_task(runtime.start(asking(), lambda _: record("x_1")))
        await threads.is_beginning.wait()
        starting.cancel()
        await settle()
        threads.may_begin.set()
        await asyncio.wait((starting,))

        assert starting.cancelled()
        assert await threads.artifacts.get("x_1", ANNA) is None


async def test_the_artifact_of_a_run_is_stored_beside_a_store_without_artifacts() -> None:
    class Plain(MemoryThreads):
        async def claim(
            self, ask: Ask, *, again: bool = False, artifact: StoredArtifact | None = None, needs_slot: bool = False
        ) -> RunClaim:
            return await super().claim(ask, again=again)

    artifacts = MemoryArtifacts()
    async with running(saying(), threads=Plain(), artifacts=artifacts) as runtime:
        await runtime.start(asking(), lambda _: record("x_1"))
        await heard(runtime)

    assert await artifacts.get("x_1", ANNA) == record("x_1")


async def test_a_cancel_that_comes_while_the_thread_is_kept_is_too_late() -> None:
    threads = Unreliable()
    threads.may_finish.clear()
    async with running(saying(), threads=threads) as runtime:
        await runtime.start(asking())
        await threads.is_finishing.wait()
        cancelling = asyncio.create_task(runtime.cancel("r"))
        await settle()
        threads.may_finish.set()
        await cancelling
        events = await heard(runtime)
        thread = await runtime.thread("t", ANNA)

    assert events[-1] == RunFinished("done")
    assert thread is not None


async def test_a_run_that_waits_for_its_reader_can_be_cancelled() -> None:
    async def talk(ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        yield TextStarted("m")
        while True:
            yield TextDelta("m", "x")

    async with running(Doing(talk)) as runtime:
        await runtime.start(asking())
        async with aclosing(runtime.follow("r")) as batches:
            events = [entry.event for entry in await anext(batches)]
            await settle()
            assert await runtime.cancel("r") is True
            events += [entry.event async for batch in batches for entry in batch]

    check_order(events)
    assert events[-1] == RunFinished("cancelled")


async def test_a_cancel_is_a_cancel_though_the_agent_fails_to_close() -> None:
    is_waiting = asyncio.Event()

    async def run(ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        yield TextStarted("m")
        is_waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise ConnectionError("could not even hang up")

    async with running(Doing(run)) as runtime:
        await runtime.start(asking())
        await is_waiting.wait()
        await runtime.cancel("r")
        events = await heard(runtime)

    check_order(events)
    assert events[-1] == RunFinished("cancelled")


async def test_closing_the_runtime_cancels_what_still_runs() -> None:
    agent = Endless()
    async with running(agent) as runtime:
        await runtime.start(asking())
        await agent.is_waiting.wait()
        await runtime.close()
        events = await heard(runtime)

    assert events[-1] == RunFinished("cancelled")


# Hooks


async def test_a_hook_before_the_run_may_change_what_is_asked() -> None:
    model = ScriptedModel([says("Hi")])

    async def politely(ask: Ask) -> Ask:
        return asking(ask.messages[-1].text + ", please")

    async def twice(ask: Ask) -> Ask:
        return asking(ask.messages[-1].text * 2)

    async def only_look(ask: Ask) -> None:
        pass

    async with running(Loop(model), hooks=Hooks(before_request=[politely, only_look, twice])) as runtime:
        changed = await runtime.start(asking("Help"))
        await heard(runtime)

    assert changed.messages[-1].text == "Help, pleaseHelp, please"
    assert model.prompts[0].messages == changed.messages


async def test_a_hook_before_the_run_may_refuse_it() -> None:
    async def refuse(ask: Ask) -> None:
        raise BadRequest("Not on Sundays.")

    async with running(saying(), hooks=Hooks(before_request=[refuse])) as runtime:
        with pytest.raises(BadRequest, match="Not on Sundays"):
            await runtime.start(asking())

        with pytest.raises(RunNotFound):
            await heard(runtime)


async def test_a_hook_before_the_run_that_breaks_refuses_it_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(ask: Ask) -> None:
        raise ConnectionError("secret database is down")

    async with running(saying(), hooks=Hooks(before_request=[broken])) as runtime:
        with pytest.raises(InternalError) as caught:
            await runtime.start(asking())

    assert "secret" not in caught.value.message
    assert any(record.exc_info for record in caplog.records)


async def test_a_hook_after_the_run_gets_all_of_its_messages() -> None:
    said: list[tuple[Message, ...]] = []

    async def keep(ask: Ask, messages: tuple[Message, ...]) -> None:
        said.append(messages)

    async def search(invocation: Invocation) -> str:
        return "42"

    class Box:
        async def tools(self, ask: Ask) -> Sequence[Tool]:
            return [Tool("search", "", {"type": "object"}, search)]

    model = ScriptedModel(
        [
            [TextChunk("Let me"), TextChunk(" see."), CallChunk(0, '{"q":', "c", "search"), CallChunk(0, "1}")],
            [TextChunk("It is 42."), StopChunk("stop")],
        ]
    )
    async with running(Loop(model, [Box()]), hooks=Hooks(after_request=[keep])) as runtime:
        await answer(runtime, asking())

    [messages] = said
    assert [message.parts for message in messages] == [
        (Text("Let me see."), Call("c", "search", '{"q":1}')),
        (Result("c", "search", "42"),),
        (Text("It is 42."),),
    ]


async def test_a_hook_for_failures_gets_the_failure_and_the_hook_after_the_run_nothing() -> None:
    told: list[object] = []

    async def after(ask: Ask, messages: tuple[Message, ...]) -> None:
        told.append(messages)

    async def on_error(ask: Ask, failure: Failure) -> None:
        told.append((failure.code, failure.message))

    hooks = Hooks(after_request=[after], on_error=[on_error])
    async with running(saying(ModelUnreachable("gone")), hooks=hooks) as runtime:
        await answer(runtime, asking())

    assert told == [("model_unreachable", "gone")]


async def test_a_cancelled_run_is_neither_answered_nor_failed() -> None:
    told: list[object] = []

    async def hook(ask: Ask, what: object) -> None:
        told.append(what)

    agent = Endless()
    async with running(agent, hooks=Hooks(after_request=[hook], on_error=[hook])) as runtime:
        await runtime.start(asking())
        await agent.is_waiting.wait()
        await runtime.cancel("r")

    assert told == []


async def test_a_hook_that_fails_is_logged_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    told: list[object] = []

    async def broken(ask: Ask, what: object) -> None:
        raise ConnectionError("the audit service is down")

    async def sound(ask: Ask, what: object) -> None:
        told.append(what)

    def broken_at_once(ask: Ask, what: object) -> "asyncio.Future[None]":
        raise ConnectionError("not even a coroutine")

    hooks = [broken, broken_at_once, sound]
    async with running(Loop(ScriptedModel([says("Hi")])), hooks=Hooks(after_request=[*hooks])) as runtime:
        answered = await answer(runtime, asking())
    async with running(saying(ModelUnreachable("gone")), hooks=Hooks(on_error=[*hooks])) as runtime:
        failed = await answer(runtime, asking())

    assert answered[-1] == RunFinished("done")
    assert failed[-1] == RunFailed("model_unreachable", "gone")
    assert len(told) == 2
    assert len([record for record in caplog.records if record.exc_info]) == 4


async def test_a_hook_after_the_run_is_not_cut_short_by_a_cancel() -> None:
    """A client that has read the last event goes away, and its face cancels what is over already."""
    is_told, may_go_on, done = asyncio.Event(), asyncio.Event(), list[str]()

    async def audit(ask: Ask, messages: tuple[Message, ...]) -> None:
        is_told.set()
        await may_go_on.wait()
        done.append("written")

    async with running(saying(), hooks=Hooks(after_request=[audit])) as runtime:
        await answer(runtime, asking())
        await is_told.wait()
        cancelling = asyncio.create_task(runtime.cancel("r"))
        await settle()
        may_go_on.set()
        await cancelling

    assert done == ["written"]
