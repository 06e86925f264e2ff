"""What every store promises of files that runs have made."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from rightseat.core.artifacts import StoredArtifact
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import ThreadBusy
from rightseat.core.events import RunFinished
from rightseat.core.messages import user
from rightseat.stores import rows
from rightseat.stores.databases import connect
from rightseat.stores.files import MemoryArtifacts
from rightseat.stores.memory import MemoryThreads, Options, build
from rightseat.stores.sql import SqlThreads
from tests.stores.expiry import expire

ANNA, BERT = Principal("anna"), Principal("bert")
ASK = Ask(messages=(user("Hi"),), thread_id="t", principal=ANNA, agent="ops")
LOOSE = Ask(messages=(user("Hi"),), principal=ANNA, transient=True)

Threads = MemoryThreads | SqlThreads


async def test_a_file_is_given_back_as_it_was_to_its_owner_alone(threads: Threads) -> None:
    await threads.claim(ASK)
    content = bytes(range(256))

    id = await threads.artifacts.put(ASK, "报告.pdf", "application/pdf", content)
    found = await threads.artifacts.get(id, ANNA)

    assert found is not None
    assert (found.id, found.agent, found.name) == (id, "ops", "报告.pdf")
    assert (found.media_type, found.content) == ("application/pdf", content)
    assert await threads.artifacts.get(id, BERT) is None
    assert await threads.artifacts.get("file_0", ANNA) is None
    assert await threads.artifacts.get("file\0", ANNA) is None


async def test_what_is_put_under_an_id_replaces_what_the_owner_has_under_it(threads: Threads) -> None:
    puts = [threads.artifacts.put(LOOSE, "a", "text/plain", b"a", "x_1") for _ in range(8)]
    assert set(await asyncio.gather(*puts)) == {"x_1"}

    await threads.artifacts.put(LOOSE, "b", "text/plain", b"b", "x_1")
    found = await threads.artifacts.get("x_1", ANNA)

    assert found is not None
    assert (found.name, found.content) == ("b", b"b")
    assert await threads.artifacts.get("x_1", BERT) is None


async def test_the_artifact_of_a_claim_is_stored_with_it_and_deleted_with_its_thread(threads: Threads) -> None:
    record = StoredArtifact("x_1", "ops", "x", "text/plain", b"a")

    claim = await threads.claim(ASK, artifact=record)

    assert claim.has_artifact
    assert await threads.artifacts.get("x_1", ANNA) == record
    assert await threads.artifacts.get("x_1", BERT) is None
    await threads.finish(ASK, (), None, RunFinished("done"))
    await threads.delete("t", ANNA)
    assert await threads.artifacts.get("x_1", ANNA) is None


async def test_a_refused_claim_stores_no_artifact(threads: Threads) -> None:
    await threads.claim(ASK)
    other = Ask(messages=(user("Hi"),), thread_id="t", principal=ANNA, agent="ops")

    with pytest.raises(ThreadBusy):
        await threads.claim(other, artifact=StoredArtifact("x_1", "ops", "x", "text/plain", b"a"))

    assert await threads.artifacts.get("x_1", ANNA) is None


async def test_what_is_taken_is_gone(threads: Threads) -> None:
    id = await threads.artifacts.put(LOOSE, "a", "text/plain", b"a")

    assert await threads.artifacts.take(id, BERT, "text/plain") is None
    assert await threads.artifacts.take(id, ANNA, "text/html") is None
    assert await threads.artifacts.take("file\0", ANNA, "text/plain") is None
    found = await threads.artifacts.take(id, ANNA, "text/plain")
    assert found is not None
    assert (found.id, found.content) == (id, b"a")
    assert await threads.artifacts.get(id, ANNA) is None
    assert await threads.artifacts.take(id, ANNA, "text/plain") is None


async def test_of_many_that_take_it_at_once_one_has_it(threads: Threads) -> None:
    id = await threads.artifacts.put(LOOSE, "a", "text/plain", b"a")

    taken = await asyncio.gather(*(threads.artifacts.take(id, ANNA, "text/plain") for _ in range(8)))

    assert len([one for one in taken if one is not None]) == 1


async def test_the_files_of_a_thread_go_with_it_and_no_others(threads: Threads) -> None:
    await threads.claim(ASK)
    mine = await threads.artifacts.put(ASK, "a", "text/plain", b"a")
    loose = await threads.artifacts.put(LOOSE, "b", "text/plain", b"b")
    await threads.finish(ASK, (), None, RunFinished("done"))

    await threads.delete("t", ANNA)

    assert await threads.artifacts.get(mine, ANNA) is None
    assert await threads.artifacts.get(loose, ANNA)


async def test_a_file_of_no_thread_is_kept_for_a_day(where: Path | str) -> None:
    database = connect(where)
    async with SqlThreads(database) as threads:
        await threads.claim(ASK)
        old, kept, young = [await threads.artifacts.put(ask, "a", "text/plain", b"a") for ask in (LOOSE, ASK, LOOSE)]
        await database.write(date_back, old, kept)

        await expire(threads)

        assert [bool(await threads.artifacts.get(id, ANNA)) for id in (old, kept, young)] == [False, True, True]


def date_back(connection: Connection, *ids: str) -> None:
    for id in ids:
        yesterday = {"id": id, "then": rows.now(ago=timedelta(hours=25))}
        connection.execute(text("UPDATE files SET created_at = :then WHERE id = :id"), yesterday)


async def test_another_process_finds_a_file_in_the_same_database(where: Path | str) -> None:
    if isinstance(where, Path):
        pytest.skip("one process at a time owns a file")
    async with SqlThreads(connect(where)) as one, SqlThreads(connect(where)) as other:
        await one.claim(ASK)
        id = await one.artifacts.put(ASK, "a", "text/plain", b"shared")

        found = await other.artifacts.get(id, ANNA)

    assert found is not None
    assert found.content == b"shared"


async def test_memory_keeps_the_newest_files_as_far_as_it_reaches() -> None:
    artifacts = MemoryArtifacts(max_mb=1)

    ids = [await artifacts.put(ASK, str(n), "text/plain", bytes(2**19)) for n in range(3)]

    assert [bool(await artifacts.get(id, ANNA)) for id in ids] == [False, True, True]


async def test_a_thread_that_memory_forgets_takes_its_files_along() -> None:
    threads = build(Options(max_threads=1))
    assert isinstance(threads, MemoryThreads)
    await threads.claim(ASK)
    id = await threads.artifacts.put(ASK, "a", "text/plain", b"a")
    await threads.finish(ASK, (), None, RunFinished("done"))

    other = Ask(messages=(user("Hi"),), thread_id="other", principal=ANNA)
    await threads.claim(other)
    await threads.finish(other, (), None, RunFinished("done"))

    assert await threads.artifacts.get(id, ANNA) is None
