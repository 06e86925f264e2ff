"""How many statements limits add to a run, counted at the driver of each database."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from rightseat.core.ask import Ask, Principal
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import Chunk, Prompt, StopChunk, TextChunk, UsageChunk
from rightseat.core.runtime import Runtime
from rightseat.engines.local import LocalEngine
from rightseat.limits.admission import LimitedAdmission
from rightseat.limits.ledger import Ledger
from rightseat.limits.meter_context import Metering
from rightseat.limits.prices import Prices
from rightseat.limits.rules import Limit, LimitRule, Limits
from rightseat.limits.windows import CalendarWindow, SlidingWindow
from rightseat.logs.memory import MemoryLog
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from tests.databases import migrated_database

THREE = [
    Limit("runs", "user", [LimitRule("runs", 10)]),
    Limit("minute", "user", [LimitRule("requests", 1000, SlidingWindow(60))]),
    Limit("day", "everyone", [LimitRule("tokens", 1_000_000, CalendarWindow("day"))]),
]
STORED_RUN = 8
"""Statements of a stored run without limits."""
THREE_LIMITS = 7
"""The admission reads and writes the counters and adds two holds; the settlement reads the counters, deletes both
holds, writes the counters, and adds the usage."""
OTHERS = [Limit(one.name, "user", one.rules, match="bob") for one in THREE]


class Brief:
    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        yield TextChunk("Hello")
        yield UsageChunk(5, 1)
        yield StopChunk("stop")


@contextmanager
def record_statements(database: Any) -> Iterator[list[str]]:
    """Of SQLAlchemy, and of the connection on which PostgreSQL runs scripts. A batch of rows is one statement."""
    found: list[str] = []

    def record(*args: Any) -> None:
        found.append(args[2])

    def record_script(sent: Any) -> None:
        found.append(sent.query)

    scripts = getattr(getattr(database, "_scripts", None), "_connection", None)
    event.listen(Engine, "before_cursor_execute", record)
    try:
        with scripts.query_logger(record_script) if scripts else nullcontext():
            yield found
    finally:
        event.remove(Engine, "before_cursor_execute", record)


async def list_statements(where: Path | str, limits: list[Limit] | None, *, transient: bool) -> list[str]:
    """The statements of the second run: the first adds the counters."""
    async with asyncio.timeout(60), AsyncExitStack() as stack:
        threads = await stack.enter_async_context(SqlThreads(connect(where)))
        metering = None
        if limits is not None:
            ledger = await stack.enter_async_context(Ledger(threads.limits))
            metering = Metering(Limits(limits), ledger, Prices())
        runtime = Runtime(
            {"default": Loop(Brief())},
            log=MemoryLog(),
            threads=threads,
            engine=LocalEngine(),
            admission=LimitedAdmission(None, metering),
        )
        await run_once(runtime, transient=transient)
        with record_statements(threads._database) as found:
            await run_once(runtime, transient=transient)
        return found


async def run_once(runtime: Runtime, *, transient: bool) -> None:
    ask = Ask(messages=(user("Hi"),), principal=Principal("anna"), transient=transient)
    begun = await runtime.start(ask)
    async with aclosing(runtime.follow(begun.run_id)) as batches:
        async for _ in batches:
            pass


def without_transactions(statements: list[str]) -> list[str]:
    return [one for one in statements if one not in ("BEGIN;", "COMMIT;")]


def is_of_limits(statement: str) -> bool:
    return "limit_" in statement or "INTO usage" in statement or "clock_timestamp" in statement


@pytest.mark.parametrize("transient", [True, False])
async def test_limits_add_seven_statements_to_a_run_and_none_without_limits(where: Path | str, transient: bool) -> None:
    without, unmatched, limited = [
        without_transactions(await list_statements(where, limits, transient=transient))
        for limits in (None, OTHERS, THREE)
    ]

    assert len(without) <= (0 if transient else STORED_RUN)
    assert not [one for one in without if is_of_limits(one)]
    # a limit that does not match is not looked at; only the usage is written, on PostgreSQL with the database's day
    assert len(unmatched) - len(without) == (1 if isinstance(where, Path) else 2)
    assert not [one for one in unmatched if "limit_" in one]
    assert len(limited) - len(without) <= THREE_LIMITS
    assert any("limit_holds" in one for one in limited)


@pytest.mark.parametrize("transient", [True, False])
async def test_limits_add_two_round_trips_to_a_run_on_postgresql(transient: bool) -> None:
    """One admits the run and reserves its first call, one settles the call and gives back the slot."""
    async with migrated_database() as url:
        found = await list_statements(url, THREE, transient=transient)

    of_limits = [one for one in found if is_of_limits(one)]
    assert "BEGIN;" not in found  # of scripts: each of the two statements is a transaction
    assert len(of_limits) == (2 if transient else 3)  # the claim of a stored run finds its slot
