"""Statements are checked in a child process, which a hostile one cannot hold up for long."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator

import pytest

from rightseat.plugins.sql.checker import StatementChecker
from rightseat.plugins.sql.functions import StatementRefused
from tests.plugins.sql.shop import COLUMNS
from tests.plugins.sql.test_bounds import TOO_LARGE

pytestmark = pytest.mark.whole


@pytest.fixture
async def checker() -> AsyncIterator[StatementChecker]:
    checker = StatementChecker()
    yield checker
    await checker.aclose()


async def test_the_child_process_returns_the_rewritten_statement(checker: StatementChecker) -> None:
    written = await checker.check("SELECT id FROM orders", COLUMNS, "postgres", 10, "shop")

    assert written.endswith('FROM "shop"."orders") AS "orders" LIMIT 11) AS "result" LIMIT 11')


async def test_a_refused_statement_is_returned_with_the_reason(checker: StatementChecker) -> None:
    with pytest.raises(StatementRefused, match=r"^There is no table secrets\. The tables are: orders, customers\.$"):
        await checker.check("SELECT * FROM secrets", COLUMNS, "sqlite", 10)


@pytest.mark.serial
@pytest.mark.parametrize("sql", TOO_LARGE, ids=range(len(TOO_LARGE)))
async def test_a_hostile_statement_uses_hardly_any_cpu_time_of_the_server(checker: StatementChecker, sql: str) -> None:
    await checker.check("SELECT id FROM orders", COLUMNS, "sqlite", 10)
    before = time.process_time()

    with pytest.raises(StatementRefused, match=TOO_LARGE[sql]):
        await checker.check(sql, COLUMNS, "sqlite", 10)

    assert time.process_time() - before < 0.05


async def test_a_statement_that_passes_every_limit_ends_at_the_cpu_limit(
    checker: StatementChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightseat.plugins.sql.checker.MAX_CPU_S", 2.0)
    huge = {f"t{table}": [f"column_{number}" for number in range(2000)] for table in range(20)}
    slow = StatementChecker()

    with pytest.raises(StatementRefused, match=r"took more than 2 s of processor time\. Write a simpler one\."):
        await slow.check("SELECT t0.column_1 FROM " + ", ".join([*huge] * 4), huge, "sqlite", 10)  # noqa: S608

    assert await slow.check("SELECT column_1 FROM t1", {"t1": ["column_1"]}, "sqlite", 10)
    await slow.aclose()


async def test_the_server_process_never_imports_the_parser() -> None:
    code = "import sys, rightseat.toolboxes.plugins; sys.exit('sqlglot' in sys.modules)"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)

    assert await process.wait() == 0
