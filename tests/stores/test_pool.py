"""A database that stops responding: statements, and tasks that are cancelled while they wait for one, end."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial

import pytest
from sqlalchemy import Connection, text

from rightseat.core.ask import Ask
from rightseat.core.errors import StoreUnreachable
from rightseat.core.events import RunFinished
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import Chunk, Prompt, TextChunk
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.postgres import connector
from rightseat.postgres.connector import PostgresConnector
from rightseat.stores import pool, postgresql
from rightseat.stores.postgresql import Postgres
from rightseat.stores.sql import SqlThreads
from tests.conditions import until
from tests.databases import migrated_database
from tests.services import Proxy, proxy, schema


@pytest.fixture
async def way() -> AsyncIterator[Proxy]:
    async with proxy(5432) as found:
        yield found


@pytest.fixture
async def store(way: Proxy, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Postgres]:
    monkeypatch.setattr(postgresql, "STATEMENT_TIMEOUT_S", 1.0)
    monkeypatch.setattr(pool, "PING_TIMEOUT_S", 1.0)
    monkeypatch.setattr(connector, "CONNECT_TIMEOUT_S", 5.0)
    async with migrated_database() as database:
        found = Postgres(database.replace(":5432", f":{way.port}"), lease_seconds=15)
        await found.open()
        for method in (found.write, found.read, found.query):
            await method(select_one)  # so that the pool has a connection to check
        yield found
        way.mend()
        await found.close()


HANGS_AFTER_S = 60.0


def select_one(connection: Connection) -> object:
    return connection.execute(text("SELECT 1")).scalar()


class AfterPackets(Iterable[bytes]):
    """The proxy reads it once for each packet of a client: from a certain one on, the responses do not arrive."""

    def __init__(self, packets: int) -> None:
        self._left = packets

    def __iter__(self) -> Iterator[bytes]:
        self._left -= 1
        return iter((b"",) if self._left < 0 else ())


# The packets of each: a ping, BEGIN, the statement, and the end of the transaction. The lease renews later.
PACKETS = [("write", 4), ("read", 4), ("query", 2)]
MUTE_AFTER = [
    # A read goes through the pool as a write does; the gate has one packet of it
    pytest.param(method, packets, marks=pytest.mark.night if method == "read" and packets != 2 else ())
    for method, count in PACKETS
    for packets in range(count)
]


@pytest.mark.parametrize(("method", "packets"), MUTE_AFTER)
async def test_a_task_that_is_cancelled_ends_though_the_database_does_not_respond(
    store: Postgres, way: Proxy, method: str, packets: int
) -> None:
    way.mute_after = AfterPackets(packets)
    task = asyncio.create_task(getattr(store, method)(select_one))
    async with asyncio.timeout(60):
        await way.swallowed.wait()
    began = time.monotonic()
    task.cancel()
    with suppress(asyncio.CancelledError, StoreUnreachable):
        await task

    assert time.monotonic() - began < 6


@pytest.mark.parametrize(("method", "packets"), MUTE_AFTER)
async def test_a_statement_that_is_not_responded_to_ends_with_an_error(
    store: Postgres, way: Proxy, method: str, packets: int
) -> None:
    way.mute_after = AfterPackets(packets)
    async with asyncio.timeout(60):
        with pytest.raises(StoreUnreachable):
            await getattr(store, method)(select_one)
        way.mend()

        assert await getattr(store, method)(select_one) == 1


async def test_a_connection_whose_settings_are_not_responded_to_is_closed(way: Proxy) -> None:
    way.mute_after = (b"idle_in_transaction",)
    began = time.monotonic()
    async with asyncio.timeout(60), migrated_database() as database:
        with pytest.raises(TimeoutError):
            await PostgresConnector(database.replace(":5432", f":{way.port}"), 1.0).connect(
                command_timeout=30.0, limits_idle_transactions=True
            )
        waited = time.monotonic() - began
        await until(partial(is_closed, way))

    assert way.swallowed.is_set()
    assert waited < 5


async def is_closed(way: Proxy) -> bool:
    return not way._streams


async def test_a_process_that_stops_inside_a_transaction_does_not_block_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "IDLE_TRANSACTION_TIMEOUT_S", 0.5)
    async with schema() as database, opened(database) as store:
        await store.write(create_counter)
        stopping = threading.Event()
        resuming = threading.Event()
        other = asyncio.create_task(asyncio.to_thread(asyncio.run, increment_and_stop(database, stopping, resuming)))
        await asyncio.to_thread(stopping.wait, 10)
        began = time.monotonic()
        await store.write(increment)
        waited = time.monotonic() - began
        resuming.set()

        with pytest.raises(StoreUnreachable):
            await other
        assert waited < 2
        assert await store.query(read_counter) == 1


@asynccontextmanager
async def opened(database: str) -> AsyncIterator[Postgres]:
    store = Postgres(database, lease_seconds=15)
    await store.open()
    yield store
    await store.close()


async def increment_and_stop(database: str, stopping: threading.Event, resuming: threading.Event) -> None:
    """The event loop of this process stands still inside a transaction, as does a process that is suspended."""

    def work(connection: Connection) -> None:
        increment(connection)
        stopping.set()
        resuming.wait(10)
        increment(connection)

    store = Postgres(database, lease_seconds=15)
    await store.open()
    try:
        await store.write(work)
    finally:
        await store.close()


def create_counter(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE counter AS SELECT 0 AS value"))


def increment(connection: Connection) -> None:
    connection.execute(text("UPDATE counter SET value = value + 1"))


def read_counter(connection: Connection) -> object:
    return connection.execute(text("SELECT value FROM counter")).scalar()


# An outage that is about to end


@pytest.fixture
async def waiting_store(way: Proxy) -> AsyncIterator[Postgres]:
    async with migrated_database() as database:
        found = Postgres(database.replace(":5432", f":{way.port}"), lease_seconds=15, timeout=HANGS_AFTER_S)
        await found.open()
        await found.write(select_one)
        yield found
        way.mend()
        await found.close()


@pytest.mark.parametrize("method", ["write", "read", "query"])
async def test_a_call_in_an_outage_waits_for_its_end(method: str, way: Proxy, waiting_store: Postgres) -> None:
    refused = asyncio.Event()
    async with asyncio.timeout(HANGS_AFTER_S):
        way.cut()
        way.on_refused = refused.set
        waiting = asyncio.create_task(getattr(waiting_store, method)(select_one))
        await refused.wait()
        was_waiting = not waiting.done()
        way.mend()
        found = await waiting

    assert was_waiting
    assert found == 1


async def test_a_call_waits_no_longer_than_the_timeout_of_the_store(way: Proxy) -> None:
    async with migrated_database() as database:
        store = Postgres(database.replace(":5432", f":{way.port}"), lease_seconds=15, timeout=0.5)
        await store.open()
        way.cut()
        began = time.monotonic()
        with pytest.raises(StoreUnreachable):
            await store.write(select_one)
        took = time.monotonic() - began
        way.mend()
        await store.close()

    assert 0.3 <= took < HANGS_AFTER_S


async def test_the_end_of_a_run_waits_for_the_store(way: Proxy) -> None:
    """Its text was sent, so that a failure would take it away."""
    async with migrated_database() as database:
        store = Postgres(database.replace(":5432", f":{way.port}"), lease_seconds=15)
        refused = asyncio.Event()
        way.on_refused = refused.set
        async with SqlThreads(store) as threads, asyncio.timeout(HANGS_AFTER_S):

            class Cutting:
                async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
                    yield TextChunk("Hello.")
                    way.cut()

            runtime = Runtime({"default": Loop(Cutting())}, log=MemoryLog(), threads=threads, engine=LocalEngine())
            await runtime.open()
            asked = Ask(messages=(user("Hi"),), thread_id="t", run_id="r")
            await runtime.start(asked)
            await refused.wait()
            way.mend()
            events = [entry.event async for batch in runtime.follow("r") for entry in batch]
            stored = await threads.load("t", asked.principal)
            await runtime.close()

    assert events[-1] == RunFinished("done")
    assert stored is not None
    assert [message.text for message in stored.messages] == ["Hi", "Hello."]


def test_a_timeout_has_no_text_of_its_own_and_is_named() -> None:
    assert postgresql.first_line(TimeoutError()) == "no response in time"
