"""What only the store in a SQL database promises: it lasts, and several processes can come to it."""

import asyncio
import logging
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from pydantic import SecretStr
from sqlalchemy import Connection, select, text

from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.errors import BadRequest, ConfigError, RunExists, StaleWriter, StoreUnreachable, ThreadBusy
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.messages import assistant, user
from rightseat.logs.sqlite.log import SqliteLog
from rightseat.stores import migrations, process_queries, sql
from rightseat.stores import rows as row_helpers
from rightseat.stores.databases import connect
from rightseat.stores.lease_rule import LeaseRow
from rightseat.stores.leases import LOCK_LEASE, read_lease
from rightseat.stores.migrations import VERSION_TABLE, find_newest, read_version
from rightseat.stores.migrations.runner import run_migrations
from rightseat.stores.sql import Options, SqlThreads, build
from rightseat.stores.store_database import StoreDatabase
from rightseat.stores.tables import metadata, runs
from tests.conditions import until
from tests.databases import migrated_database
from tests.services import POSTGRES, proxy, schema
from tests.stores.expiry import expire

ANNA = Principal("anna")
DONE = RunFinished("done")

Where = Path | str


def ask(run_id: str = "r", thread_id: str = "t", text: str = "Hi") -> Ask:
    return Ask(messages=(user(text),), thread_id=thread_id, run_id=run_id, principal=ANNA, headers={"cookie": "secret"})


async def run(threads: SqlThreads, asked: Ask) -> None:
    await threads.claim(asked)
    await threads.finish(asked, (assistant("Hello!"),), {"n": 1}, DONE)


# It lasts


async def test_what_was_kept_is_there_when_the_store_is_opened_again(where: Where) -> None:
    async with SqlThreads(connect(where)) as threads:
        await run(threads, ask())
        before = await threads.load("t", ANNA)
    async with SqlThreads(connect(where)) as threads:
        after = await threads.load("t", ANNA)

    assert before == after
    assert after is not None
    assert len(after.messages) == 2


async def test_the_file_of_a_server_that_runs_is_refused_to_another(tmp_path: Path) -> None:
    path = tmp_path / "rightseat.db"
    async with SqlThreads(connect(path)) as threads:
        with pytest.raises(ConfigError, match=r"rightseat\.db is in use by another rightseat.*server\.state"):
            await SqlThreads(connect(path)).__aenter__()
        await run(threads, ask())

    async with SqlThreads(connect(path)) as threads:
        assert await threads.load("t", ANNA)


HOLDING = """
import asyncio, sys
from pathlib import Path
from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import user
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads

async def main(where, lease_seconds):
    database = connect(where if "://" in where else Path(where), lease_seconds=float(lease_seconds))
    threads = await SqlThreads(database).__aenter__()
    for number in range(3):
        asked = Ask(messages=(user("Hi"),), thread_id=f"t{number}", run_id=f"r{number}", principal=Principal("anna"))
        await threads.claim(asked)
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


HANGS_AFTER_S = 120.0
SHORT_LEASE_S = 0.8  # for processes that die: tests wait until it has expired
OWN_LEASE_S = 2.0  # of the store in the test: it judges others once it has seen them unchanged for so long
LONG_LEASE_S = 8.0  # for processes that live: a busy machine may stop them, or the database, for a while


async def start_another(where: Where, lease_seconds: float = SHORT_LEASE_S) -> asyncio.subprocess.Process:
    """Another process, which has begun the runs r0, r1 and r2."""
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDING, str(where), str(lease_seconds), stdout=asyncio.subprocess.PIPE
    )
    assert other.stdout is not None
    assert await other.stdout.readline() == b"ready\n"
    return other


async def orphans_of(*stores: SqlThreads) -> list[Sequence[Ask]]:
    """What each of them gets, once its lease is over."""

    async def find() -> list[Sequence[Ask]] | None:
        found = await asyncio.gather(*(store.orphans() for store in stores))
        return found if any(found) else None

    return await until(find, HANGS_AFTER_S)


async def test_runs_of_a_process_that_was_killed_are_orphans_each_given_once(where: Where) -> None:
    async with asyncio.timeout(HANGS_AFTER_S):
        other = await start_another(where)
        other.kill()
        await other.wait()
        async with SqlThreads(connect(where, OWN_LEASE_S)) as threads:
            [first], second = await orphans_of(threads), await threads.orphans()
            again = [(await threads.claim(orphan)).epoch for orphan in first]

    assert [orphan.run_id for orphan in first] == ["r0", "r1", "r2"]
    assert [message.text for orphan in first for message in orphan.messages] == ["Hi"] * 3
    assert list(second) == []
    assert again == [2, 2, 2]


async def test_runs_of_another_process_that_lives_are_no_orphans() -> None:
    async with schema() as where, asyncio.timeout(HANGS_AFTER_S):
        other = await start_another(where, LONG_LEASE_S)
        async with SqlThreads(connect(where)) as threads:
            await renews_lease(where, 2)
            found = await threads.orphans()
            with pytest.raises(ThreadBusy):
                await threads.claim(ask("mine", "t0"))
        other.kill()
        await other.wait()

    assert list(found) == []


@pytest.mark.night  # the test of killed processes gives each orphan once, too
async def test_of_two_processes_that_start_one_gets_the_orphans() -> None:
    async with schema() as where, asyncio.timeout(HANGS_AFTER_S):
        other = await start_another(where)
        other.kill()
        await other.wait()
        async with SqlThreads(connect(where, OWN_LEASE_S)) as one, SqlThreads(connect(where, OWN_LEASE_S)) as two:
            found = await orphans_of(one, two)

    assert sorted(len(orphans) for orphans in found) == [0, 3]


async def test_a_process_that_was_stopped_for_longer_than_its_lease_has_lost_its_runs_and_lives_again() -> None:
    async with schema() as where, asyncio.timeout(HANGS_AFTER_S):
        other = await start_another(where)
        other.send_signal(signal.SIGSTOP)
        async with SqlThreads(connect(where, OWN_LEASE_S)) as threads:
            [found] = await orphans_of(threads)
            other.send_signal(signal.SIGCONT)
            await is_alive(where, 2)
            later = await threads.orphans()
        other.kill()
        await other.wait()

    assert [orphan.run_id for orphan in found] == ["r0", "r1", "r2"]
    assert list(later) == []


async def test_a_killed_process_is_disconnected_and_a_suspended_one_is_not() -> None:
    async with schema() as where, asyncio.timeout(HANGS_AFTER_S), SqlThreads(connect(where)) as threads:
        other = await start_another(where)
        await holds_a_connection(where)
        other.send_signal(signal.SIGSTOP)
        suspended = await read_stopped(threads)
        other.kill()
        await other.wait()
        killed = await read_disconnected(threads)

    assert not suspended.is_disconnected
    assert killed == replace(suspended, is_disconnected=True)
    assert killed.seconds == pytest.approx(SHORT_LEASE_S)


@pytest.mark.night  # ends all connections; that of one process is in the gate
async def test_connections_that_ended_with_the_database_prove_nothing() -> None:
    async with schema() as where, asyncio.timeout(HANGS_AFTER_S), SqlThreads(connect(where)) as threads:
        other = await start_another(where)
        await holds_a_connection(where)
        other.kill()
        await other.wait()
        await read_disconnected(threads)
        await change_leases(where, "database_started_at = database_started_at - 60")
        restarted = await read_other(threads)

    assert not restarted.is_disconnected


async def test_only_processes_that_are_late_with_their_lease_are_suspects() -> None:
    """Each of them costs a transaction a second on every other server."""
    async with schema() as where, asyncio.timeout(HANGS_AFTER_S):
        other = await start_another(where, OWN_LEASE_S)
        database = connect(where, OWN_LEASE_S)
        await database.open()
        [(busy,)] = await database.poll(process_queries.OTHER_PROCESSES, {"own_process": database.process_id})
        unknown = busy + 1

        async def find(wanted: Sequence[int]) -> bool:
            return await database.find_suspects([busy, unknown]) == wanted

        at_first = await database.find_suspects([busy, unknown])
        await until(lambda: find([unknown]), HANGS_AFTER_S)
        other.send_signal(signal.SIGSTOP)
        await until(lambda: find([busy, unknown]), HANGS_AFTER_S)
        await database.close()
        other.kill()
        await other.wait()

    assert at_first == []


async def test_each_renewal_writes_a_new_value_whatever_the_clock_of_the_database_says() -> None:
    async with schema() as where, asyncio.timeout(HANGS_AFTER_S), SqlThreads(connect(where)) as threads:
        other = await start_another(where)
        other.send_signal(signal.SIGSTOP)
        before = await read_stopped(threads)
        await change_leases(where, "expires_at = expires_at")
        after = await read_other(threads)
        other.kill()
        await other.wait()

    assert before.value != after.value


@pytest.mark.night  # the test of late processes has a clock that is right
async def test_a_lease_whose_end_is_over_by_the_clock_of_the_database_proves_nothing() -> None:
    """The clock was set, or a standby took over whose clock is wrong."""
    async with schema() as where, asyncio.timeout(HANGS_AFTER_S), SqlThreads(connect(where)) as threads:
        other = await start_another(where, LONG_LEASE_S)
        await threads.orphans()
        await change_leases(where, "expires_at = expires_at - 9e6, suspect_after = suspect_after - 9e6")
        found = await threads.orphans()
        other.kill()
        await other.wait()

    assert list(found) == []


@pytest.mark.night  # only while servers of that version run beside new ones
async def test_the_first_lease_of_an_earlier_version_lasts_as_long_as_it_says() -> None:
    """Its row does not say how long it is, and is next renewed after a quarter of it."""
    async with schema() as where, asyncio.timeout(HANGS_AFTER_S), SqlThreads(connect(where)) as threads:
        other = await start_another(where)
        other.send_signal(signal.SIGSTOP)
        await change_leases(where, "expires_at = expires_at + 60, suspect_after = expires_at + 60")
        row = await read_other(threads)
        other.kill()
        await other.wait()

    assert 30 < row.seconds <= 60 + SHORT_LEASE_S


async def test_a_process_whose_connection_was_closed_sends_its_heartbeat_over_another() -> None:
    async with schema() as where, asyncio.timeout(HANGS_AFTER_S), SqlThreads(connect(where)) as threads:
        other = await start_another(where, LONG_LEASE_S)
        backend = await holds_a_connection(where)
        await end_backend(where, backend)
        while await holds_a_connection(where) == backend:
            pass
        found = await threads.orphans()
        other.kill()
        await other.wait()

    assert list(found) == []


async def read_other(threads: SqlThreads) -> LeaseRow:
    """The lease of the process that has runs."""

    def read(connection: Connection) -> LeaseRow:
        process_id = connection.execute(select(runs.c.process_id).limit(1)).scalar()
        return read_lease(connection.execute(text(LOCK_LEASE), {"process_id": process_id}).one())

    return await threads._database.write(read)


async def read_stopped(threads: SqlThreads) -> LeaseRow:
    """The lease of the process that has runs and was stopped, perhaps in the middle of a renewal."""

    async def read() -> LeaseRow | None:
        row = await read_other(threads)
        return row if row == await read_other(threads) else None

    return await until(read, HANGS_AFTER_S)


async def read_disconnected(threads: SqlThreads) -> LeaseRow:
    """The lease of the process that has runs and was killed, once the database has noticed."""

    async def read() -> LeaseRow | None:
        row = await read_other(threads)
        return row if row.is_disconnected else None

    return await until(read, HANGS_AFTER_S)


async def holds_a_connection(where: str) -> int:
    """The backend of the process with runs, once it has said over a connection that it keeps that it lives."""
    connection = await asyncpg.connect(where)
    owner = "id IN (SELECT process_id FROM runs)"
    query = f"SELECT backend_pid FROM processes WHERE {owner} AND suspect_after < expires_at - 0.1"  # noqa: S608
    try:
        return int(await until(lambda: connection.fetchval(query), HANGS_AFTER_S))
    finally:
        await connection.close()


async def change_leases(where: str, change: str) -> None:
    """Of the process that has runs."""
    connection = await asyncpg.connect(where)
    try:
        await connection.execute(f"UPDATE processes SET {change} WHERE id IN (SELECT process_id FROM runs)")  # noqa: S608
    finally:
        await connection.close()


async def end_backend(where: str, backend: int) -> None:
    connection = await asyncpg.connect(where)
    try:
        await connection.execute("SELECT pg_terminate_backend($1)", backend)
    finally:
        await connection.close()


async def is_alive(where: str, count: int) -> None:
    """So many processes have a lease that is not over."""
    connection = await asyncpg.connect(where)
    try:
        query = "SELECT count(*) = $1 FROM processes WHERE expires_at > extract(epoch FROM clock_timestamp())"
        await until(lambda: connection.fetchval(query, count), HANGS_AFTER_S)
    finally:
        await connection.close()


async def renews_lease(where: str, times: int) -> None:
    """The process that has runs renews its lease so often after it was over. Nothing looks for orphans meanwhile."""
    for _ in range(times):
        await change_leases(where, "expires_at = 0")
        await is_alive(where, 2)


async def test_a_process_that_is_busy_keeps_its_lease() -> None:
    """A thread of its own renews it, whatever the event loop is doing."""
    async with (
        schema() as where,
        asyncio.timeout(HANGS_AFTER_S),
        SqlThreads(connect(where)) as watching,
        SqlThreads(connect(where, lease_seconds=LONG_LEASE_S)) as busy,
    ):
        await busy.claim(ask())
        with ThreadPoolExecutor() as pool:
            pool.submit(asyncio.run, renews_lease(where, 2)).result()  # the loop stands still
        found = await watching.orphans()
        await busy.finish(ask(), (), None, DONE)

    assert list(found) == []


async def test_the_age_of_a_lease_is_that_of_its_last_renewal(where: Where) -> None:
    async with asyncio.timeout(HANGS_AFTER_S), SqlThreads(connect(where, lease_seconds=SHORT_LEASE_S)) as threads:
        lease = threads.lease
        if isinstance(where, Path):
            assert lease is None
            return
        assert lease is not None
        ages = [lease.age_s]

        async def is_renewed() -> bool:
            ages.append(lease.age_s)
            return ages[-1] < ages[-2]

        await until(is_renewed, HANGS_AFTER_S)

    assert lease.seconds == SHORT_LEASE_S
    assert 0 <= ages[-1] < ages[-2] < HANGS_AFTER_S


async def test_a_process_that_ends_leaves_its_runs_at_once() -> None:
    async with schema() as where, asyncio.timeout(HANGS_AFTER_S), SqlThreads(connect(where)) as threads:
        async with SqlThreads(connect(where, lease_seconds=600)) as other:
            await other.claim(ask())
        found = await threads.orphans()

    assert [orphan.run_id for orphan in found] == ["r"]


async def test_a_process_that_ends_without_runs_leaves_nothing() -> None:
    async with schema() as where, asyncio.timeout(HANGS_AFTER_S):
        async with SqlThreads(connect(where)) as threads:
            await threads.claim(ask())
            await threads.finish(ask(), (), None, DONE)
        connection = await asyncpg.connect(where)
        left = await connection.fetchval("SELECT count(*) FROM processes")
        await connection.close()

    assert left == 0


async def test_a_run_that_was_taken_over_is_not_finished_by_the_one_that_lost_it() -> None:
    async with schema() as where, SqlThreads(connect(where)) as old, SqlThreads(connect(where)) as new:
        await old.claim(ask())
        taken = await new.claim(ask())
        with pytest.raises(StaleWriter, match="under epoch 2"):
            await old.finish(ask(), (assistant("Old"),), "old", DONE)
        await new.finish(ask(), (assistant("New"),), "new", DONE)
        thread = await new.load("t", ANNA)

    assert taken.epoch == 2
    assert thread is not None
    assert thread.state == "new"
    assert [message.text for message in thread.messages] == ["Hi", "New"]


async def test_a_run_that_was_left_unfinished_by_a_process_that_lives_becomes_an_orphan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever had it could not tell the store how it ended. It is looked for twice, in case somebody is about to."""
    monkeypatch.setattr(sql, "RECONCILE_INTERVAL_S", 0.0)
    async with schema() as where, SqlThreads(connect(where)) as threads:
        first = (await threads.claim(ask())).epoch
        held = [await threads.orphans() for _ in range(3)]
        second = await threads.advance_epoch(ask(), first)
        threads.release("r", first)  # by one who had it before, and is late
        still_held = [await threads.orphans() for _ in range(3)]
        threads.release("r", second)
        left = [await threads.orphans() for _ in range(2)]

    assert not any(held + still_held)
    assert [[one.run_id for one in orphans] for orphans in left] == [[], ["r"]]


async def test_a_database_that_is_away_is_an_error_of_its_own_and_is_found_again() -> None:
    async with (
        schema() as where,
        proxy(5432) as way,
        SqlThreads(connect(where.replace(":5432", f":{way.port}"))) as threads,
    ):
        way.cut()
        with pytest.raises(StoreUnreachable) as away:
            await threads.claim(ask())
        with pytest.raises(StoreUnreachable):
            await threads.load("t", ANNA)
        way.mend()
        await run(threads, ask())
        thread = await threads.load("t", ANNA)

    assert (away.value.status, away.value.code) == (503, "store_unreachable")
    assert str(way.port) not in away.value.message  # where it is, is not for whoever asked
    assert thread is not None


async def test_two_processes_that_begin_the_same_new_thread_agree_on_one() -> None:
    async with schema() as where, SqlThreads(connect(where)) as one, SqlThreads(connect(where)) as two:
        for number in range(20):
            asked = [ask(f"one{number}", f"t{number}"), ask(f"two{number}", f"t{number}")]
            results = await asyncio.gather(one.claim(asked[0]), two.claim(asked[1]), return_exceptions=True)

            assert sorted(type(result).__name__ for result in results) == ["RunClaim", "ThreadBusy"]


# What is kept of an ask


async def test_an_ask_is_kept_without_its_secrets_until_its_run_is_finished(where: Where) -> None:
    database = connect(where)
    async with SqlThreads(database) as threads:
        asked = ask()
        await threads.claim(asked)
        [running] = await rows(database, "SELECT ask FROM runs")
        await threads.finish(asked, (), None, DONE)
        [finished] = await rows(database, "SELECT ask FROM runs")

    assert "Hi" in running[0]
    assert "secret" not in running[0]
    assert finished == (None,)


async def rows(database: StoreDatabase, query: str) -> list[Any]:
    def fetch(connection: Connection) -> list[Any]:
        return [tuple(row) for row in connection.execute(text(query))]

    return await database.read(fetch)


async def test_the_id_of_a_run_that_is_over_is_not_used_again(where: Where) -> None:
    async with SqlThreads(connect(where)) as threads:
        await run(threads, ask())

        with pytest.raises(RunExists):
            await threads.claim(ask())
        await threads.claim(ask("another"))


async def test_an_id_that_cannot_be_kept_is_refused(where: Where) -> None:
    async with SqlThreads(connect(where)) as threads:
        with pytest.raises(BadRequest):
            await threads.claim(ask(thread_id="a\0b"))


async def test_a_name_is_kept_without_what_cannot_be_kept(where: Where) -> None:
    async with SqlThreads(connect(where)) as threads:
        await run(threads, ask(text="H\0i"))
        [named] = await threads.list(ANNA)
        renamed = await threads.change("t", ANNA, name="Ho\0")

    assert (named.name, renamed.name) == ("Hi", "Ho")


async def test_answers_are_kept_with_the_ask_so_that_a_cut_off_run_has_used_them(where: Where) -> None:
    asked = Ask(messages=(), thread_id="t", run_id="r", principal=ANNA, answers=(Answer("i", "resolved", True),))
    async with SqlThreads(connect(where)) as threads:
        await threads.claim(asked)
    async with SqlThreads(connect(where)) as threads:
        [orphan] = await threads.orphans()

    assert orphan.answers == asked.answers


# Forgetting


async def test_threads_that_were_not_used_for_too_long_are_deleted(
    where: Where, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with SqlThreads(connect(where), retention_days=7) as threads:
        then = datetime.now(UTC) - timedelta(days=8)
        with monkeypatch.context() as last_week:
            last_week.setattr(row_helpers, "now", lambda: row_helpers.format_time(then))
            for number in range(3):
                await run(threads, ask(f"old{number}", f"old{number}"))
            await threads.claim(ask("busy", "busy"))
        await run(threads, ask("new", "new"))
        run_ids = await expire(threads)
        left = await threads.list(ANNA)

    assert sorted(run_ids) == ["old0", "old1", "old2"]
    assert {summary.id for summary in left} == {"busy", "new"}
    assert "deleted 3 threads that were not used for 7 days" in caplog.text


async def test_expired_threads_are_deleted_in_batches_that_let_other_writes_through(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "DELETE_BATCH_THREADS", 2)
    async with SqlThreads(connect(where), retention_days=1e-9) as threads:
        for number in range(5):
            await run(threads, ask(f"r{number}", f"t{number}"))
        sizes, claimed = list[int](), list[str]()
        async for run_ids in threads.expire():
            sizes.append(len(run_ids))
            claimed.append(f"between{len(sizes)}")
            await threads.claim(ask(claimed[-1], claimed[-1]))
        left = await threads.list(ANNA)

    assert sizes == [2, 2, 1]
    assert {summary.id for summary in left} == set(claimed)


async def test_two_replicas_delete_each_expired_thread_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "DELETE_BATCH_THREADS", 3)
    async with migrated_database() as url, AsyncExitStack() as stack:
        replicas = [await stack.enter_async_context(SqlThreads(connect(url), retention_days=1e-9)) for _ in range(2)]
        for number in range(30):
            await run(replicas[0], ask(f"r{number}", f"t{number}"))
        deleted = await asyncio.gather(*map(expire, replicas))

    assert sorted(deleted[0] + deleted[1]) == sorted(f"r{number}" for number in range(30))


async def test_nothing_expires_by_default(where: Where) -> None:
    async with SqlThreads(connect(where)) as threads:
        await run(threads, ask())

        assert await expire(threads) == []
        assert await threads.load("t", ANNA)


async def test_nothing_of_a_deleted_thread_stays_in_any_table(where: Where) -> None:
    database = connect(where)
    async with SqlThreads(database) as threads:
        await run(threads, ask())
        await threads.delete("t", ANNA)

        for table in metadata.tables.keys() - {"processes", "deletions"}:
            assert await rows(database, f"SELECT * FROM {table}") == []  # noqa: S608
        [deletion] = await rows(database, "SELECT * FROM deletions")
        assert "t" in deletion, "its id, for the open lists that show it"
        assert "anna" not in str(deletion)


# The tables


async def test_the_migrations_make_the_tables_that_the_queries_use(empty: Where) -> None:
    database = connect(empty)

    def compare(connection: Connection) -> Any:
        def ours(name: str | None, kind: str, parents: Any) -> bool:
            return kind != "table" or name in metadata.tables

        options = {"version_table": VERSION_TABLE, "include_name": ours, "compare_type": True}
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    async with SqlThreads(database):
        assert await database.read(compare) == []


async def test_alembic_does_not_run_for_tables_of_the_newest_version(
    empty: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def migrate(connection: Connection, to: str) -> None:
        calls.append(to)
        run_migrations(connection, to)

    monkeypatch.setattr("rightseat.stores.migrations.runner.run_migrations", migrate)
    for _ in range(2):
        database = connect(empty)
        async with SqlThreads(database):
            version = await database.read(read_version)

    assert calls == ["head"]
    assert version == find_newest() == ScriptDirectory(str(Path(migrations.__file__).parent)).get_current_head()


async def test_several_processes_may_migrate_an_empty_database_at_once() -> None:
    async with schema() as where:
        stores = [SqlThreads(connect(where)) for _ in range(8)]
        await asyncio.gather(*(store.__aenter__() for store in stores))
        await run(stores[0], ask())
        await asyncio.gather(*(store.__aexit__() for store in stores))


async def test_a_log_in_the_same_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "rightseat.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE log_runs (id)")
    connection.close()

    async with SqlThreads(connect(path)) as threads:
        await run(threads, ask())

    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT * FROM log_runs").fetchall() == []
    connection.close()


# Options


async def test_the_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    async with SqlThreads(connect(tmp_path / "deep" / "state" / "rightseat.db")):
        folder = tmp_path / "deep" / "state"

        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("url", ["mysql://me:hush@host/db", "nonsense hush", "sqlite:///hush.db", "postgresql://"])
def test_a_url_that_is_not_for_postgresql_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match=r"should be like postgresql://") as caught:
        build(Options(url=SecretStr(url)))

    assert "hush" not in caught.value.message


async def test_a_database_that_is_not_there_is_one_clear_line() -> None:
    threads = SqlThreads(connect(f"{POSTGRES.rpartition('/')[0]}/there_is_no_such_database"))

    with pytest.raises(ConfigError, match=r"Cannot reach .*: .*there_is_no_such_database.* does not exist\. Is it"):
        await threads.__aenter__()


async def test_a_server_that_cannot_be_reached_is_one_clear_line() -> None:
    threads = SqlThreads(connect("postgresql://me:hush@127.0.0.1:1/db"))

    with pytest.raises(ConfigError, match="Cannot reach") as caught:
        await threads.__aenter__()
    assert "hush" not in caught.value.message


async def test_what_is_read_together_is_of_one_moment() -> None:
    """Else a thread could be read without the last words of a run that is said to be over."""
    async with migrated_database() as url:
        added = (
            "INSERT INTO threads (id, owner, agent, archived, created_at, updated_at)"
            " VALUES ('t', 'o', 'a', false, '', '')"
        )
        database = connect(url)
        await database.open()

        def count_twice(connection: Connection) -> list[int]:
            before = connection.execute(text("SELECT count(*) FROM threads")).scalar_one()
            subprocess.run(["psql", url, "-qc", added], check=True)
            return [before, connection.execute(text("SELECT count(*) FROM threads")).scalar_one()]

        try:
            assert await database.read(count_twice) == [0, 0]
        finally:
            await database.close()


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+asyncpg"])
async def test_a_url_may_be_written_as_other_tools_write_it(scheme: str) -> None:
    async with migrated_database() as url:
        connection = await asyncpg.connect(url)
        await connection.close()
        async with SqlThreads(connect(url.replace("postgresql", scheme, 1))) as threads:
            await run(threads, ask())


async def test_a_failed_run_is_kept_as_failed(where: Where) -> None:
    async with SqlThreads(connect(where)) as threads:
        await threads.claim(ask())
        await threads.finish(ask(), (), None, RunFailed("cut_off", "The server was stopped."))
        thread = await threads.load("t", ANNA)

    assert thread is not None
    assert [one.outcome for one in thread.runs] == ["failed"]


@pytest.mark.parametrize("version", ["9999", "heads", "base", "'; DROP TABLE threads; --"])
async def test_tables_of_another_version_are_refused_with_the_cure(tmp_path: Path, version: str) -> None:
    path = tmp_path / "threads.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE rightseat_version (version_num TEXT)")
        connection.execute("INSERT INTO rightseat_version VALUES (?)", (version,))
    threads: Any = build(Options(path=path))

    with pytest.raises(ConfigError, match=r"threads\.db were made by another version of rightseat: .*empty") as refused:
        await threads.__aenter__()
    assert repr(version) in str(refused.value)


async def test_a_command_beside_the_server_does_not_delete_the_write_ahead_log(tmp_path: Path) -> None:
    """The last process that closes a SQLite file deletes it. The locks of the server show that this is not the last."""
    path = tmp_path / "rightseat.db"
    async with SqliteLog(path), SqlThreads(connect(path)) as threads:
        before = find_inode(f"{path}-wal")
        program = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM threads').fetchall()"
        command = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(path))
        assert await command.wait() == 0
        after = find_inode(f"{path}-wal")
        await threads.append_messages(Ask(messages=(user("Hello"),), thread_id="t", principal=Principal("anna")))
        with closing(sqlite3.connect(path)) as other:
            found = other.execute("SELECT id FROM threads").fetchall()

    assert after == before
    assert found == [("t",)]


def find_inode(path: str) -> int:
    return Path(path).stat().st_ino


async def test_a_poll_of_postgresql_is_one_statement_and_survives_a_lost_connection() -> None:
    async with (
        asyncio.timeout(HANGS_AFTER_S),
        migrated_database() as where,
        proxy(5432) as way,
        SqlThreads(connect(where.replace(":5432", f":{way.port}"))) as threads,
    ):
        await threads.expire_questions()
        sent: list[str] = []
        scripts: Any = threads._database._scripts  # type: ignore[attr-defined]  # the statements are seen nowhere else
        with scripts._connection.query_logger(lambda record: sent.append(record.query.split()[0])):
            await threads.expire_questions()
        way.cut()
        with pytest.raises(StoreUnreachable):
            await threads.expire_questions()
        way.mend()
        before = await threads.expire_questions()
        way.cut()  # and the database is back before the next poll
        way.mend()

        assert [before, await threads.expire_questions()] == [(), ()]
        assert sent == ["SELECT"]


async def test_sessions_from_the_time_when_the_database_refused_writes_are_replaced() -> None:
    said = Ask(messages=(user("Hello"),), thread_id="t", principal=Principal("anna"))
    async with asyncio.timeout(HANGS_AFTER_S), migrated_database() as where:
        name = where.rpartition("/")[2].partition("?")[0]
        async with SqlThreads(connect(where)) as threads:
            operator = await asyncpg.connect(where)
            try:
                await operator.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
                await threads._database._engine.dispose()  # type: ignore[attr-defined]  # as after a failover
                with pytest.raises(StoreUnreachable):
                    await threads.append_messages(said)
                await operator.execute("SET default_transaction_read_only = off")
                await operator.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
            finally:
                await operator.close()
            await threads.append_messages(said)
            found = await threads.load("t", Principal("anna"))

    assert found is not None
