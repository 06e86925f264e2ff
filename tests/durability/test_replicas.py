"""Two servers that share a log and a store: one is killed, or frozen, in the middle of its answers."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path

import pytest
from pydantic import SecretStr

from rightseat.core.ask import Ask, Principal
from rightseat.core.engine import Steps
from rightseat.core.events import Event, RunFailed, RunFinished, TextDelta, TextStarted
from rightseat.core.log import Entry
from rightseat.core.messages import user
from rightseat.core.run.recovery import CUT_OFF
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.logs import postgres, redis
from rightseat.logs.shared.log import SharedLog
from rightseat.logs.sqlite.log import SqliteLog
from rightseat.operations.stops import FleetEngine
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from rightseat.testing import check_order
from tests.conditions import Paced
from tests.databases import migrated_database
from tests.services import REDIS, keys

ANNA = Principal("anna")
LEASE = 1.0
RUNS = 8
ROOT = Path(__file__).parents[2]


class Talking:
    """An agent that counts for ever."""

    description = ""

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        yield TextStarted(f"m-{ask.run_id}")
        async for number in Paced(count(), 0.005):
            yield TextDelta(f"m-{ask.run_id}", f"{number} ")


@asynccontextmanager
async def running(kind: str, database: str, prefix: str) -> AsyncIterator[Runtime]:
    """What a server of a fleet is made of."""
    log: SharedLog | SqliteLog
    if kind == "sqlite":
        log, threads = SqliteLog(Path(database)), SqlThreads(connect(Path(database)))
        log.share_file()
        threads.share_file()
    else:
        log, threads = build_log(kind, database, prefix), SqlThreads(connect(database, LEASE))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(log)
        await stack.enter_async_context(threads)
        assert threads.stops is not None
        engine = FleetEngine(LocalEngine(), threads.stops)
        runtime = Runtime({"default": Talking()}, log=log, threads=threads, engine=engine)
        stack.push_async_callback(runtime.close)
        await runtime.open()
        yield runtime


def build_log(kind: str, database: str, prefix: str) -> SharedLog:
    if kind == "redis":
        log = redis.build(redis.Options(url=SecretStr(REDIS), prefix=prefix))
    else:
        log = postgres.build(postgres.Options(url=SecretStr(database)))
    assert isinstance(log, SharedLog)
    return log


async def serve(kind: str, database: str, prefix: str) -> None:
    """The process that is killed or frozen. It says when all of its runs have been heard."""
    async with running(kind, database, prefix) as runtime:
        for number in range(RUNS):
            ask = Ask(messages=(user("Count"),), run_id=f"r{number}", thread_id=f"t{number}", principal=ANNA)
            await runtime.start(ask)
        await asyncio.gather(*(hear_some(runtime, f"r{number}") for number in range(RUNS)))
        print("speaking", flush=True)  # noqa: T201
        await asyncio.Event().wait()


async def hear_some(runtime: Runtime, run_id: str) -> None:
    async for batch in runtime.follow(run_id):
        if batch[-1].seq > 20:
            return


@pytest.fixture(params=["sqlite", "redis", "postgres"])
async def fleet(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[asyncio.subprocess.Process, Runtime]]:
    """A server that answers, in a process of its own, and another, here: two replicas, or two workers on one file."""
    if request.param == "sqlite":
        async with two_servers("sqlite", str(tmp_path / "rightseat.db"), "") as both:
            yield both
    else:
        async with (
            migrated_database() as database,
            keys() as prefix,
            two_servers(request.param, database, prefix) as both,
        ):
            yield both


@pytest.fixture(params=["redis", "postgres"])
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[tuple[asyncio.subprocess.Process, Runtime]]:
    async with migrated_database() as database, keys() as prefix, two_servers(request.param, database, prefix) as both:
        yield both


@asynccontextmanager
async def two_servers(*names: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, Runtime]]:
    async with running(*names) as runtime:
        other = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.durability.test_replicas", *names, stdout=asyncio.subprocess.PIPE, cwd=ROOT
        )
        try:
            assert other.stdout is not None
            assert await asyncio.wait_for(other.stdout.readline(), 30) == b"speaking\n"
            yield other, runtime
        finally:
            if other.returncode is None:
                other.kill()
            await other.wait()


async def heard(runtime: Runtime, run_id: str, after: str | None = None) -> list[Entry]:
    return [entry async for batch in runtime.follow(run_id, after) for entry in batch]


def assert_whole(entries: list[Entry]) -> None:
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    check_order([entry.event for entry in entries])
    assert [entry.event for entry in entries if isinstance(entry.event, RunFailed)] == [RunFailed("cut_off", CUT_OFF)]


async def test_followers_of_runs_of_a_killed_server_receive_every_event_and_the_end(
    fleet: tuple[asyncio.subprocess.Process, Runtime],
) -> None:
    other, runtime = fleet

    async with asyncio.timeout(30):
        following = [asyncio.create_task(heard(runtime, f"r{number}")) for number in range(RUNS)]
        await hear_some(runtime, "r0")
        other.kill()
        found = await asyncio.gather(*following)
        late = [await heard(runtime, f"r{number}", "1-15") for number in range(RUNS)]
        thread = await runtime.thread("t0", ANNA)

    for entries, rest in zip(found, late, strict=True):
        assert_whole(entries)
        assert rest == entries[15:]
    assert thread is not None
    assert [row.outcome for row in thread.runs] == ["failed"]
    assert thread.messages[-1].text.startswith("0 1 2 3")


async def test_a_server_that_was_frozen_for_longer_than_its_lease_changes_nothing_when_it_wakes(
    replicas: tuple[asyncio.subprocess.Process, Runtime],
) -> None:
    other, runtime = replicas

    async with asyncio.timeout(30):
        following = [asyncio.create_task(heard(runtime, f"r{number}")) for number in range(RUNS)]
        await hear_some(runtime, "r0")
        other.send_signal(signal.SIGSTOP)
        found = await asyncio.gather(*following)
        before = await runtime.thread("t0", ANNA)
        other.send_signal(signal.SIGCONT)
        await asyncio.sleep(3 * LEASE)  # it tries to renew and to write meanwhile; a refused server reports nothing
        after = [list(await runtime.read(f"r{number}")) for number in range(RUNS)]

    for entries in found:
        assert_whole(entries)
    assert after == found
    assert await runtime.thread("t0", ANNA) == before


async def test_a_run_is_stopped_deleted_or_superseded_through_another_server(
    fleet: tuple[asyncio.subprocess.Process, Runtime],
) -> None:
    _, runtime = fleet
    superseding = Ask(
        messages=(user("Rather this"),), run_id="s", thread_id="t2", principal=ANNA, when_busy="supersede"
    )

    async with asyncio.timeout(30):
        following = [asyncio.create_task(heard(runtime, f"r{number}")) for number in range(3)]
        await hear_some(runtime, "r0")
        was_stopped = await runtime.stop("t0", ANNA)
        await runtime.delete("t1", ANNA)
        await runtime.start(superseding)
        found = await asyncio.gather(*following)
        await hear_some(runtime, "s")
        again = await runtime.stop("t0", ANNA)
        deleted = await runtime.thread("t1", ANNA)
        others = [await runtime.thread(thread, ANNA) for thread in ("t0", "t2", "t3")]

    assert (was_stopped, again, deleted) == (True, False, None)
    assert [entries[-1].event for entries in found] == [RunFinished("cancelled")] * 3
    assert [[run.outcome for run in thread.runs] for thread in others if thread] == [
        ["cancelled"],
        ["cancelled", None],
        [None],
    ]


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
