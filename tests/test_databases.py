"""The databases of tests: each test gets tables without rows, whatever the test before did."""

import sqlite3
from contextlib import AsyncExitStack, closing
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
import pytest

from rightseat.stores.migrations import find_newest
from tests.databases import TemplateCopies, migrated_database, migrated_file

ADD_THREAD = """
INSERT INTO threads (id, owner, agent, archived, created_at, updated_at) VALUES ('t', 'o', 'a', false, '', '')
"""
ADD_LOG_RUN = "INSERT INTO log_runs (id, epoch) VALUES ('r', 1) RETURNING key"


async def execute(url: str, *statements: str) -> list[object]:
    connection = await asyncpg.connect(url)
    try:
        return [await connection.fetchval(statement) for statement in statements]
    finally:
        await connection.close()


async def test_a_database_has_the_newest_tables_and_the_next_test_finds_no_row() -> None:
    async with migrated_database() as first:
        found = await execute(first, "SELECT version_num FROM rightseat_version", ADD_THREAD, ADD_LOG_RUN)
        await execute(first, "INSERT INTO dbos.workflow_status (workflow_uuid) VALUES ('w')")
    async with migrated_database() as second:
        counts = [f"SELECT count(*) FROM {table}" for table in ("threads", "log_runs", "dbos.workflow_status")]  # noqa: S608
        left = await execute(second, *counts, ADD_LOG_RUN)

    assert found == [find_newest(), None, 1]
    assert (second, left) == (first, [0, 0, 0, 1])


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE more (id int)",
        "DROP TABLE messages CASCADE",
        "ALTER TABLE threads ADD COLUMN more text",
        "CREATE INDEX more ON threads (agent)",
        "CREATE SCHEMA more",
        "UPDATE rightseat_version SET version_num = '0001'",
        "INSERT INTO log_version VALUES (99)",
        "INSERT INTO log_runs (id, epoch) SELECT number, 1 FROM generate_series(1, 3000) AS number",
    ],
)
async def test_a_database_that_is_not_as_before_is_replaced(change: str) -> None:
    async with migrated_database() as first:
        await execute(first, change)
    async with migrated_database() as second:
        [count] = await execute(second, "SELECT count(*) FROM threads")

    assert first != second
    assert count == 0


async def test_a_test_that_leaves_a_connection_open_has_no_influence_on_the_next_one() -> None:
    async with migrated_database() as first:
        connection = await asyncpg.connect(first)
    async with migrated_database() as second:
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
            await connection.execute(ADD_THREAD)
        with pytest.raises(asyncpg.PostgresError):
            await asyncpg.connect(first)

    assert first != second


async def test_databases_that_are_in_use_at_the_same_time_are_different() -> None:
    async with AsyncExitStack() as stack:
        urls = {await stack.enter_async_context(migrated_database()) for _ in range(3)}

    assert len(urls) == 3


def test_a_file_has_the_tables_and_only_this_user_can_read_it(tmp_path: Path) -> None:
    file = migrated_file(tmp_path / "state" / "rightseat.db")
    with closing(sqlite3.connect(file)) as connection:
        found = [
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
            for table in ("threads", "log_runs", "rightseat_version")
        ]

    assert found == [(0,), (0,), (1,)]
    assert file.stat().st_mode & 0o077 == 0


def test_a_process_uses_the_databases_that_an_earlier_one_has_left() -> None:
    for _ in range(2):
        with closing(TemplateCopies()) as copies:
            first, second = copies.take(), copies.take()

            assert first.name != second.name
            assert copies.reset(first)
            copies.give_back(first)
            assert copies.take() is first
            first.close()
            second.close()
