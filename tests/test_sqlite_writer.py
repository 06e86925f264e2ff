"""Work of several runs in one transaction on the SQLite file."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from rightseat.sqlite_writer import MAX_BATCH
from rightseat.stores.databases import Sqlite
from tests.conditions import settle


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Sqlite]:
    database = Sqlite(tmp_path / "rightseat.db")
    await database.open()
    await database.write(run, "CREATE TABLE numbers (n INTEGER PRIMARY KEY)")
    yield database
    await database.close()


def run(connection: Connection, statement: str) -> None:
    connection.execute(text(statement))


def add(connection: Connection, number: int) -> int:
    connection.execute(text("INSERT INTO numbers VALUES (:n)"), {"n": number})
    return number


def list_numbers(connection: Connection) -> list[int]:
    return list(connection.execute(text("SELECT n FROM numbers ORDER BY n")).scalars())


def trace(connection: Connection) -> list[str]:
    statements: list[str] = []
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.set_trace_callback(statements.append)
    return statements


async def occupy(database: Sqlite) -> tuple["asyncio.Task[None]", threading.Event]:
    """The thread is busy until the event is set."""
    began, free = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def wait(_: Connection) -> None:
        loop.call_soon_threadsafe(began.set)
        free.wait(5)

    task = asyncio.create_task(database.write(wait))
    await began.wait()
    return task, free


async def test_work_that_is_queued_while_the_thread_is_busy_shares_one_transaction(database: Sqlite) -> None:
    statements = await database.write(trace)
    busy, free = await occupy(database)
    statements.clear()
    queued = [asyncio.create_task(database.write(add, n)) for n in range(20)]
    await settle()
    free.set()
    results = await asyncio.gather(*queued)
    await busy

    assert results == list(range(20))
    assert [one for one in statements if one.startswith(("BEGIN", "COMMIT"))] == ["COMMIT", "BEGIN IMMEDIATE", "COMMIT"]


async def test_work_that_fails_is_undone_without_the_work_beside_it(database: Sqlite) -> None:
    def fail(connection: Connection) -> None:
        add(connection, 2)
        raise ValueError("two")

    busy, free = await occupy(database)
    queued = [
        asyncio.create_task(database.write(add, 1)),
        asyncio.create_task(database.write(fail)),
        asyncio.create_task(database.write(add, 3)),
    ]
    await settle()
    free.set()
    results = await asyncio.gather(*queued, return_exceptions=True)
    await busy

    assert [results[0], str(results[1]), results[2]] == [1, "two", 3]
    assert await database.read(list_numbers) == [1, 3]


async def test_a_failed_transaction_fails_all_its_work_and_the_next_one_succeeds(database: Sqlite) -> None:
    def roll_back(connection: Connection) -> None:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.execute("ROLLBACK")  # as SQLite itself does when the disk is full

    busy, free = await occupy(database)
    queued = [asyncio.create_task(database.write(add, 1)), asyncio.create_task(database.write(roll_back))]
    await settle()
    free.set()
    results = await asyncio.gather(*queued, return_exceptions=True)
    await busy

    assert [type(one) for one in results] == [sqlite3.OperationalError] * 2
    assert await database.write(add, 5) == 5
    assert await database.read(list_numbers) == [5]


async def test_work_whose_caller_was_cancelled_before_it_began_is_not_done(database: Sqlite) -> None:
    busy, free = await occupy(database)
    queued = asyncio.create_task(database.write(add, 1))
    await settle()
    queued.cancel()
    await asyncio.wait((queued,))
    free.set()
    await busy

    assert await database.read(list_numbers) == []


async def test_a_transaction_has_a_limited_amount_of_work(database: Sqlite) -> None:
    statements = await database.write(trace)
    busy, free = await occupy(database)
    statements.clear()
    queued = [asyncio.create_task(database.write(add, n)) for n in range(MAX_BATCH + 1)]
    await settle()
    free.set()
    await asyncio.gather(busy, *queued)

    assert statements.count("BEGIN IMMEDIATE") == 2


async def test_a_large_read_delays_no_other_work(database: Sqlite) -> None:
    is_written = threading.Event()

    def read_for_long(_: Connection) -> bool:
        return is_written.wait(60)

    reading = asyncio.create_task(database.read_beside(read_for_long))
    await database.write(add, 1)
    await database.read(list_numbers)
    is_written.set()

    assert await reading


async def test_a_large_read_sees_the_writes_that_were_queued_before(database: Sqlite) -> None:
    await database.read_beside(list_numbers)  # connects
    waiting, free = await occupy(database)
    writing = asyncio.create_task(database.write(add, 1))
    await settle()
    reading = asyncio.create_task(database.read_beside(list_numbers))
    await asyncio.wait((reading,), timeout=0.1)
    free.set()

    assert await reading == [1]
    await asyncio.gather(waiting, writing)


async def test_a_large_read_sees_a_write_that_returned_before_its_commit(database: Sqlite) -> None:
    await database.read_beside(list_numbers)  # connects
    database._writer.open_logs.add("run")
    await database.write_run_end("run", add, 1)

    assert await database.read_beside(list_numbers) == [1]
