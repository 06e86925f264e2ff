"""Deletions: every store remembers for some hours which threads and memories are gone."""

from datetime import timedelta
from pathlib import Path

import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.events import RunFinished
from rightseat.core.messages import assistant, user
from rightseat.core.threads import Threads
from rightseat.operations.changes import Deletion
from rightseat.operations.memories import NewMemory
from rightseat.operations.store import Store, store_of
from rightseat.stores import deletions, rows
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from tests.stores.expiry import expire

ANNA = Principal("anna")


@pytest.fixture
def store(threads: Threads) -> Store:
    return store_of(threads)


async def run(store: Store, thread: str) -> None:
    asked = Ask(messages=(user("Hi"),), thread_id=thread, run_id=f"r-{thread}", principal=ANNA)
    await store.threads.claim(asked)
    await store.threads.finish(asked, (assistant("Hello!"),), None, RunFinished("done"))


async def find(store: Store, owner: str = "anna", since: str = "") -> list[Deletion]:
    assert store.deletions is not None
    return list(await store.deletions.find(owner, since))


async def add(store: Store, text: str, owner: str | None = "anna") -> str:
    assert store.memories is not None
    return (await store.memories.add(NewMemory(owner=owner, text=text, author="anna"), 10)).id


async def test_a_deleted_thread_is_remembered_for_its_owner(store: Store) -> None:
    await run(store, "t")
    before = rows.now()
    await store.threads.delete("t", ANNA)

    assert await find(store, since=before) == [Deletion("thread", "t")]
    assert await find(store, "ben") == []
    assert await find(store, since="2999-01-01T00:00:00Z") == []


async def test_removed_replaced_and_forgotten_memories_are_remembered_and_shared_ones_for_all(store: Store) -> None:
    assert store.memories is not None
    one, two, three = [await add(store, text) for text in ("one", "two", "three")]
    shared = await add(store, "shared", None)
    await store.memories.remove(one, "anna")
    await store.memories.replace(two, "anna", NewMemory(owner="anna", text="three", author="anna"))
    await store.memories.remove(shared, None)
    found = await find(store)
    [left] = await store.memories.list_own("anna")
    await store.memories.forget_user("anna")

    assert {deletion.id for deletion in found} == {one, two, three, shared}
    assert await find(store, "ben") == [Deletion("memory", shared)]
    assert left.id in {deletion.id for deletion in await find(store)}


async def test_they_are_forgotten_after_the_longest_token(where: Path | str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with SqlThreads(connect(where)) as threads:
        store = store_of(threads)
        await run(store, "t")
        await threads.delete("t", ANNA)
        await expire(threads)
        kept = await find(store)
        monkeypatch.setattr(deletions, "RETENTION", timedelta())
        await expire(threads)

        assert kept == [Deletion("thread", "t")]
        assert await find(store) == []
