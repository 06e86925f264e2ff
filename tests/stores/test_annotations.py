"""Annotations: what every store stores, finds, counts and deletes of them."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import BadRequest, ThreadNotFound
from rightseat.core.events import RunFinished
from rightseat.core.messages import assistant, user
from rightseat.core.threads import Threads
from rightseat.operations import annotations as bounds
from rightseat.operations.annotations import (
    AnnotationQuery,
    AnnotationRow,
    AnnotationStore,
    NewAnnotation,
    StoredAnnotation,
)
from rightseat.operations.records import RecordReader
from rightseat.operations.store import Store, store_of
from rightseat.stores import annotations as sql_annotations
from rightseat.stores import memory_annotations
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from tests.conditions import until
from tests.databases import migrated_file
from tests.stores.expiry import expire

ANNA = Principal("anna")


def store_in(store: Store) -> AnnotationStore:
    assert store.annotations is not None
    return store.annotations


async def add(store: Store, owner: str = "anna", thread: str = "t", **given: Any) -> StoredAnnotation:
    payload = given.pop("payload", '{"title":"clicked"}')
    return await store_in(store).add(
        NewAnnotation(owner=owner, thread=thread, type="user_action", payload=payload, **given)
    )


async def rows(store: Store, **given: Any) -> list[AnnotationRow]:
    return list((await store_in(store).list(AnnotationQuery(**given))).rows)


async def run(threads: Threads, thread: str = "t", agent: str = "default") -> None:
    asked = Ask(messages=(user("Hi"),), thread_id=thread, run_id=f"r-{thread}", principal=ANNA, agent=agent)
    await threads.claim(asked)
    await threads.finish(asked, (assistant("Hello!"),), None, RunFinished("done"))


@pytest.fixture
def store(threads: Threads) -> Store:
    return store_of(threads)


async def test_a_row_has_what_was_stored(store: Store) -> None:
    await run(store.threads)

    stored = await add(store, payload='{"data":[1,"\\u0000"]}', client_event_id="e", occurred_at="2026-11-18T12:00:00Z")

    assert not stored.is_duplicate
    [row] = await rows(store)
    assert (row.id, row.owner, row.thread, row.agent) == (stored.id, "anna", "t", "default")
    assert (row.type, row.payload) == ("user_action", {"data": [1, "\0"]})
    assert (row.client_event_id, row.occurred_at) == ("e", "2026-11-18T12:00:00Z")


async def test_an_event_id_is_one_annotation_for_each_user(store: Store) -> None:
    stored = await asyncio.gather(*(add(store, client_event_id="e") for _ in range(6)))
    other = await add(store, "ben", "b", client_event_id="e")
    without = [await add(store) for _ in range(2)]

    assert len({one.id for one in stored}) == 1
    assert sorted(one.is_duplicate for one in stored) == [False] + [True] * 5
    assert not other.is_duplicate
    assert without[0].id != without[1].id


async def test_the_thread_of_another_user_or_agent_is_refused(store: Store) -> None:
    await run(store.threads, agent="clerk")

    for given in ({"owner": "ben"}, {"agents": ("default",)}):
        with pytest.raises(ThreadNotFound):
            await add(store, **given)
    await add(store, agents=("clerk",))

    assert [row.owner for row in await rows(store)] == ["anna"]


async def test_annotations_before_the_first_run_stay_apart_from_those_of_the_owner(store: Store) -> None:
    await add(store, "ben")
    await run(store.threads)
    await add(store)

    assert [(row.owner, row.agent) for row in await rows(store)] == [("anna", "default"), ("ben", None)]
    await store.threads.delete("t", ANNA)
    assert [row.owner for row in await rows(store)] == ["ben"]


async def test_pages_are_the_newest_first(store: Store) -> None:
    ids = [(await add(store)).id for _ in range(5)]
    found, after = list[str](), None
    while True:
        page = await store_in(store).list(AnnotationQuery(after=after, limit=2))
        found += [row.id for row in page.rows]
        if (after := page.next) is None:
            break

    assert found == ids[::-1]
    for cursor in ("", "x", "a\0/b"):
        with pytest.raises(BadRequest):
            await store_in(store).list(AnnotationQuery(after=cursor))


async def test_filters_and_the_rights_of_a_reader(store: Store) -> None:
    await run(store.threads, agent="clerk")
    known = await add(store)
    unknown = await add(store, thread="later")
    other = await add(store, "ben", "b")

    async def ids(**given: Any) -> set[str]:
        return {row.id for row in await rows(store, **given)}

    assert await ids(owner="anna") == {known.id, unknown.id}
    assert await ids(thread="b") == {other.id}
    assert await ids(agent="clerk") == {known.id}
    assert await ids(type="other") == set()
    assert await ids(since="2999-01-01T00:00:00Z") == set()
    assert await ids(reader=RecordReader("olga", None, None)) == {known.id, unknown.id, other.id}
    assert await ids(reader=RecordReader("olga", None, ("clerk",))) == {known.id}
    assert await ids(reader=RecordReader("ben", None, ())) == {other.id}


async def test_the_oldest_are_deleted_with_a_line_in_the_log(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in (bounds, sql_annotations, memory_annotations):
        monkeypatch.setattr(module, "MAX_ROWS", 3)
        monkeypatch.setattr(module, "TRIMMED_ROWS", 2)
    caplog.set_level(logging.WARNING)
    await add(store, "ben", "b")

    ids = [(await add(store)).id for _ in range(5)]

    assert [row.id for row in await rows(store, owner="anna")] == ids[:1:-1]
    assert len(await rows(store, owner="ben")) == 1
    assert caplog.messages == ["anna has more than 3 annotations: the oldest 2 were deleted"]


async def test_a_user_is_exported_and_forgotten(store: Store) -> None:
    await add(store)
    await add(store, "ben", "b")

    exported = await store_in(store).read_user("anna")
    deleted = await store_in(store).forget_user("anna")

    assert [row["payload"] for row in exported if isinstance(row, dict)] == [{"title": "clicked"}]
    assert deleted == 1
    assert [row.owner for row in await rows(store)] == ["ben"]


async def test_annotations_of_threads_that_never_came_expire_with_threads(where: Path | str) -> None:
    async with SqlThreads(connect(where), retention_days=1e-9) as threads:
        store = store_of(threads)
        await add(store, thread="never")
        await run(threads)
        await add(store)
        await expire(threads)

        assert await rows(store) == []


async def test_a_deleted_thread_leaves_no_byte_of_its_annotations(tmp_path: Path) -> None:
    file = migrated_file(tmp_path / "state" / "rightseat.db")
    async with SqlThreads(connect(file)) as threads:
        store = store_of(threads)
        await run(threads)
        await add(store, payload='{"title":"swordfish-4711"}')
        await threads.delete("t", ANNA)

        def is_gone() -> bool:
            return not any(b"swordfish-4711" in one.read_bytes() for one in file.parent.glob("rightseat.db*"))

        await until(is_gone)
