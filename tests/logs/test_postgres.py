"""What only the log in PostgreSQL promises: its tables, how long it keeps what it has, what it says when it fails."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
import pytest
from pydantic import SecretStr

from rightseat import parts
from rightseat.core.errors import ConfigError, RunNotFound
from rightseat.core.events import TextDelta
from rightseat.core.log import Entry
from rightseat.logs.postgres import Options, build
from rightseat.logs.shared.log import SharedLog
from tests.databases import migrated_database
from tests.services import free_port, schema


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with migrated_database() as url:
        yield url


@pytest.fixture
async def connection(url: str) -> AsyncIterator[Any]:
    async with connected(url) as connection:
        yield connection


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


def built(url: str, *, retention_minutes: float = 60.0) -> SharedLog:
    log = build(Options(url=SecretStr(url), retention_minutes=retention_minutes))
    assert isinstance(log, SharedLog)
    return log


async def write(log: SharedLog, run_id: str, text: str = "one") -> None:
    await log.create(run_id)
    async with log.open(run_id, 1) as writer:
        await writer.append(TextDelta("m", text))


# Tables


async def test_all_processes_may_start_at_once_on_an_empty_database() -> None:
    async with asyncio.timeout(60), schema() as url, AsyncExitStack() as stack:
        logs = await asyncio.gather(*(stack.enter_async_context(built(url)) for _ in range(8)))
        await asyncio.gather(*(write(log, f"r{number}") for number, log in enumerate(logs)))
        found = await asyncio.gather(*(logs[0].read(f"r{number}") for number in range(8)))
        connection = await stack.enter_async_context(connected(url))
        versions = await connection.fetchval("SELECT count(*) FROM log_version")

    assert [len(entries) for entries in found] == [1] * 8
    assert versions == 1


async def test_a_database_of_a_newer_version_is_left_alone(url: str, connection: Any) -> None:
    async with built(url):
        pass
    await connection.execute("INSERT INTO log_version VALUES (99)")

    with pytest.raises(ConfigError, match="Upgrade it"):
        async with built(url):
            pass


async def test_every_character_that_people_paste_can_be_kept(url: str) -> None:
    text = "\0 \u2028 😀 \\u0000 \x7f ' \" {} \\ \r\n"
    async with built(url) as log:
        await write(log, "r", text)

        assert [entry.event for entry in await log.read("r")] == [TextDelta("m", text)]


# How long it keeps


async def test_runs_that_ended_long_ago_are_dropped_and_others_stay(url: str, connection: Any) -> None:
    async with asyncio.timeout(30), built(url, retention_minutes=30) as log:
        for run_id in ("old", "young"):
            await write(log, run_id)
        await log.create("live")
        await connection.execute("UPDATE log_runs SET ended_at = now() - interval '31 minutes' WHERE id = 'old'")
        async with log.open("live", 1) as writer:
            await writer.append(TextDelta("m", "one"))
            await log._backend.clean_up(["live"])

        with pytest.raises(RunNotFound):
            await log.read("old")
        assert len(await log.read("young")) == len(await log.read("live")) == 1
    assert await connection.fetchval("SELECT count(DISTINCT run_key) FROM log_records") == 2


async def test_a_judged_run_is_dropped_later_than_others(url: str, connection: Any) -> None:
    async def pass_minutes(minutes: int) -> None:
        await connection.execute("UPDATE log_runs SET ended_at = ended_at - make_interval(mins => $1)", minutes)
        await log._backend.clean_up([])

    async with asyncio.timeout(30), built(url, retention_minutes=30) as log:
        for run_id in ("judged", "other"):
            await write(log, run_id)
        await log.keep_judged("judged")
        await log.keep_judged("gone")
        await pass_minutes(31)
        left = await connection.fetch("SELECT id FROM log_runs")
        await pass_minutes(14 * 1440 - 40)
        still = len(await log.read("judged"))
        await pass_minutes(20)
        with pytest.raises(RunNotFound):
            await log.read("judged")

    assert [row["id"] for row in left] == ["judged"]
    assert still == 1


async def test_judging_a_run_that_is_written_does_not_end_it(url: str, connection: Any) -> None:
    async with asyncio.timeout(30), built(url) as log:
        await log.create("r")
        async with log.open("r", 1) as writer:
            await writer.append(TextDelta("m", "one"))
            await log.keep_judged("r")
            ended_at = await connection.fetchval("SELECT ended_at FROM log_runs")

    assert ended_at is None


async def test_a_run_that_is_taken_up_again_has_not_ended(url: str, connection: Any) -> None:
    async with asyncio.timeout(30), built(url) as log:
        await write(log, "r")
        ended = await connection.fetchval("SELECT ended_at FROM log_runs")
        async with log.open("r", 2):
            again = await connection.fetchval("SELECT ended_at FROM log_runs")

    assert ended is not None
    assert again is None


async def test_forgetting_leaves_no_rows(url: str, connection: Any) -> None:
    async with asyncio.timeout(30), built(url) as log:
        await write(log, "r")
        await log.delete(("r",))

    assert await connection.fetchval("SELECT count(*) FROM log_records") == 0


# Who reads


async def test_a_slow_transaction_hides_no_entry_from_followers(url: str, connection: Any) -> None:
    """Commits are not in the order of what they write; a reader that went by one number for all would skip some."""
    async with asyncio.timeout(60), built(url) as here, built(url) as there:
        await here.create("a")
        await here.create("b")

        async def follow(run_id: str) -> list[Entry]:
            return [entry async for batch in there.follow(run_id) for entry in batch]

        reading = [asyncio.create_task(follow(run_id)) for run_id in ("a", "b")]
        async with here.open("a", 1) as a, here.open("b", 1) as b:
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute("SELECT 1 FROM log_runs WHERE id = 'a' FOR UPDATE")  # a's next batch waits for it
            await a.append(TextDelta("m", "late"))
            await b.append(TextDelta("m", "with it"))
            await transaction.rollback()
        heard = await asyncio.gather(*reading)

    assert [[entry.id for entry in one] for one in heard] == [["1-1"], ["1-1"]]


# What goes wrong


async def test_an_invalid_database_file_is_reported_when_the_log_is_opened() -> None:
    with pytest.raises(ConfigError, match="postgresql://user:password@host/name"):
        built("mysql://host/name")
    with pytest.raises(ConfigError, match="Is its `url` right"):
        async with built(f"postgresql://postgres@127.0.0.1:{free_port()}/test"):
            pass


async def test_the_password_is_not_shown() -> None:
    assert "secret" not in repr(Options(url=SecretStr("postgresql://u:secret@host/name")))


def test_it_is_found_by_its_name() -> None:
    assert parts.options(parts.find("logs", "postgres")) is Options
