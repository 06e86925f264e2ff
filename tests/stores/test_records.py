"""Operators list the threads and runs of all users, page by page."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, event, text

from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.errors import BadRequest
from rightseat.core.events import Interrupt, RunFailed, RunFinished, Usage
from rightseat.core.messages import assistant, user
from rightseat.core.usage import ModelUsage, RunTotals
from rightseat.operations.records import RunQuery, RunRecord, ThreadQuery
from rightseat.stores import record_queries, rows
from rightseat.stores.databases import connect
from rightseat.stores.migrations.runner import build_config
from rightseat.stores.sql import SqlThreads

DONE = RunFinished("done")


@pytest.fixture
async def store(where: Path | str) -> AsyncIterator[SqlThreads]:
    async with SqlThreads(connect(where)) as store:
        yield store


def ask(run_id: str, thread_id: str = "t", owner: str = "anna", agent: str = "clerk", **given: object) -> Ask:
    return Ask(
        messages=(user(f"Question {run_id}"),),
        run_id=run_id,
        thread_id=thread_id,
        principal=Principal(owner),
        agent=agent,
        face="copilotkit",
        **given,  # type: ignore[arg-type]  # each test gives one field
    )


async def run(
    store: SqlThreads, asked: Ask, last: RunFinished | RunFailed = DONE, totals: RunTotals | None = None
) -> None:
    await store.claim(asked)
    await store.finish(asked, (assistant("Hello!"),), None, last, totals)


async def run_ids(store: SqlThreads, **given: str) -> list[str]:
    return [one.id for one in (await store.records.runs(RunQuery(**given))).rows]  # type: ignore[arg-type]  # texts only


async def test_a_run_is_listed_with_its_user_face_tokens_and_end(store: SqlThreads) -> None:
    models = (ModelUsage("upstream", 2, Usage(11, 7, cache_read_tokens=3), "gpt-5"), ModelUsage("small", 1))
    await run(store, ask("r1"), totals=RunTotals(models, 4, "shop.orders"))

    (found,) = (await store.records.runs(RunQuery())).rows
    assert found == await store.records.run("r1")
    assert (found.id, found.thread, found.user, found.agent, found.face) == ("r1", "t", "anna", "clerk", "copilotkit")
    assert (found.outcome, found.code, found.input_tokens, found.output_tokens) == ("done", None, 11, 7)
    assert (found.model_calls, found.tool_calls, found.cache_read_tokens, found.flow) == (3, 4, 3, "shop.orders")
    assert found.models == models
    assert found.seconds is not None
    assert 0 <= found.seconds < 5


async def test_a_thread_whose_last_message_is_long_is_listed_without_reading_all_of_it(store: SqlThreads) -> None:
    asked = ask("r1")
    await store.claim(asked)
    await store.finish(asked, (assistant("Once upon\na time " + "x" * 200_000),), None, DONE)

    (found,) = (await store.records.threads(ThreadQuery())).rows

    assert found.last_text is not None
    assert found.last_text.startswith("once upon a time xxx")
    assert len(found.last_text) <= rows.MAX_BEGINNING_CHARS


async def test_in_sqlite_a_list_does_not_wait_for_another_one(tmp_path: Path) -> None:
    """Each ends only if both are under way."""
    meeting, database = threading.Barrier(2, timeout=20), connect(tmp_path / "threads.db")

    async with SqlThreads(database):
        await asyncio.gather(*(database.scan(lambda _: meeting.wait()) for _ in range(2)))


async def test_runs_are_selected_by_their_flow(store: SqlThreads) -> None:
    await run(store, ask("r1"), totals=RunTotals((), 1, "shop.orders"))
    await run(store, ask("r2"), totals=RunTotals((), 1, "shop.returns"))
    await run(store, ask("r3"))

    assert await run_ids(store, flow="shop.orders") == ["r1"]
    assert await run_ids(store, flow="shop") == []


async def test_a_run_in_progress_has_no_end_and_a_failed_one_has_its_code(store: SqlThreads) -> None:
    await run(store, ask("r1"), RunFailed("model_unreachable", "Away."))
    await store.claim(ask("r2"))

    running, failed = (await store.records.runs(RunQuery())).rows
    assert (failed.outcome, failed.code, failed.input_tokens) == ("failed", "model_unreachable", None)
    assert (running.outcome, running.ended_at, running.seconds) == (None, None, None)
    assert [one.active_run for one in (await store.records.threads(ThreadQuery())).rows] == ["r2"]


async def test_a_run_waits_until_its_question_is_answered(store: SqlThreads) -> None:
    def state(found: RunRecord | None) -> tuple[bool, bool]:
        assert found is not None
        return found.has_questions, found.is_waiting

    await run(store, ask("asks"), RunFinished("waiting", (Interrupt("i", "approval", "Really?"),)))
    before = state(await store.records.run("asks"))
    await run(store, ask("answers", answers=(Answer("i", "resolved"),)))
    after = state(await store.records.run("asks"))
    await run(store, ask("calls"), RunFinished("waiting"))

    assert before == (True, True)
    assert after == (True, False)
    assert state(await store.records.run("calls")) == (False, False)


async def test_an_expired_question_is_not_waited_for(store: SqlThreads) -> None:
    expired = Interrupt("i", "approval", "Really?", expires_at="2020-01-01T00:00:00Z")
    await run(store, ask("asks"), RunFinished("waiting", (expired,)))

    found = await store.records.run("asks")
    assert found is not None
    assert not found.is_waiting


async def test_runs_are_read_page_by_page_the_newest_first(store: SqlThreads) -> None:
    for number in range(5):
        await run(store, ask(f"r{number}", f"t{number % 2}"))

    first = await store.records.runs(RunQuery(limit=2))
    await run(store, ask("new"))
    second = await store.records.runs(RunQuery(limit=2, after=first.next))
    last = await store.records.runs(RunQuery(limit=2, after=second.next))

    pages = [[run.id for run in page.rows] for page in (first, second, last)]
    assert pages == [["r4", "r3"], ["r2", "r1"], ["r0"]]
    assert last.next is None


async def test_a_page_that_holds_the_last_row_is_the_last(store: SqlThreads) -> None:
    await run(store, ask("r1"))

    assert (await store.records.runs(RunQuery(limit=1))).next is None
    assert (await store.records.threads(ThreadQuery(limit=1))).next is None


async def test_runs_can_be_narrowed(store: SqlThreads) -> None:
    await run(store, ask("r1", "t1", "anna", "clerk"))
    await run(store, ask("r2", "t2", "bob", "clerk"))
    await run(store, ask("r3", "t2", "bob", "banker"))

    assert await run_ids(store, thread="t2") == ["r3", "r2"]
    assert await run_ids(store, agent="clerk") == ["r2", "r1"]
    assert await run_ids(store, user="anna") == ["r1"]
    assert await run_ids(store, user="anna", thread="t2") == []


async def test_threads_of_all_users_are_read_page_by_page(store: SqlThreads) -> None:
    for number in range(5):
        await run(store, ask(f"r{number}", f"t/{number}", "anna" if number % 2 else "bob"))
    await run(store, ask("again", "t/1", "anna"))

    first = await store.records.threads(ThreadQuery(limit=3))
    second = await store.records.threads(ThreadQuery(limit=3, after=first.next))
    bobs = await store.records.threads(ThreadQuery(user="bob"))

    assert [one.id for one in first.rows] == ["t/1", "t/4", "t/3"]
    assert [one.id for one in second.rows] == ["t/2", "t/0"]
    assert second.next is None
    assert {one.user for one in bobs.rows} == {"bob"}
    assert (first.rows[0].title, first.rows[0].runs, first.rows[0].active_run) == ("Question r1", 2, None)


@pytest.mark.parametrize("after", ["", "x", "-1", "9" * 30, "٣", "1; DROP TABLE runs"])
async def test_a_cursor_that_is_none_is_refused(store: SqlThreads, after: str) -> None:
    with pytest.raises(BadRequest, match="is not the cursor of a page of runs"):
        await store.records.runs(RunQuery(after=after))
    with pytest.raises(BadRequest, match="is not the cursor of a page of threads"):
        await store.records.threads(ThreadQuery(after=after))


async def test_an_unknown_id_is_none(store: SqlThreads) -> None:
    assert await store.records.run("nowhere\0") is None
    assert await store.records.run("nowhere") is None
    assert await store.records.thread("nowhere\0") is None
    assert await store.records.thread("nowhere") is None


async def test_runs_of_a_database_before_this_migration_are_listed(empty: Path | str) -> None:
    def go_back(connection: Connection) -> None:
        command.downgrade(build_config(connection), "0001")
        (row,) = connection.execute(text("SELECT * FROM runs"))
        assert not hasattr(row, "face")

    database = connect(empty)
    async with SqlThreads(database) as store:
        await run(store, ask("r1"), totals=RunTotals((ModelUsage("upstream", 1, Usage(1, 1)),)))
        await database.write(go_back)
    async with SqlThreads(connect(empty)) as store:
        found = await store.records.run("r1")

    assert found is not None
    assert (found.outcome, found.face, found.input_tokens) == ("done", None, None)


async def test_a_page_of_a_file_is_found_by_an_index(tmp_path: Path) -> None:
    plans: list[str] = []

    def explain(connection: Connection) -> None:
        def plan(_: Connection, cursor: Any, statement: str, parameters: Any, *rest: object) -> None:
            if statement.startswith("SELECT"):
                rows = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
                plans.append("; ".join(row[3] for row in rows))

        event.listen(connection, "before_cursor_execute", plan)
        record_queries.list_threads(connection, ThreadQuery(after="2026-01-01T00:00:00.000000Z/t"))
        record_queries.list_runs(connection, RunQuery(after="7"))

    database = connect(tmp_path / "rightseat.db")
    async with SqlThreads(database):
        await database.read(explain)

    threads, runs = plans
    assert threads.startswith("SEARCH threads USING INDEX ix_threads_updated_at")
    assert runs.startswith("SEARCH runs USING INTEGER PRIMARY KEY")
    assert "TEMP B-TREE" not in threads + runs


async def test_runs_are_visited_the_newest_first_up_to_a_limit(store: SqlThreads) -> None:
    models = (ModelUsage("upstream", 2, Usage(11, 7), "gpt-5"),)
    for number in range(3):
        await run(store, ask(f"r{number}", agent="clerk" if number else "other"), totals=RunTotals(models))
    found: list[RunRecord] = []

    assert await store.records.visit_runs(RunQuery(), found.append)
    assert [one.id for one in found] == ["r2", "r1", "r0"]
    assert found[0].models == models

    found.clear()
    assert not await store.records.visit_runs(RunQuery(limit=2), found.append)
    assert await store.records.visit_runs(RunQuery(agent="other", limit=2), found.append)
    assert [one.id for one in found] == ["r2", "r1", "r0"]
