"""Memories: what every store stores, finds, counts and deletes of them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import BadRequest
from rightseat.core.events import RunFinished
from rightseat.core.messages import assistant, user
from rightseat.core.threads import Threads
from rightseat.operations.memories import (
    MemoryNotFound,
    MemoryQuery,
    MemoryRow,
    MemoryStore,
    NewMemory,
    TooManyMemories,
)
from rightseat.operations.records import RecordReader
from rightseat.operations.store import Store, store_of
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from tests.conditions import until
from tests.databases import migrated_file
from tests.stores.expiry import expire

ANNA = Principal("anna")


def memory(text: str = "Likes tea", owner: str | None = "anna", **given: Any) -> NewMemory:
    return NewMemory(owner=owner, text=text, author=owner or "root", **given)


def memories_of(store: Store) -> MemoryStore:
    assert store.memories is not None
    return store.memories


async def add(store: Store, text: str = "Likes tea", owner: str | None = "anna", **given: Any) -> MemoryRow:
    return await memories_of(store).add(memory(text, owner, **given), 10)


async def texts(store: Store, owner: str = "anna") -> list[str]:
    return [row.text for row in await memories_of(store).list_own(owner)]


async def run(threads: Threads, thread: str = "t") -> None:
    asked = Ask(messages=(user("Hi"),), thread_id=thread, run_id=f"r-{thread}", principal=ANNA)
    await threads.claim(asked)
    await threads.finish(asked, (assistant("Hello!"),), None, RunFinished("done"))


@pytest.fixture
def store(threads: Threads) -> Store:
    return store_of(threads)


async def test_a_row_has_what_was_stored(store: Store) -> None:
    await run(store.threads)
    given: dict[str, Any] = {"kind": "episodic", "agent": "clerk", "created_by": "model", "approved_by": "olga"}
    source: dict[str, Any] = {
        "source_threads": ["unknown", "t"],
        "source_run": "r-t",
        "source_message": "m",
        "source_tools": ["web"],
    }

    row = await add(store, **given, **source, retention_days=2)

    assert (row.owner, row.scope, row.text) == ("anna", "user", "Likes tea")
    assert (row.kind, row.agent, row.created_by, row.approved_by) == ("episodic", "clerk", "model", "olga")
    assert (row.source_thread, row.source_run, row.source_message, list(row.source_tools)) == ("t", "r-t", "m", ["web"])
    assert row.created_at <= row.updated_at < (row.expires_at or "")
    assert list(await memories_of(store).list_own("anna")) == [row]


async def test_users_have_their_own_memories_and_the_shared_ones(store: Store) -> None:
    await add(store, "Likes tea")
    await add(store, "Likes coffee", "ben")
    await add(store, "Closed on Fridays", None)

    assert await texts(store) == ["Closed on Fridays", "Likes tea"]
    assert await texts(store, "ben") == ["Closed on Fridays", "Likes coffee"]
    assert await texts(store, "eve") == ["Closed on Fridays"]


async def test_the_same_text_is_one_row_for_each_owner(store: Store) -> None:
    rows = await asyncio.gather(*(add(store, text) for text in ["Likes tea", "likes  TEA", "ｌikes tea"] * 4))
    await add(store, "Likes tea", "ben")
    await add(store, "Likes tea", None)

    assert len({row.id for row in rows}) == 1
    assert len(await texts(store)) == 2


async def test_one_memory_too_many_is_refused_also_at_once(store: Store) -> None:
    results = await asyncio.gather(
        *(memories_of(store).add(memory(f"Fact {number}"), 5) for number in range(12)), return_exceptions=True
    )

    assert sum(isinstance(result, TooManyMemories) for result in results) == 7
    assert len(await texts(store)) == 5
    await memories_of(store).add(memory("Fact", "ben"), 5)


async def test_a_replaced_memory_has_a_new_id_and_no_old_text(store: Store) -> None:
    old, other = await add(store, "Lives in Basel"), await add(store, "Lives in Bern")

    new = await memories_of(store).replace(old.id, "anna", memory("Lives in Bern"))

    assert new.id not in (old.id, other.id)
    assert new.created_at == old.created_at
    assert await texts(store) == ["Lives in Bern"]
    with pytest.raises(MemoryNotFound):
        await memories_of(store).replace(old.id, "anna", memory("Lives in Bonn"))


async def test_the_memories_of_others_are_neither_replaced_nor_removed(store: Store) -> None:
    row, shared = await add(store), await add(store, "Closed on Fridays", None)

    for id in (row.id, shared.id, row.id.upper(), "", "%", "\0"):
        assert not await memories_of(store).remove(id, "ben"), id
        with pytest.raises(MemoryNotFound):
            await memories_of(store).replace(id, "ben", memory("x", "ben"))

    assert [await memories_of(store).remove(row.id, "anna") for _ in range(2)] == [True, False]
    assert await memories_of(store).remove(shared.id, None)


async def test_a_deleted_thread_leaves_its_memories_without_a_source(store: Store) -> None:
    await run(store.threads)
    await add(store, source_threads=["t"], source_run="r-t", source_message="m")

    await store.threads.delete("t", ANNA)

    (row,) = await memories_of(store).list_own("anna")
    assert (row.source_thread, row.source_run, row.source_message) == (None, None, None)


async def test_the_thread_of_another_user_is_no_source(store: Store) -> None:
    await run(store.threads)

    row = await add(store, owner="ben", source_threads=["t"], source_run="r-t")

    assert (row.source_thread, row.source_run) == (None, None)


async def test_a_thread_stays_suspect_until_it_is_deleted(store: Store) -> None:
    await run(store.threads)
    await memories_of(store).mark_suspect("t", ["web", "mail"])
    await memories_of(store).mark_suspect("t", ["web"])
    await memories_of(store).mark_suspect("not stored", ["web"])

    assert await memories_of(store).find_suspicions("t") == ["mail", "web"]
    assert list(await memories_of(store).find_suspicions("not stored")) == []
    await store.threads.delete("t", ANNA)
    await run(store.threads)
    assert list(await memories_of(store).find_suspicions("t")) == []


async def test_pages_follow_each_other_the_newest_first(store: Store) -> None:
    ids = [(await add(store, f"Fact {number}")).id for number in range(5)]

    first = await memories_of(store).list(MemoryQuery(owner="anna", limit=3))
    second = await memories_of(store).list(MemoryQuery(owner="anna", limit=3, after=first.next))

    assert [row.id for row in (*first.rows, *second.rows)] == ids[::-1]
    assert second.next is None
    with pytest.raises(BadRequest, match="cursor"):
        await memories_of(store).list(MemoryQuery(after="nothing"))


async def test_rows_are_found_by_every_field_and_by_what_a_reader_may_see(store: Store) -> None:
    await add(store, "1", agent="clerk", created_by="model")
    await add(store, "2", kind="episodic")
    await add(store, "3", "ben", agent="judge")
    await add(store, "4", None)

    async def find(**wanted: Any) -> set[str]:
        return {row.text for row in (await memories_of(store).list(MemoryQuery(**wanted))).rows}

    assert await find() == {"1", "2", "3", "4"}
    assert (await find(owner="anna"), await find(scope="project")) == ({"1", "2"}, {"4"})
    assert (await find(agent="judge"), await find(kind="episodic"), await find(created_by="model")) == (
        {"3"},
        {"2"},
        {"1"},
    )
    assert await find(reader=RecordReader("eve")) == set()
    assert await find(reader=RecordReader("eve", others=("judge",))) == {"3"}
    assert await find(reader=RecordReader("anna")) == {"1", "2"}
    assert await find(reader=RecordReader("eve", others=None)) == {"1", "2", "3", "4"}


async def test_a_memory_is_gone_after_its_time(store: Store) -> None:
    await add(store, "Old", retention_days=-1)
    kept = await add(store, "Kept")

    assert await texts(store) == ["Kept"]
    assert [row.id for row in (await memories_of(store).list(MemoryQuery())).rows] == [kept.id]


async def test_expired_memories_are_deleted(where: Path | str) -> None:
    async with SqlThreads(connect(where)) as threads:
        store = store_of(threads)
        for owner in ("anna", "ben"):
            await add(store, "Old", owner, retention_days=-1)
        await add(store, "Kept", retention_days=1)

        await expire(threads)

        assert await memories_of(store).forget_user("ben") == 0
        assert await memories_of(store).forget_user("anna") == 1


async def test_a_user_is_exported_and_forgotten(store: Store) -> None:
    row = await add(store, approved_by="anna")
    await add(store, "Likes coffee", "ben", approved_by="anna")
    await add(store, "Closed on Fridays", None)

    (exported,) = await memories_of(store).read_user("anna")
    assert isinstance(exported, dict)
    assert (exported["id"], exported["text"]) == (row.id, "Likes tea")
    assert [await memories_of(store).forget_user("anna") for _ in range(2)] == [1, 0]
    assert await texts(store) == ["Closed on Fridays"]
    assert [kept.approved_by for kept in await memories_of(store).list_own("ben")] == [None, None]


async def test_no_byte_of_an_old_text_stays_in_the_file(tmp_path: Path) -> None:
    file = migrated_file(tmp_path / "state" / "rightseat.db")
    secrets = [f"secret-{name}-" + "x" * 200 for name in ("replaced", "removed", "forgotten", "shared")]

    def left() -> set[str]:
        content = b"".join(path.read_bytes() for path in file.parent.iterdir())
        return {secret for secret in secrets if secret.encode() in content}

    async with SqlThreads(connect(file)) as threads:
        store = store_of(threads)
        replaced, removed, _, shared = [
            await add(store, secret, None if "shared" in secret else "anna") for secret in secrets
        ]
        assert left() == set(secrets)
        await memories_of(store).replace(replaced.id, "anna", memory("Likes tea"))
        await memories_of(store).remove(removed.id, "anna")
        await memories_of(store).remove(shared.id, None)
        await memories_of(store).forget_user("anna")

        await until(lambda: left() == set())
