"""The engine on DBOS, with real databases, in processes that are killed."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, Engine, event, text

from rightseat.core.ask import Answer, Ask
from rightseat.core.engine import Perform, Resumed, Steps
from rightseat.core.errors import ConfigError, NotConfigured, RunExists
from rightseat.core.events import (
    Event,
    MessagesReplaced,
    RunFailed,
    RunFinished,
    SpanEnded,
    SpanStarted,
    TextDelta,
    ToolCallReturned,
)
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Message, user
from rightseat.core.model import CallChunk, Chunk, Prompt, StopChunk, TextChunk
from rightseat.core.run.spans import SpanHistory
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Invocation, Tool
from rightseat.engines.dbos import DbosEngine
from rightseat.engines.dbos.system import DbosSystem
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.logs.postgres import Options as PostgresOptions
from rightseat.logs.postgres import build as postgres_log
from rightseat.logs.sqlite.log import SqliteLog
from rightseat.stores.databases import connect
from rightseat.stores.memory import MemoryThreads
from rightseat.stores.sql import SqlThreads
from rightseat.testing import ScriptedModel, calls, check_order
from tests.conditions import until
from tests.databases import migrated_database, migrated_file
from tests.services import schema

ROOT = Path(__file__).parent.parent.parent
LEASE = 1.0


class Halting:
    """A model that speaks a word at a time, and halts in the middle of the answer `halt`, if that is given."""

    def __init__(self, halt: int | None) -> None:
        self._halt = halt

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        results = sum(message.role == "tool" for message in prompt.messages)
        for word in ("one ", "two ", "three "):
            yield TextChunk(f"{results}:{word}")
        if results == self._halt:
            await asyncio.Event().wait()
        if results == 0:
            yield CallChunk(0, "{}", "same-id", "charge")
        yield StopChunk("tool_calls" if results == 0 else "stop")


class Shop:
    """A tool that notes its calls in a file; it halts after its effect, if it is told to."""

    def __init__(self, folder: Path, *, halts: bool) -> None:
        self._file = folder / "charges"
        self._halts = halts

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        return [Tool("charge", "", {"type": "object"}, self._charge)]

    async def _charge(self, invocation: Invocation) -> str:
        with self._file.open("a") as file:
            file.write(f"{invocation.key}\n")
        if self._halts:
            await asyncio.Event().wait()
        return "charged"


@asynccontextmanager
async def serving(
    folder: Path, url: str | None, *, halt: int | None = None, shop_halts: bool = False
) -> AsyncIterator[Runtime]:
    """What a server is made of: on files in the folder, or on PostgreSQL."""
    path = folder / "rightseat.db"
    async with AsyncExitStack() as stack:
        log = SqliteLog(path) if url is None else postgres_log(PostgresOptions(url=url))
        await stack.enter_async_context(log)  # type: ignore[arg-type]
        threads = await stack.enter_async_context(SqlThreads(connect(url or path, LEASE)))
        engine = DbosEngine(DbosSystem(url or folder / "steps.db", schema_of(url)), max_attempts=3)
        loop = Loop(Halting(halt), [Shop(folder, halts=shop_halts)], durable=True)
        runtime = Runtime({"default": loop}, log=log, threads=threads, engine=engine)
        stack.push_async_callback(runtime.close)
        await runtime.open()
        yield runtime


async def serve(folder: Path, url: str | None, halt: str) -> None:
    """The process that is killed. It says what the followers of its run get to see."""
    async with serving(folder, url, halt=int(halt) if halt.isdecimal() else None, shop_halts=halt == "shop") as runtime:
        if halt != "nothing":
            await runtime.start(ask())
        async for batch in runtime.follow("r"):
            for entry in batch:
                sys.stdout.write(f"{entry.id} {type(entry.event).__name__}\n")
            sys.stdout.flush()


def schema_of(url: str | None) -> str:
    """DBOS has a schema for its tables; in a test that has a schema of its own, it is that one."""
    return url.rpartition("%3D")[2] if url and "%3D" in url else "dbos"


def ask() -> Ask:
    return Ask(messages=(Message("user", user("Charge it.").parts, id="u"),), run_id="r", thread_id="t")


# Each start of a killed process's successor costs seconds. The gate kills on one of the two databases, which differ in
# nothing that such a test shows; tests of this file without kills run on both.
ON_SQLITE = pytest.mark.parametrize("url", ["sqlite", pytest.param("postgres", marks=pytest.mark.night)], indirect=True)
ON_POSTGRES = pytest.mark.parametrize(
    "url", [pytest.param("sqlite", marks=pytest.mark.night), "postgres"], indirect=True
)


@pytest.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str | None]:
    if request.param == "sqlite":
        migrated_file(tmp_path / "rightseat.db")
        migrated_file(tmp_path / "steps.db", "steps.db")
        yield None
        return
    async with migrated_database() as url:
        yield url


async def begin(server: str) -> asyncio.subprocess.Process:
    program = f"import asyncio; from tests.engines.test_dbos import *; asyncio.run({server})"
    return await asyncio.create_subprocess_exec(sys.executable, "-c", program, cwd=ROOT, stdout=asyncio.subprocess.PIPE)


async def killed(folder: Path, url: str | None, halt: str, ending: str, count: int = 1) -> list[str]:
    """Serve until a line with that ending was seen `count` times, and the shop was called if it halts; then kill it."""
    process = await begin(f"serve(Path({str(folder)!r}), {url!r}, {halt!r})")
    assert process.stdout is not None
    seen: list[str] = []
    while sum(line.endswith(ending) for line in seen) < count:
        line = await process.stdout.readline()
        assert line, "the server ended by itself"
        seen.append(line.decode().strip())
    if halt == "shop":
        await until((folder / "charges").exists)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    return [line.partition(" ")[0] for line in seen]


async def rest(runtime: Runtime) -> list[tuple[str, Event]]:
    return [(entry.id, entry.event) async for batch in runtime.follow("r") for entry in batch]


@ON_POSTGRES
async def test_a_run_whose_process_was_killed_resumes_at_its_last_step(
    tmp_path: Path, url: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.timeout(60):
        seen = await killed(tmp_path, url, "1", "TextDelta", 6)
        async with serving(tmp_path, url) as runtime:
            entries = await rest(runtime)
            thread = await runtime.settled("t", ask().principal)

    events = [event for _, event in entries]
    check_order(events)
    assert [id for id, _ in entries][: len(seen)] == seen
    assert thread is not None
    assert [message.text for message in thread.messages] == [
        "Charge it.",
        "0:one 0:two 0:three ",
        "",
        "1:one 1:two 1:three ",
    ]
    resumed = caplog.text.count("resuming runs")  # more than once if a stalled database lets the lease expire
    assert 1 <= sum(isinstance(event, MessagesReplaced) for event in events) <= resumed
    assert sum(isinstance(event, ToolCallReturned) for event in events) == 1
    assert (tmp_path / "charges").read_text().count("\n") == 1
    assert events[-1] == RunFinished("done")


@ON_POSTGRES
async def test_a_call_that_was_interrupted_is_made_again_with_its_key(tmp_path: Path, url: str | None) -> None:
    async with asyncio.timeout(60):
        await killed(tmp_path, url, "shop", "ModelResponseEnded")
        async with serving(tmp_path, url) as runtime:
            events = [event for _, event in await rest(runtime)]

    check_order(events)
    first, second = (tmp_path / "charges").read_text().splitlines()
    assert first == second
    assert not any(isinstance(event, MessagesReplaced) for event in events)
    assert [event.content for event in events if isinstance(event, ToolCallReturned)] == ["charged"]


@ON_SQLITE
async def test_a_run_that_kills_its_process_again_and_again_is_given_up(tmp_path: Path, url: str | None) -> None:
    async with asyncio.timeout(100):
        await killed(tmp_path, url, "shop", "ModelResponseEnded")
        for _ in range(2):
            (tmp_path / "charges").unlink()
            process = await begin(f"poisoned(Path({str(tmp_path)!r}), {url!r})")
            assert await process.wait() == 42
        async with serving(tmp_path, url) as runtime:
            events = [event for _, event in await rest(runtime)]

    check_order(events)
    assert isinstance(events[-1], RunFailed)
    assert events[-1].code == "recovery_failed"


async def poisoned(folder: Path, url: str | None) -> None:
    """A server that dies when its shop is called."""
    async with serving(folder, url, shop_halts=True):
        await until((folder / "charges").exists)
        os._exit(42)


@ON_POSTGRES
async def test_a_server_that_is_stopped_leaves_its_runs_to_others(tmp_path: Path, url: str | None) -> None:
    async with asyncio.timeout(60):
        async with serving(tmp_path, url, halt=1) as runtime:
            await runtime.start(ask())
            async for batch in runtime.follow("r"):
                if sum(isinstance(entry.event, ToolCallReturned) for entry in batch):
                    break
        async with serving(tmp_path, url) as runtime:
            events = [event for _, event in await rest(runtime)]

    check_order(events)
    assert events[-1] == RunFinished("done")
    assert (tmp_path / "charges").read_text().count("\n") == 1


@ON_SQLITE
async def test_spans_of_a_killed_process_are_cut_off_and_start_again(tmp_path: Path, url: str | None) -> None:
    async with asyncio.timeout(60):
        await killed(tmp_path, url, "1", "TextDelta", 6)
        async with serving(tmp_path, url) as runtime:
            events = [event for _, event in await rest(runtime)]

    check_order(events)
    ended = {event.span: event for event in events if isinstance(event, SpanEnded)}
    spans = [(event.kind, ended[event.span].error) for event in events if isinstance(event, SpanStarted)]
    times = [event.at for event in events if isinstance(event, SpanStarted | SpanEnded)]
    assert spans == [
        ("run", "cut_off"),
        ("model", None),
        ("tool", None),
        ("model", "cut_off"),
        ("run", None),
        ("model", None),  # only the response that was interrupted is generated again
    ]
    assert times == sorted(times)
    assert SpanHistory(events).totals.model_calls == 3


@ON_SQLITE
async def test_a_run_that_was_dequeued_without_a_response_is_resumed(tmp_path: Path, url: str | None) -> None:
    """The transaction that assigns it to this server is committed, and the answer to that is lost."""
    lost: list[str] = []

    def commit_and_lose(connection: Connection, _: Any, statement: str, parameters: Any, *rest: object) -> None:
        has_claimed = statement.startswith("UPDATE") and "executor_id=" in statement and "PENDING" in str(parameters)
        if has_claimed and not lost:
            lost.append(statement)
            connection.commit()
            raise ConnectionError("The connection was closed before the answer came.")

    await killed(tmp_path, url, "1", "TextDelta", 6)
    with listening("after_cursor_execute", commit_and_lose):
        async with asyncio.timeout(60), serving(tmp_path, url) as runtime:
            events = [event for _, event in await rest(runtime)]

    check_order(events)
    assert len(lost) == 1
    assert events[-1] == RunFinished("done")
    assert (tmp_path / "charges").read_text().count("\n") == 1


@contextmanager
def listening(name: str, listener: Callable[..., None]) -> Iterator[None]:
    """To the engines of SQLAlchemy that are made meanwhile: DBOS has one of its own."""
    event.listen(Engine, name, listener)
    try:
        yield
    finally:
        event.remove(Engine, name, listener)


class Dying(LocalEngine):
    """An engine whose process dies before it begins a run that answers a question."""

    supports_durable = True

    async def start(self, ask: Ask, perform: Perform) -> bool:
        return bool(ask.answers) or await super().start(ask, perform)


async def test_an_answer_whose_process_died_before_the_engine_knew_of_it_has_its_history(tmp_path: Path) -> None:
    loop = Loop(ScriptedModel([calls("charge")]), [Shop(tmp_path, halts=False)], approval="always", durable=True)
    where = connect(tmp_path / "rightseat.db")
    async with asyncio.timeout(60), SqlThreads(where) as threads:
        runtime = Runtime({"default": loop}, log=MemoryLog(), threads=threads, engine=Dying())
        await runtime.start(ask())
        async for _ in runtime.follow("r"):
            pass
        await runtime.settled("t", ask().principal)
        [question] = await threads.pending(ask().principal, "t")
        again = msgspec.structs.replace(ask(), run_id="r2", answers=(Answer(question.interrupt.id, "resolved", True),))
        await runtime.start(again)
    async with SqlThreads(connect(tmp_path / "rightseat.db")) as threads:
        [orphan] = await threads.orphans()

    assert [message.role for message in orphan.messages] == ["user", "assistant"]
    assert [answer.call for answer in orphan.answers] == [question.call]


async def test_a_durable_run_can_be_cancelled(tmp_path: Path, url: str | None) -> None:
    async with asyncio.timeout(60), serving(tmp_path, url, halt=0) as runtime:
        await runtime.start(ask())
        async for batch in runtime.follow("r"):
            if any(isinstance(entry.event, TextDelta) for entry in batch):
                break
        assert await runtime.cancel("r")
        events = [event for _, event in await rest(runtime)]

    check_order(events)
    assert events[-1] == RunFinished("cancelled")


async def until_spoken(process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    while not (line := await process.stdout.readline()).endswith(b"TextDelta\n"):
        assert line, "the server ended by itself"


async def test_a_run_of_one_server_can_be_cancelled_at_another(tmp_path: Path) -> None:
    """The servers make all tables themselves, those of DBOS in a schema with another name."""
    async with asyncio.timeout(60), schema() as url, serving(tmp_path, url) as runtime:
        process = await begin(f"serve(Path({str(tmp_path)!r}), {url!r}, '0')")
        await until_spoken(process)
        was_cancelled = await runtime.cancel("r")
        events = [event for _, event in await rest(runtime)]
        thread = await runtime.settled("t", ask().principal)
        with suppress(ProcessLookupError):  # it ends by itself after its run
            process.kill()
        await process.wait()

    check_order(events)
    assert was_cancelled
    assert events[-1] == RunFinished("cancelled")
    assert thread is not None
    assert [run.outcome for run in thread.runs] == ["cancelled"]


async def test_a_run_that_was_cancelled_before_its_process_died_ends_as_cancelled(tmp_path: Path) -> None:
    """The process stands still: it neither hears of the cancel nor ends the run."""
    async with asyncio.timeout(60), migrated_database() as url, serving(tmp_path, url) as runtime:
        process = await begin(f"serve(Path({str(tmp_path)!r}), {url!r}, '0')")
        await until_spoken(process)
        process.send_signal(signal.SIGSTOP)
        was_cancelled = await runtime.cancel("r")
        process.kill()
        await process.wait()
        events = [event for _, event in await rest(runtime)]

    check_order(events)
    assert was_cancelled
    assert events[-1] == RunFinished("cancelled")


async def test_a_run_that_is_asked_for_again_after_its_end_is_not_done_again(tmp_path: Path, url: str | None) -> None:
    """A client that does not know whether its ask arrived sends it once more, under its own name for the run."""
    asked = msgspec.structs.replace(ask(), client_run_id="c")
    async with asyncio.timeout(60), serving(tmp_path, url) as runtime:
        await runtime.start(asked)
        await rest(runtime)
        await runtime.settled("t", asked.principal)
        with pytest.raises(RunExists) as exists:
            await runtime.start(msgspec.structs.replace(asked, run_id="again"))
        more = (*asked.messages, Message("user", user("And again.").parts, id="u2"))
        other = await runtime.start(msgspec.structs.replace(asked, run_id="other", messages=more))
        async for _ in runtime.follow(other.run_id):
            pass

    assert "'r'" in exists.value.message
    assert (tmp_path / "charges").read_text().count("\n") == 2


async def test_a_run_that_fails_unexpectedly_is_left_for_a_retry(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine, broken = DbosEngine(DbosSystem(tmp_path / "steps.db")), asyncio.Event()

    async def perform(ask: Ask, steps: Steps) -> None:
        broken.set()
        raise ConnectionError("the database is away")

    async with asyncio.timeout(30):
        await engine.open(perform)
        try:
            durable = msgspec.structs.replace(ask(), durable=True)
            assert await engine.start(durable, perform)
            await broken.wait()
            await until(lambda: "failed unexpectedly" in caplog.text)
            resumed = await engine.resume([durable])
        finally:
            await engine.close()

    assert resumed == Resumed({"r"}, set())


def test_a_durable_agent_needs_an_engine_that_lasts() -> None:
    loop = Loop(Halting(None), durable=True)

    with pytest.raises(ConfigError, match="dbos"):
        Runtime({"default": loop}, log=MemoryLog(), threads=MemoryThreads(), engine=LocalEngine())


async def test_a_step_beside_an_answer_is_refused(tmp_path: Path) -> None:
    """Which of the two is counted first would be a matter of luck, and another when the run is gone on with."""
    refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def answer() -> AsyncIterator[Event]:
        yield TextDelta("m", "a piece")

    async def perform(ask: Ask, steps: Steps) -> None:
        async for _ in steps.stream("answer", answer):
            try:
                await steps.do("tool", str, anything)
            except NotConfigured as error:
                refused.set_result(error.message)
        await steps.do("tool", str, anything)

    async def anything() -> str:
        return ""

    engine = DbosEngine(DbosSystem(tmp_path / "steps.db"))
    async with asyncio.timeout(30):
        await engine.open(perform)
        await engine.start(msgspec.structs.replace(ask(), durable=True), perform)
        message = await refused
        await engine.close()

    assert "'tool' was started while 'answer' is being streamed" in message


def rows(folder: Path, url: str | None) -> dict[str, str]:
    """The status of each run that DBOS knows of."""
    system = DbosSystem(url or folder / "steps.db", schema_of(url))
    engine = system._create_engine()
    client = system._client(engine)
    try:
        return {one.workflow_id: one.status for one in client.list_workflows()}
    finally:
        client.destroy()
        engine.dispose()


async def test_how_a_run_ended_is_written_before_the_server_stops(tmp_path: Path, url: str | None) -> None:
    for number in range(5):
        async with asyncio.timeout(60), serving(tmp_path, url) as runtime:
            run = await runtime.start(msgspec.structs.replace(ask(), run_id=f"r{number}", thread_id=f"t{number}"))
            async for batch in runtime.follow(run.run_id):
                if isinstance(batch[-1].event, RunFinished):
                    break  # and stop at once

    assert await asyncio.to_thread(rows, tmp_path, url) == {f"r{number}": "SUCCESS" for number in range(5)}


async def test_the_steps_of_a_run_are_deleted_some_time_after_its_end(tmp_path: Path, url: str | None) -> None:
    async with asyncio.timeout(60), serving(tmp_path, url) as runtime:
        await runtime.start(ask())
        await rest(runtime)
        await runtime.settled("t", ask().principal)
        system = DbosSystem(url or tmp_path / "steps.db", schema_of(url))
        await until(partial(has_succeeded, tmp_path, url))
        await system.delete_ended(3600)
        young = await asyncio.to_thread(rows, tmp_path, url)
        await system.delete_ended(-1)
        old = await asyncio.to_thread(rows, tmp_path, url)
        thread = await runtime.thread("t", ask().principal)

    assert (young, old) == ({"r": "SUCCESS"}, {})
    assert thread is not None
    assert len(thread.messages) == 4


async def test_a_run_that_ended_as_its_process_died_is_not_kept_as_going_on(tmp_path: Path, url: str | None) -> None:
    async with asyncio.timeout(60):
        async with serving(tmp_path, url) as runtime:
            await runtime.start(ask())
            await rest(runtime)
        await asyncio.to_thread(die_before_noting, tmp_path, url)
        before = await asyncio.to_thread(rows, tmp_path, url)
        async with serving(tmp_path, url) as runtime:
            await until(partial(has_no_rows, tmp_path, url))
            thread = await runtime.thread("t", ask().principal)

    assert before == {"r": "PENDING"}
    assert thread is not None
    assert len(thread.messages) == 4


async def has_succeeded(folder: Path, url: str | None) -> bool:
    return "SUCCESS" in (await asyncio.to_thread(rows, folder, url)).values()


async def has_no_rows(folder: Path, url: str | None) -> bool:
    return not await asyncio.to_thread(rows, folder, url)


async def test_an_engine_at_rest_sends_few_statements(tmp_path: Path, url: str | None) -> None:
    """For queues and runs to resume, for own runs that nothing executes, and for timeouts that it does not use."""
    sent: list[str] = []

    def note(_: Connection, cursor: object, statement: str, *rest: object) -> None:
        sent.append(statement)

    with listening("before_cursor_execute", note):
        async with asyncio.timeout(60), serving(tmp_path, url):
            await until(lambda: polls(sent) >= 4)
            began = polls(sent), len(sent)
            await until(lambda: polls(sent) >= began[0] + 6)
            others = len(sent) - began[1] - (polls(sent) - began[0])

    # Three seconds, with the schedules that DBOS looks for each second in the first minute.
    assert 0 < others <= 50


def polls(sent: Sequence[str]) -> int:
    """How often DBOS has read the settings of queues: twice a second."""
    return sum(one.startswith("SELECT") and "queues.queue_id" in one for one in sent)


def die_before_noting(folder: Path, url: str | None) -> None:
    """As if the process had been killed between telling the store and telling DBOS."""
    table = "workflow_status" if url is None else f'"{schema_of(url)}".workflow_status'
    engine = DbosSystem(url or folder / "steps.db", schema_of(url))._create_engine()
    try:
        with engine.begin() as connection:
            connection.execute(text(f"UPDATE {table} SET status = 'PENDING', executor_id = 'dead', created_at = 0"))  # noqa: S608
    finally:
        engine.dispose()
