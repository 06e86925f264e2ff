"""The second guard, on the real dialects: what the first would have refused is run there as it stands, and stopped."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pytest

from rightseat.core.errors import BadQuery
from rightseat.data.child import Child
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql.databases import connect
from rightseat.plugins.sql.dialects import Dialect, QueryResult
from rightseat.plugins.sql.dialects.files import MAX_MEMORY_BYTES, QueryDatabase, worker_module
from rightseat.plugins.sql.guard import check_statement
from tests.plugins.sql.shop import COLUMNS, ENGINES, POSTGRES
from tests.plugins.sql.test_guard import GOOD

pytestmark = pytest.mark.whole

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS c FROM n"


@pytest.fixture(scope="module", params=list(ENGINES))
async def dialect(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Dialect]:
    """One for all tests, which only read: a child process for each of them would take most of the time."""
    async with ENGINES[request.param](tmp_path_factory.mktemp("shop")) as dialect:
        yield dialect


async def ask(dialect: Dialect, sql: str, rows: int = 100, seconds: float = 10) -> list[tuple[object, ...]]:
    answer = await dialect.run(check_statement(sql, COLUMNS, dialect.name, rows, dialect.schema), COLUMNS, seconds)
    return [tuple(row) for row in answer.rows]


@pytest.mark.parametrize("sql", GOOD)
async def test_R_8_5_an_ordinary_query_runs_after_rewriting(dialect: Dialect, sql: str) -> None:
    assert await ask(dialect, sql)


async def test_R_8_5_a_star_selects_the_columns_of_the_catalog(dialect: Dialect) -> None:
    assert await ask(dialect, "SELECT * FROM customers ORDER BY id") == [(1, "Ada", "north"), (2, "Ben", "south")]


async def test_R_8_5_the_order_is_kept_under_the_limit(dialect: Dialect) -> None:
    assert await ask(dialect, "SELECT id FROM orders ORDER BY amount DESC", rows=1) == [(2,), (1,)]


@pytest.mark.parametrize(
    "text", ["it's", 'a "word"', "back\\slash", "end\\", "\\'; DROP TABLE orders; --", "a%s{}", "ü€\n\t😀", "''", "`x`"]
)
async def test_R_8_5_the_guard_and_the_database_read_string_literals_alike(dialect: Dialect, text: str) -> None:
    written = text.replace("\\", "\\\\") if dialect.name == "mysql" else text
    sql = "SELECT '{}' AS x".format(written.replace("'", "''"))

    assert await ask(dialect, sql) == [(text,)]


async def test_R_8_8_values_become_json(dialect: Dialect) -> None:
    (row,) = await ask(dialect, "SELECT amount, ordered_on FROM orders WHERE id = 1")

    assert row == (10.5, "2025-01-02")


async def test_R_8_9_two_columns_with_one_name_are_both_returned(dialect: Dialect) -> None:
    sql = "SELECT o.*, c.* FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id = 3"
    answer = await dialect.run(check_statement(sql, COLUMNS, dialect.name, 5, dialect.schema), COLUMNS, 10)

    assert answer.columns == ("id", "customer_id", "amount", "ordered_on", "id_2", "name", "region")


WRITING = [
    "DELETE FROM {orders}",
    "UPDATE {orders} SET amount = 0",
    "INSERT INTO {orders} (id) VALUES (99)",
    "DROP TABLE {orders}",
    "CREATE TABLE {loot} (x INTEGER)",
    "SELECT 1; DELETE FROM {orders}",
]


@pytest.mark.parametrize("sql", WRITING)
async def test_R_8_6_the_database_refuses_a_statement_that_writes(dialect: Dialect, sql: str) -> None:
    in_schema = f"{dialect.schema}." if dialect.schema else ""

    with pytest.raises(BadQuery):
        await dialect.run(sql.format(orders=f"{in_schema}orders", loot=f"{in_schema}loot"), COLUMNS, 5)

    assert await ask(dialect, "SELECT count(*), sum(amount) FROM orders") == [(3, 35.75)]


OUTSIDE = {
    "sqlite": [
        "SELECT * FROM sqlite_master",
        "SELECT * FROM secrets",
        "SELECT count(*) FROM secrets",
        "SELECT password FROM customers",
        "SELECT * FROM pragma_table_info('secrets')",
        "ATTACH DATABASE ':memory:' AS loot",
        "PRAGMA query_only = off",
        "SELECT load_extension('x')",
        "SELECT zeroblob(100)",
        "SELECT hex(randomblob(10))",
        "VACUUM INTO 'loot.db'",
    ],
    "postgres": [
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT * FROM pg_authid",
        "COPY (SELECT 1) TO PROGRAM 'true'",
        "SELECT lo_import('/etc/passwd')",
        "SET ROLE postgres",
        "SELECT * FROM orders",  # without its schema: the search path is empty
        "CREATE TEMP TABLE t (x int)",
    ],
    "mysql": [
        "SELECT * FROM mysql.user",
        "SELECT 1 INTO OUTFILE '/tmp/table-loot'",
        "SET GLOBAL max_connections = 1",
        "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE orders",
    ],
    "duckdb": [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "COPY orders TO 'loot.csv'",
        "ATTACH 'loot.db'",
        "SET enable_external_access = true",
        "SET access_mode = 'READ_WRITE'",
        "INSTALL httpfs",
        "SELECT 1; SELECT 2",
    ],
}


@pytest.mark.parametrize(
    ("dialect", "sql"), [(kind, sql) for kind, each in OUTSIDE.items() for sql in each], indirect=["dialect"]
)
async def test_R_8_6_the_database_cannot_read_files_or_open_connections(dialect: Dialect, sql: str) -> None:
    with pytest.raises(BadQuery):
        await dialect.run(sql, COLUMNS, 5)


async def test_R_8_6_an_endless_query_is_stopped_within_its_limit(dialect: Dialect) -> None:
    started = time.monotonic()

    with pytest.raises(BadQuery):
        await ask(dialect, ENDLESS, seconds=0.5)

    assert time.monotonic() - started < 8
    assert await ask(dialect, "SELECT count(*) FROM orders") == [(3,)]


async def test_R_8_6_a_result_that_is_too_large_is_refused(tmp_path: Path) -> None:
    doubled = "".join(f", t{n} AS (SELECT x || x AS x FROM t{n - 1})" for n in range(1, 24))  # noqa: S608
    tables = ", ".join(["t23 a", "t23 b", *(f"orders o{n}" for n in range(4))])
    for kind in ("sqlite", "duckdb"):
        async with ENGINES[kind](tmp_path) as dialect:
            with pytest.raises(BadQuery):
                await ask(dialect, f"WITH t0 AS (SELECT 'a' AS x){doubled} SELECT a.x, b.x AS y FROM {tables}")  # noqa: S608
            assert await ask(dialect, "SELECT count(*) FROM orders") == [(3,)]


async def test_R_8_6_a_process_that_reached_its_memory_limit_serves_no_other_query(tmp_path: Path) -> None:
    doubled = "".join(f", t{n} AS (SELECT x || x AS x FROM t{n - 1})" for n in range(1, 31))  # noqa: S608
    too_large = f"WITH t0 AS (SELECT 'a' AS x){doubled} SELECT length(x) FROM t30"  # noqa: S608
    duckdb.connect(str(tmp_path / "shop.duckdb")).close()
    query = QueryDatabase(str(tmp_path / "shop.duckdb"), False, too_large, {}, 20)
    child = Child(worker_module("duckdb"), MAX_MEMORY_BYTES["duckdb"])
    try:
        with pytest.raises(BadQuery, match="memory limit"):
            await child.ask(query, QueryResult, 20)

        assert not child.is_running
    finally:
        await child.aclose()


async def test_R_8_6_a_slow_query_does_not_delay_another_query(tmp_path: Path) -> None:
    async with ENGINES["sqlite"](tmp_path) as dialect:
        slow = asyncio.create_task(ask(dialect, ENDLESS, seconds=20))
        quick = await ask(dialect, "SELECT count(*) FROM orders")
        was_done = slow.done()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow

    assert (quick, was_done) == ([(3,)], False)


async def test_R_8_6_a_sleeping_database_server_is_interrupted_at_the_timeout(tmp_path: Path) -> None:
    for kind, sql in (("postgres", "SELECT pg_sleep(20)"), ("mysql", "SELECT SLEEP(20)")):
        async with ENGINES[kind](tmp_path) as dialect:
            started = time.monotonic()
            try:
                answer = await dialect.run(sql, COLUMNS, 0.5)
            except BadQuery:
                pass
            else:
                assert answer.rows == [[1]]  # MariaDB's word for a sleep that was interrupted

            assert time.monotonic() - started < 8


async def test_R_8_6_a_role_that_may_do_more_than_read_is_refused(tmp_path: Path) -> None:
    async with ENGINES["postgres"](tmp_path) as dialect:
        superuser = connect(POSTGRES.format("postgres"), dialect.schema)
        with pytest.raises(StepFailed, match=r"is a superuser; .*without any privilege but SELECT"):
            await superuser.run("SELECT 1", COLUMNS, 5)
    async with ENGINES["mysql"](tmp_path) as dialect:
        root = connect(f"mysql://root@127.0.0.1:3306/{dialect.schema}", "")
        with pytest.raises(StepFailed, match="without any privilege but SELECT"):
            await root.run("SELECT 1", COLUMNS, 5)


async def test_R_8_6_an_unreachable_database_is_reported_without_its_password() -> None:
    for url in ("postgresql://me:hunter2@127.0.0.1:1/x", "mysql://me:hunter2@127.0.0.1:1/x"):
        with pytest.raises(StepFailed) as failed:
            await connect(url, "public").run("SELECT 1", COLUMNS, 5)

        assert (failed.value.code, "hunter2" in f"{failed.value.message} {failed.value.details}") == (
            "sql_failed",
            False,
        )


async def test_R_8_3_a_database_lists_its_readable_tables(dialect: Dialect) -> None:
    found = await dialect.describe()

    assert [name for name, _ in found["customers"]] == ["id", "name", "region", "password"]
    assert {"customers", "orders", "secrets"} == set(found)
