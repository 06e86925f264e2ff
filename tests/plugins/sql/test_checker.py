"""Statements are checked in a child process, which a hostile one cannot hold up for long."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator

import pytest

from rightseat.plugins.sql.allowed import Refused
from rightseat.plugins.sql.checker import Checker
from tests.plugins.sql.shop import COLUMNS
from tests.plugins.sql.test_bounds import TOO_LARGE

pytestmark = pytest.mark.whole


@pytest.fixture
async def checker() -> AsyncIterator[Checker]:
    checker = Checker()
    yield checker
    await checker.aclose()


async def test_the_statement_to_run_comes_from_the_child(checker: Checker) -> None:
    written = await checker.check("SELECT id FROM orders", COLUMNS, "postgres", 10, "shop")

    assert written.endswith('FROM "shop"."orders") AS "orders" LIMIT 11) AS "result" LIMIT 11')


async def test_a_refusal_comes_with_its_reason(checker: Checker) -> None:
    with pytest.raises(Refused, match=r"^There is no table secrets\. The tables are: orders, customers\.$"):
        await checker.check("SELECT * FROM secrets", COLUMNS, "sqlite", 10)


@pytest.mark.parametrize("sql", TOO_LARGE, ids=range(len(TOO_LARGE)))
async def test_a_hostile_statement_costs_the_server_itself_next_to_nothing(checker: Checker, sql: str) -> None:
    await checker.check("SELECT id FROM orders", COLUMNS, "sqlite", 10)
    before = time.process_time()

    with pytest.raises(Refused, match=TOO_LARGE[sql]):
        await checker.check(sql, COLUMNS, "sqlite", 10)

    assert time.process_time() - before < 0.05


async def test_what_no_bound_foresees_ends_with_its_processor_time(
    checker: Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightseat.plugins.sql.checker.CPU_SECONDS", 0.5)
    huge = {f"t{table}": [f"column_{number}" for number in range(2000)] for table in range(20)}
    slow = Checker()

    with pytest.raises(Refused, match=r"took more than 0\.5 s of processor time\. Write a simpler one\."):
        await slow.check("SELECT t0.column_1 FROM " + ", ".join([*huge] * 4), huge, "sqlite", 10)  # noqa: S608

    assert await slow.check("SELECT column_1 FROM t1", {"t1": ["column_1"]}, "sqlite", 10)
    await slow.aclose()


async def test_the_server_itself_never_loads_the_parser() -> None:
    code = "import sys, rightseat.toolboxes.plugins; sys.exit('sqlglot' in sys.modules)"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)

    assert await process.wait() == 0
