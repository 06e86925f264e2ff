"""Log and store on one file, in a process that is killed: what is there afterwards, and how it is brought to an end."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import count
from pathlib import Path

import msgspec
import pytest

from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.engine import Steps
from rightseat.core.errors import RunNotFound, ThreadNotFound
from rightseat.core.events import (
    Event,
    Interrupt,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    TextEnded,
    TextStarted,
)
from rightseat.core.messages import user
from rightseat.core.run.recovery import CUT_OFF
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.logs.sqlite.log import SqliteLog
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from rightseat.testing import check_order
from tests.conditions import Paced, settle, until
from tests.events import without_spans

ANNA = Principal("anna")
RUNS = 8
ROOT = Path(__file__).parents[2]


class Talking:
    """An agent that counts: for ever if it is asked to."""

    description = ""

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        if ask.messages and ask.messages[-1].text == "May I?":
            yield RunFinished("waiting", (Interrupt("i", "approval", "May I?"),))
            return
        yield TextStarted(f"m-{ask.run_id}")
        async for number in Paced(count() if ask.messages[-1].text == "For ever" else range(5), 0.001):
            yield TextDelta(f"m-{ask.run_id}", f"{number} ")
        yield TextEnded(f"m-{ask.run_id}")


@asynccontextmanager
async def running(folder: Path, retention_days: float | None = None) -> AsyncIterator[Runtime]:
    """What a server is made of, on one file."""
    path = folder / "rightseat.db"
    async with AsyncExitStack() as stack:
        log = await stack.enter_async_context(SqliteLog(path))
        threads = await stack.enter_async_context(SqlThreads(connect(path), retention_days))
        runtime = Runtime({"default": Talking()}, log=log, threads=threads, engine=LocalEngine())
        stack.push_async_callback(runtime.close)
        await runtime.open()
        yield runtime


def asking(text: str, run_id: str, thread_id: str = "t") -> Ask:
    return Ask(messages=(user(text),), run_id=run_id, thread_id=thread_id, principal=ANNA)


async def heard(runtime: Runtime, run_id: str) -> list[Event]:
    return [entry.event async for batch in runtime.follow(run_id) for entry in batch]


async def serve(folder: Path) -> None:
    """The process that is killed. It says on stdout what its followers get to see."""
    async with running(folder) as runtime:
        asks = [asking("For ever", f"run{number}", f"thread{number}") for number in range(RUNS)]
        for ask in asks:
            await runtime.start(ask)
        await asyncio.gather(*(tell(runtime, ask.run_id) for ask in asks))


async def tell(runtime: Runtime, run_id: str) -> None:
    async for batch in runtime.follow(run_id):
        for entry in batch:
            sys.stdout.write(f"{run_id} {entry.id} {msgspec.json.encode(entry.event).decode()}\n")
        sys.stdout.flush()


async def killed(folder: Path, lines: int) -> dict[str, dict[str, str]]:
    """Serve until so many lines were shown, and kill -9. Returns what was shown, by run and id."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.durability.test_engines", str(folder), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert child.stdout is not None
    said = [await child.stdout.readline() for _ in range(lines)]
    child.kill()
    said += (await child.stdout.read()).splitlines(keepends=True)
    await child.wait()
    shown: dict[str, dict[str, str]] = {}
    for line in said:
        if line.endswith(b"\n"):
            run_id, entry_id, event = line.decode().rstrip("\n").split(" ", 2)
            shown.setdefault(run_id, {})[entry_id] = event
    return shown


@pytest.mark.parametrize("lines", [1, 100, 1500])
async def test_after_a_kill_nothing_that_was_shown_is_lost_and_every_run_is_closed(tmp_path: Path, lines: int) -> None:
    async with asyncio.timeout(30):
        shown = await killed(tmp_path, lines)
        async with running(tmp_path) as runtime:
            for run_id, entries in shown.items():
                kept = {entry.id: msgspec.json.encode(entry.event).decode() for entry in await runtime.read(run_id)}
                assert entries.items() <= kept.items()
                events = await heard(runtime, run_id)
                check_order(events)
                assert events[-1] == RunFailed("cut_off", CUT_OFF)


async def test_a_run_that_was_cut_off_stays_in_its_thread_as_far_as_it_came(tmp_path: Path) -> None:
    async with asyncio.timeout(30):
        await killed(tmp_path, 300)
        async with running(tmp_path) as runtime:
            thread = await runtime.thread("thread0", ANNA)
            assert thread is not None
            [run] = thread.runs
            said = "".join(event.text for event in await heard(runtime, run.id) if isinstance(event, TextDelta))

            assert [message.text for message in thread.messages] == ["For ever", said]
            assert run.outcome == "failed"

            ask = await runtime.start(asking("Hello", "next", "thread0"))  # and the thread is free again
            assert (await heard(runtime, ask.run_id))[-1] == RunFinished("done")


async def test_a_second_start_finds_nothing_left_to_close(tmp_path: Path) -> None:
    async with asyncio.timeout(30):
        await killed(tmp_path, 100)
        async with running(tmp_path) as runtime:
            first = await heard(runtime, "run0")
        async with running(tmp_path) as runtime:
            assert await heard(runtime, "run0") == first


async def test_a_server_that_stopped_cleanly_leaves_no_open_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path) as runtime:
        await runtime.start(asking("For ever", "r"))
    async with running(tmp_path) as runtime:
        events = await heard(runtime, "r")

    assert events[-1] == RunFinished("cancelled")
    assert "cut off" not in caplog.text


async def test_a_run_that_died_between_claim_and_first_word_is_closed_too(tmp_path: Path) -> None:
    ask = asking("Hello?", "r")
    async with SqlThreads(connect(tmp_path / "rightseat.db")) as threads:
        await threads.claim(ask)

    async with running(tmp_path) as runtime:
        events = without_spans(await heard(runtime, "r"))

    assert events == [RunStarted("r", "t", "default", new_messages=ask.messages), RunFailed("cut_off", CUT_OFF)]


async def test_a_run_that_died_between_its_thread_and_its_last_word_gets_an_end(tmp_path: Path) -> None:
    """The thread is let go before the last event is shown, so that who sees it can ask again at once."""
    ask, path = asking("Hello?", "r"), tmp_path / "rightseat.db"
    async with SqliteLog(path) as log, SqlThreads(connect(path)) as threads:
        await log.create("r")
        pen = log._begin("r", 1)  # and never ended, as by a process that dies
        await threads.claim(ask)
        await pen.append(RunStarted("r", "t", "default"))
        await threads.finish(ask, (), None, RunFinished("done"))

    async with running(tmp_path) as runtime:
        events = await heard(runtime, "r")
        thread = await runtime.thread("t", ANNA)

    assert events == [RunStarted("r", "t", "default"), RunFailed("cut_off", CUT_OFF)]
    assert thread is not None
    assert [run.outcome for run in thread.runs] == ["done"]


async def test_a_log_that_was_made_for_a_run_that_never_began_is_forgotten(tmp_path: Path) -> None:
    async with SqliteLog(tmp_path / "rightseat.db") as log:
        await log.create("r")

    async with running(tmp_path) as runtime:
        with pytest.raises(RunNotFound):
            await heard(runtime, "r")


async def test_a_question_outlives_the_server(tmp_path: Path) -> None:
    async with running(tmp_path) as runtime:
        await runtime.start(asking("May I?", "r"))
        await heard(runtime, "r")
    async with running(tmp_path) as runtime:
        [pending] = await runtime.threads.pending(ANNA)
        answer = Ask(
            messages=(user("Go on"),), run_id="r2", thread_id="t", principal=ANNA, answers=(Answer("i", "resolved"),)
        )
        await runtime.start(answer)
        events = await heard(runtime, "r2")

        assert pending.interrupt.message == "May I?"
        assert events[-1] == RunFinished("done")
        assert list(await runtime.threads.pending(ANNA)) == []


async def test_a_deleted_thread_takes_what_was_said_in_it_along(tmp_path: Path) -> None:
    async with running(tmp_path) as runtime:
        await runtime.start(asking("Hello", "r"))
        await heard(runtime, "r")

        with pytest.raises(ThreadNotFound):
            await runtime.delete("t", Principal("ben"))
        assert await heard(runtime, "r")
        await runtime.delete("t", ANNA)

        assert await runtime.thread("t", ANNA) is None
        with pytest.raises(RunNotFound):
            await heard(runtime, "r")


async def test_a_thread_is_deleted_while_its_run_continues(tmp_path: Path) -> None:
    async with asyncio.timeout(30), running(tmp_path) as runtime:
        await runtime.start(asking("For ever", "r"))
        following = asyncio.create_task(heard(runtime, "r"))
        await settle()
        await runtime.delete("t", ANNA)

        assert (await following)[-1] == RunFinished("cancelled")
        with pytest.raises(RunNotFound):
            await heard(runtime, "r")


async def test_expired_threads_go_with_their_logs_when_the_server_starts(tmp_path: Path) -> None:
    async with running(tmp_path) as runtime:
        await runtime.start(asking("Hello", "r"))
        await heard(runtime, "r")
    async with running(tmp_path, retention_days=1e-9) as runtime, asyncio.timeout(60):
        await until(partial(is_forgotten, runtime, "r"))
        assert list(await runtime.threads.list(ANNA)) == []


async def is_forgotten(runtime: Runtime, run_id: str) -> bool:
    try:
        await heard(runtime, run_id)
    except RunNotFound:
        return True
    return False


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
