"""A database that stops responding: statements, and tasks that are cancelled while they wait for one, end."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial

import pytest
from sqlalchemy import Connection, text

from rightseat.core.errors import StoreUnreachable
from rightseat.postgres import connector
from rightseat.postgres.connector import Connector
from rightseat.stores import pool, postgresql
from rightseat.stores.postgresql import Postgres
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
    monkeypatch.setattr(connector, "CONNECT_TIMEOUT_S", 1.0)
    async with migrated_database() as database:
        found = Postgres(database.replace(":5432", f":{way.port}"), lease_seconds=15)
        await found.open()
        for method in (found.write, found.read, found.query):
            await method(select_one)  # so that the pool has a connection to check
        yield found
        way.mend()
        await found.close()


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
MUTE_AFTER = [(method, packets) for method, count in PACKETS for packets in range(count)]


@pytest.mark.parametrize(("method", "packets"), MUTE_AFTER)
async def test_a_task_that_is_cancelled_ends_though_the_database_does_not_respond(
    store: Postgres, way: Proxy, method: str, packets: int
) -> None:
    way.mute_after = AfterPackets(packets)
    task = asyncio.create_task(getattr(store, method)(select_one))
    async with asyncio.timeout(5):
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
    async with asyncio.timeout(20):
        with pytest.raises(StoreUnreachable):
            await getattr(store, method)(select_one)
        way.mend()

        assert await getattr(store, method)(select_one) == 1


async def test_a_connection_whose_settings_are_not_responded_to_is_closed(way: Proxy) -> None:
    way.mute_after = (b"idle_in_transaction",)
    began = time.monotonic()
    async with asyncio.timeout(20), migrated_database() as database:
        with pytest.raises(TimeoutError):
            await Connector(database.replace(":5432", f":{way.port}"), 1.0).connect(
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
