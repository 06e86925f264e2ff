"""Lists of threads and runs as operators see them, in every store: what is visible, pages, search, sums."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from alembic import command
from sqlalchemy import Connection, insert, text

from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.errors import BadRequest
from rightseat.core.events import Interrupt, RunFailed, RunFinished, Usage
from rightseat.core.messages import File, Message, Text, assistant, user
from rightseat.core.usage import ModelUsage, RunTotals
from rightseat.operations.records import Page, RecordReader, RunQuery, ThreadQuery, ThreadRow
from rightseat.stores import record_queries, tables, thread_search
from rightseat.stores.databases import connect
from rightseat.stores.memory import MemoryThreads
from rightseat.stores.migrations.runner import build_config
from rightseat.stores.sql import SqlThreads
from tests.stores.conftest import database

Store = MemoryThreads | SqlThreads
DONE = RunFinished("done")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield MemoryThreads()
        return
    async with database(request.param, tmp_path) as where, SqlThreads(connect(where)) as threads:
        yield threads


async def run(
    store: Store,
    thread_id: str,
    *,
    owner: str = "anna",
    agent: str = "clerk",
    question: str = "Question",
    response: str = "Hello!",
    last: RunFinished | RunFailed = DONE,
    usage: Usage | None = None,
    answers: tuple[Answer, ...] = (),
) -> str:
    asked = Ask(
        messages=(user(question),),
        thread_id=thread_id,
        principal=Principal(owner),
        agent=agent,
        face="copilotkit",
        answers=answers,
    )
    await store.claim(asked)
    totals = RunTotals((ModelUsage("upstream", 1, usage),))
    await store.finish(asked, (assistant(response),), None, last, totals)
    return asked.run_id


async def list_ids(store: Store, query: ThreadQuery) -> list[str]:
    return [row.id for row in (await store.records.threads(query)).rows]


async def search(store: Store, words: str) -> list[str]:
    return await list_ids(store, ThreadQuery(words=words))


async def test_a_run_that_answers_a_question_has_the_time_of_the_question(store: Store) -> None:
    asking = await run(store, "t", last=RunFinished("waiting", (Interrupt("i", "approval", "Really?"),)))
    await asyncio.sleep(0.02)  # the time that a person takes
    answering = await run(store, "t", answers=(Answer("i", "resolved"),))
    later = await run(store, "t")

    found = {one.id: one for one in (await store.records.runs(RunQuery())).rows}
    assert found[answering].asked_at == found[asking].ended_at
    assert 0.02 <= (found[answering].waited_seconds or 0) < 5
    assert [found[one].waited_seconds for one in (asking, later)] == [None, None]


# What is visible


async def test_a_reader_sees_own_threads_and_those_of_the_agents_that_it_watches(store: Store) -> None:
    await run(store, "own")
    await run(store, "own-other-agent", agent="banker")
    await run(store, "others", owner="bob")
    await run(store, "others-watched", owner="bob", agent="banker")

    async def seen(reader: RecordReader) -> set[str]:
        return set(await list_ids(store, ThreadQuery(reader=reader)))

    assert await seen(RecordReader("anna")) == {"own", "own-other-agent"}
    assert await seen(RecordReader("anna", ("clerk",))) == {"own"}
    assert await seen(RecordReader("anna", ())) == set()
    assert await seen(RecordReader("anna", ("clerk",), ("banker",))) == {"own", "own-other-agent", "others-watched"}
    assert await seen(RecordReader("wu", (), None)) == {"own", "own-other-agent", "others", "others-watched"}


async def test_a_thread_in_which_another_agent_took_part_is_not_visible(store: Store) -> None:
    await run(store, "mixed", owner="bob")
    await run(store, "mixed", owner="bob", agent="banker")
    await run(store, "plain", owner="bob")

    assert await list_ids(store, ThreadQuery(reader=RecordReader("wu", (), ("clerk",)))) == ["plain"]
    assert await list_ids(store, ThreadQuery(reader=RecordReader("bob", ("clerk",)))) == ["plain"]
    rows = (await store.records.threads(ThreadQuery())).rows
    assert {row.id: row.has_other_agents for row in rows} == {"mixed": True, "plain": False}


async def test_a_group_includes_its_members_and_no_wildcard_counts(store: Store) -> None:
    await run(store, "member", owner="bob", agent="team/one")
    await run(store, "namesake", owner="bob", agent="teamster")

    assert await list_ids(store, ThreadQuery(reader=RecordReader("wu", (), ("team",)))) == ["member"]
    assert await list_ids(store, ThreadQuery(reader=RecordReader("wu", (), ("te_m", "%")))) == []
    runs = await store.records.runs(RunQuery(reader=RecordReader("wu", (), ("team",))))
    assert [row.thread for row in runs.rows] == ["member"]


async def test_runs_are_seen_as_threads_are(store: Store) -> None:
    await run(store, "own")
    await run(store, "others", owner="bob", agent="banker")

    async def seen(reader: RecordReader) -> set[str]:
        return {row.thread for row in (await store.records.runs(RunQuery(reader=reader))).rows}

    assert await seen(RecordReader("anna")) == {"own"}
    assert await seen(RecordReader("anna", ("banker",))) == set()
    assert await seen(RecordReader("anna", None, ("banker",))) == {"own", "others"}
    assert await seen(RecordReader("wu", (), None)) == {"own", "others"}


# Filters and sums


async def test_threads_are_narrowed_by_owner_agent_archive_state_and_time(store: Store) -> None:
    await run(store, "failed", last=RunFailed("model_unreachable", "Away."))
    await run(store, "done", owner="bob", agent="banker")
    await run(store, "archived")
    await store.change("archived", Principal("anna"), archived=True)
    await store.claim(Ask(messages=(user("Now"),), thread_id="running", principal=Principal("anna"), agent="clerk"))
    times = {row.id: row.updated_at for row in (await store.records.threads(ThreadQuery())).rows}

    assert await list_ids(store, ThreadQuery(user="bob")) == ["done"]
    assert await list_ids(store, ThreadQuery(agent="banker")) == ["done"]
    assert await list_ids(store, ThreadQuery(archived=True)) == ["archived"]
    assert "archived" not in await list_ids(store, ThreadQuery(archived=False))
    assert await list_ids(store, ThreadQuery(state="failed")) == ["failed"]
    assert await list_ids(store, ThreadQuery(state="running")) == ["running"]
    assert await list_ids(store, ThreadQuery(state="waiting")) == []
    assert await list_ids(store, ThreadQuery(since=times["archived"])) == ["running", "archived"]
    running = await store.records.runs(RunQuery(outcome="running"))
    assert [row.thread for row in running.rows] == ["running"]
    failed = await store.records.runs(RunQuery(outcome="failed"))
    assert [(row.thread, row.code) for row in failed.rows] == [("failed", "model_unreachable")]
    assert (await store.records.runs(RunQuery(since="2999-01-01T00:00:00.000000Z"))).rows == []


async def test_a_thread_has_the_sums_of_its_runs_and_the_beginning_of_its_last_message(store: Store) -> None:
    await run(store, "t", question="First question", usage=Usage(11, 7, cache_read_tokens=5))
    await run(store, "t", response="Second\n answer " + "x" * 500, usage=Usage(10, 3))
    await run(store, "empty", last=RunFinished("cancelled"))

    empty, found = (await store.records.threads(ThreadQuery())).rows
    assert (found.title, found.runs, found.state, found.active_run) == ("First question", 2, "done", None)
    assert (found.input_tokens, found.output_tokens, found.cache_read_tokens) == (21, 10, 5)
    assert found.milliseconds is not None
    assert 0 <= found.milliseconds < 5000
    assert found.last_text is not None
    assert found.last_text.startswith("Second answer x")
    assert len(found.last_text) <= 200
    assert (empty.state, empty.input_tokens) == ("cancelled", None)
    alone = await store.records.thread("t")
    assert alone is not None
    assert (alone.input_tokens, alone.state) == (21, "done")


async def test_milliseconds_are_those_between_start_and_end(store: Store) -> None:
    run_id = await run(store, "t")
    record = await store.records.run(run_id)
    (row,) = (await store.records.threads(ThreadQuery())).rows

    assert record is not None
    assert record.seconds is not None
    assert row.milliseconds is not None
    assert abs(row.milliseconds - record.seconds * 1000) <= 1


async def test_questions_of_all_users_are_listed_until_they_are_answered(store: Store) -> None:
    asks = RunFinished("waiting", (Interrupt("i-anna", "approval", "Really?"),))
    await run(store, "annas", last=asks)
    await run(store, "bobs", owner="bob", last=RunFinished("waiting", (Interrupt("i-bob", "approval", "Sure?"),)))
    expired = Interrupt("i-old", "approval", "Still?", expires_at="2020-01-01T00:00:00Z")
    await run(store, "old", last=RunFinished("waiting", (expired,)))

    both = [(one.user, one.pending.interrupt.id) for one in await store.records.questions()]
    await run(store, "annas", answers=(Answer("i-anna", "resolved"),))

    assert both == [("anna", "i-anna"), ("bob", "i-bob")]
    assert [one.user for one in await store.records.questions()] == ["bob"]


async def test_a_question_names_its_time_and_the_active_run_that_continues_with_its_answer(store: Store) -> None:
    asks = RunFinished("waiting", (Interrupt("i-anna", "approval", "Really?"),))
    asking = await run(store, "annas", last=asks)
    await run(store, "bobs", owner="bob", last=RunFinished("waiting", (Interrupt("i-bob", "approval", "Sure?"),)))

    (before,) = await store.records.questions("anna")
    answering = Ask(
        messages=(),
        thread_id="annas",
        principal=Principal("anna"),
        agent="clerk",
        answers=(Answer("i-anna", "resolved"),),
    )
    await store.claim(answering)
    (meanwhile,) = await store.records.questions("anna")
    bobs = [one.answered_in for one in await store.records.questions("bob")]

    record = await store.records.run(asking)
    assert record is not None
    assert (before.asked_at, before.answered_in) == (record.ended_at, None)
    assert (meanwhile.asked_at, meanwhile.answered_in) == (record.ended_at, answering.run_id)
    assert bobs == [None]


async def test_a_run_that_answers_nothing_answers_no_question(store: Store) -> None:
    asks = RunFinished("waiting", (Interrupt("i-anna", "approval", "Really?"),))
    await run(store, "annas", last=asks)
    await store.claim(Ask(messages=(user("Hi"),), thread_id="annas", principal=Principal("anna"), agent="clerk"))

    assert [one.answered_in for one in await store.records.questions()] == [None]


async def test_files_of_a_thread_are_listed_without_internal_data(store: Store) -> None:
    asked = Ask(messages=(user("Hi"),), thread_id="t", principal=Principal("anna"), agent="clerk")
    await store.claim(asked)
    id = await store.artifacts.put(asked, "report.html", "text/html", b"<p>")
    await store.artifacts.put(asked, "internal", "application/vnd.rightseat.private", b"{}")

    (found,) = await store.records.files("t")
    assert (found.id, found.name, found.media_type) == (id, "report.html", "text/html")
    assert await store.records.file_owner(id) == "anna"
    assert await store.records.file_owner("nowhere") is None
    assert list(await store.records.files("nowhere")) == []


# Pages


async def test_pages_neither_repeat_nor_miss_a_row_while_rows_are_added_and_deleted(store: Store) -> None:
    for number in range(9):
        await run(store, f"t{number}")

    first = await store.records.threads(ThreadQuery(limit=3, is_counted=True))
    await run(store, "new")
    await store.delete("t7", Principal("anna"))  # on the first page
    await store.delete("t6", Principal("anna"))  # the cursor itself
    await store.delete("t5", Principal("anna"))  # on the next page
    second = await store.records.threads(ThreadQuery(limit=3, after=first.next, is_counted=True))
    third = await store.records.threads(ThreadQuery(limit=3, after=second.next))

    assert [row.id for row in first.rows] == ["t8", "t7", "t6"]
    assert [row.id for row in second.rows] == ["t4", "t3", "t2"]
    assert [row.id for row in third.rows] == ["t1", "t0"]
    assert (first.total, second.total, third.total, third.next) == (9, 7, None, None)


async def test_an_invalid_cursor_is_refused(store: Store) -> None:
    for words in (None, "hello"):
        with pytest.raises(BadRequest, match="is not the cursor of a page of threads"):
            await store.records.threads(ThreadQuery(after="x", words=words))
    with pytest.raises(BadRequest, match="is not the cursor of a page of runs"):
        await store.records.runs(RunQuery(after="x"))


# Search


async def test_words_are_found_in_names_and_in_what_was_said_in_any_case(store: Store) -> None:
    await run(store, "question", question="Where is the PORCUPINE?")
    await run(store, "response", response="主机上有漏洞。 Ärger im Büro")
    await run(store, "named", question="Hi")
    await store.change("named", Principal("anna"), name="Übersicht of hosts")

    assert await search(store, "porcupine") == ["question"]
    assert await search(store, "漏洞") == ["response"]
    assert await search(store, "ÄRGER IM BÜRO") == ["response"]
    assert await search(store, "übersicht") == ["named"]
    assert await search(store, "\uff30orcupine") == ["question"]  # a full-width letter
    assert await search(store, "nowhere") == []


@pytest.mark.parametrize("words", ["100%", "a_b", "it's", 'say "hi"', "back\\slash", "line\nbreak", "x/y"])
async def test_no_character_has_a_meaning_in_a_search(store: Store, words: str) -> None:
    await run(store, "with", response=f"before {words} after")
    await run(store, "without", response="1000 axb its say hi backslash line break xy")

    assert await search(store, words) == ["with"]


@pytest.mark.parametrize("words", ["role", "assistant", "parts", "msg_", "base64"])
async def test_only_words_are_searched(store: Store, words: str) -> None:
    attached = Message("user", (Text("Look"), File("document", "text/plain", "base64base64")))
    asked = Ask(messages=(attached,), thread_id="t", principal=Principal("anna"), agent="clerk")
    await store.claim(asked)
    await store.finish(asked, (), None, DONE)

    assert await search(store, words) == []


async def test_a_nul_character_is_searched_for_without_an_error(store: Store) -> None:
    await run(store, "t", response="a\0b")

    assert await search(store, "a\0b") == ["t"]


async def test_the_text_of_a_deleted_thread_is_not_found(store: Store) -> None:
    await run(store, "t", response="porcupine")
    await store.delete("t", Principal("anna"))

    assert await search(store, "porcupine") == []


async def test_a_search_finds_only_what_its_reader_sees(store: Store) -> None:
    await run(store, "own", response="porcupine")
    await run(store, "others", owner="bob", response="porcupine")

    query = ThreadQuery(words="porcupine", reader=RecordReader("anna"))
    assert await list_ids(store, query) == ["own"]


async def test_a_search_is_read_page_by_page(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_search, "BATCH_THREADS", 2)
    for number in range(7):
        await run(store, f"t{number}", response="porcupine" if number % 2 == 0 else "hedgehog")

    first = await store.records.threads(ThreadQuery(words="porcupine", limit=3))
    second = await store.records.threads(ThreadQuery(words="porcupine", limit=3, after=first.next))

    assert [row.id for row in first.rows] == ["t6", "t4", "t2"]
    assert [row.id for row in second.rows] == ["t0"]
    assert second.next is None


async def test_a_search_over_its_time_limit_continues_on_the_next_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_search, "BATCH_THREADS", 2)
    found = list[str]()
    async with SqlThreads(database := connect(tmp_path / "rightseat.db")) as store:
        for number in range(5):
            await run(store, f"t{number}", response="porcupine" if number in (0, 3) else "hedgehog")
        after, pages = None, 0
        while pages == 0 or after is not None:
            query = ThreadQuery(words="porcupine", after=after)
            page = await database.scan(thread_search.search_threads, query, timeout=-1.0)
            found += [row.id for row in page.rows]
            after, pages = page.next, pages + 1

    assert found == ["t3", "t0"]
    assert pages == 3


# SQLite and PostgreSQL


async def test_messages_that_were_stored_before_the_search_are_found(empty: Path | str) -> None:
    database = connect(empty)
    async with SqlThreads(database) as store:
        await run(store, "t", question="Wo ist das STACHELSCHWEIN?", response="主机上有漏洞。")
        await database.write(lambda connection: command.downgrade(build_config(connection), "0002"))
    async with SqlThreads(connect(empty)) as store:
        found = [await search(store, words) for words in ("stachelschwein", "漏洞", "role")]

    assert found == [["t"], ["t"], []]


async def test_a_search_delays_no_other_work(tmp_path: Path) -> None:
    is_searching, is_over = threading.Event(), threading.Event()

    def search_slowly(connection: Connection) -> None:
        connection.execute(text("SELECT 1"))
        is_searching.set()
        assert is_over.wait(5)

    async with asyncio.timeout(30), SqlThreads(database := connect(tmp_path / "rightseat.db")) as store:
        searching = asyncio.create_task(database.scan(search_slowly))
        await asyncio.to_thread(is_searching.wait, 5)
        await run(store, "t")
        is_over.set()
        await searching


@pytest.mark.serial
async def test_ten_thousand_threads_are_listed_and_searched_quickly(tmp_path: Path) -> None:
    """As CPU time, which other processes do not change: a page 15 ms, a search 40 ms when this was written."""

    def fill(connection: Connection) -> None:
        times = [f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.000000Z" for n in range(10_000)]
        common = {"owner": "anna", "agent": "clerk", "archived": False}
        found = [common | {"id": f"t{n}", "name": f"Thread {n}", "created_at": at} for n, at in enumerate(times)]
        connection.execute(insert(tables.threads), [row | {"updated_at": row["created_at"]} for row in found])
        texts = [f"answer {n}" + (" 漏洞" if n == 8 else "") for n in range(10_000)]
        rows = [{"thread_id": f"t{n}", "position": 1, "text": one} for n, one in enumerate(texts)]
        connection.execute(insert(tables.message_texts), rows)

    def measure(connection: Connection, query: ThreadQuery) -> tuple[float, Page[ThreadRow]]:
        read = thread_search.search_threads if query.words else record_queries.list_threads
        read(connection, query)  # compiles the statements
        began = time.process_time()
        page = read(connection, query)
        return time.process_time() - began, page

    query = ThreadQuery(reader=RecordReader("anna"), user="anna", archived=False, is_counted=True)
    async with SqlThreads(database := connect(tmp_path / "rightseat.db")):
        await database.write(fill)
        list_s, listed = await database.scan(measure, query)
        search_s, found = await database.scan(measure, msgspec.structs.replace(query, words="漏洞"))

    assert (listed.total, [row.id for row in found.rows]) == (10_000, ["t8"])
    assert list_s < 0.1
    assert search_s < 0.2
