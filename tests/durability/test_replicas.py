"""Two servers that share a log and a store: one is killed, or frozen, in the middle of its answers."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from rightseat.core.ask import Ask, Principal
from rightseat.core.engine import Steps
from rightseat.core.events import Event, RunFailed, TextDelta, TextStarted
from rightseat.core.log import Entry
from rightseat.core.messages import user
from rightseat.core.run.recovery import CUT_OFF
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.logs import postgres, redis
from rightseat.logs.shared.log import SharedLog
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from rightseat.testing import check_order
from tests.services import REDIS, keys, schema

ANNA = Principal("anna")
LEASE = 1.0
RUNS = 8
ROOT = Path(__file__).parents[2]


class Talking:
    """An agent that counts for ever."""

    description = ""

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        yield TextStarted(f"m-{ask.run_id}")
        number = 0
        while True:
            yield TextDelta(f"m-{ask.run_id}", f"{number} ")
            number += 1
            await asyncio.sleep(0.005)


@asynccontextmanager
async def running(kind: str, database: str, prefix: str) -> AsyncIterator[Runtime]:
    """What a server of a fleet is made of."""
    if kind == "redis":
        log = redis.build(redis.Options(url=SecretStr(REDIS), prefix=prefix))
    else:
        log = postgres.build(postgres.Options(url=SecretStr(database)))
    assert isinstance(log, SharedLog)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(log)
        threads = await stack.enter_async_context(SqlThreads(connect(database, LEASE)))
        runtime = Runtime({"default": Talking()}, log=log, threads=threads, engine=LocalEngine())
        stack.push_async_callback(runtime.close)
        await runtime.open()
        yield runtime


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


@pytest.fixture(params=["redis", "postgres"])
async def fleet(request: pytest.FixtureRequest) -> AsyncIterator[tuple[asyncio.subprocess.Process, Runtime]]:
    """A server that answers, in a process of its own, and another, here."""
    async with schema() as database, keys() as prefix:
        names = (request.param, database, prefix)
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
    fleet: tuple[asyncio.subprocess.Process, Runtime],
) -> None:
    other, runtime = fleet

    async with asyncio.timeout(30):
        following = [asyncio.create_task(heard(runtime, f"r{number}")) for number in range(RUNS)]
        await hear_some(runtime, "r0")
        other.send_signal(signal.SIGSTOP)
        found = await asyncio.gather(*following)
        before = await runtime.thread("t0", ANNA)
        other.send_signal(signal.SIGCONT)
        await asyncio.sleep(3 * LEASE)  # for it to try
        after = [list(await runtime.read(f"r{number}")) for number in range(RUNS)]

    for entries in found:
        assert_whole(entries)
    assert after == found
    assert await runtime.thread("t0", ANNA) == before


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
