"""What runs, limits and polls cost with asyncpg, which the store uses, and with psycopg 3 in its place.

`python -m tests.measure.driver_cost [--rounds 9] [--requests 300]`

Both drivers run in turns, and the order changes each round. Replaced are SQLAlchemy's pool, on which runs are stored,
and the connection for scripts and polls (`stores.script_connection`), on which limits run. The lease keeps its own. A
stored run is one without a face, with its log in memory and a model that answers at once. CPU is that of this process
with all its threads; that of PostgreSQL is not in it. The results are in
docs/decisions/0024-one-connection-many-clients.md.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
import psycopg
import uvloop
from sqlalchemy import event
from sqlalchemy.ext.asyncio import create_async_engine

from rightseat.core.ask import Ask
from rightseat.core.messages import user
from rightseat.limits.ledger import Ledger
from rightseat.limits.meter_context import Metering
from rightseat.limits.prices import Price, Prices
from rightseat.limits.rules import Limits
from rightseat.stores import pool, process_queries
from rightseat.stores.databases import connect
from rightseat.stores.postgresql import Postgres
from rightseat.stores.scripts import Script
from rightseat.stores.sql import SqlThreads
from tests.measure import store_cost
from tests.measure.limit_cost import LIMITS, measure_requests
from tests.services import schema

T = TypeVar("T")
DRIVERS = ("asyncpg", "psycopg")
PREPARE_AFTER = 1  # executions; psycopg's default is 5


class PsycopgScripts:
    """As `ScriptConnection`, without what it does for connections that are lost."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection
        self._turn = asyncio.Lock()

    async def run(self, script: Script[T], *, is_transaction: bool = True) -> T:
        async with self._turn:
            if not is_transaction:
                return await self._send(script)
            async with self._connection.transaction():
                return await self._send(script)

    async def _send(self, script: Script[T]) -> T:
        try:
            statement = next(script)
            while True:
                statement = script.send(await self._execute(statement.sql, statement.parameters))
        except StopIteration as end:
            found: T = end.value
            return found

    async def fetch(self, sql: str, parameters: Sequence[Any]) -> Sequence[Sequence[Any]]:
        async with self._turn:
            return await self._execute(sql, parameters)

    async def _execute(self, sql: str, parameters: Sequence[Any]) -> Sequence[Sequence[Any]]:
        cursor = psycopg.AsyncRawCursor(self._connection)  # reads `$1`, as asyncpg does
        await cursor.execute(sql.encode(), list(parameters))
        return await cursor.fetchall() if cursor.description else ()

    async def close(self) -> None:
        await self._connection.close()


async def open_database(url: str, driver: str) -> Postgres:
    database = connect(url)
    assert isinstance(database, Postgres)
    if driver == "psycopg":
        connection = await psycopg.AsyncConnection.connect(url, autocommit=True, prepare_threshold=PREPARE_AFTER)
        database._scripts = PsycopgScripts(connection)  # type: ignore[assignment]  # in its place
        database._engine = create_async_engine(
            "postgresql+psycopg://",
            async_creator=partial(psycopg.AsyncConnection.connect, url, prepare_threshold=PREPARE_AFTER),
            pool_size=pool.POOL_SIZE,
            max_overflow=pool.POOL_OVERFLOW,
        )
        event.listen(database._engine.sync_engine, "connect", pool.mark_new)
        event.listen(database._engine.sync_engine, "checkout", check)
        database._reading = database._engine.execution_options(isolation_level="REPEATABLE READ")
        database._autocommit = database._engine.execution_options(isolation_level="AUTOCOMMIT")
    return database


def check(connection: Any, record: Any, _: Any) -> None:
    """As that of the pool: a round trip before each use but the first."""
    if not record.info.pop("is_new", False):
        connection.run_async(ping)


async def ping(connection: psycopg.AsyncConnection[Any]) -> None:
    await connection.set_autocommit(True)  # sends nothing
    await connection.execute("SELECT")
    await connection.set_autocommit(False)


async def measure(driver: str, count: int) -> dict[str, float]:
    prices = Prices({"big": Price(10, 30, 1)})
    found: dict[str, float] = {}
    async with schema() as url:
        for at_once in (1, 4):
            found[f"a stored run, {at_once} at once, ms"] = await measure_runs(
                await open_database(url, driver), count, at_once
            )
        database = await open_database(url, driver)
        async with SqlThreads(database) as threads, Ledger(threads.limits) as ledger:
            limited = Metering(LIMITS, ledger, prices)
            async with Ledger(threads.limits, 3600) as idle:
                free = Metering(Limits(), idle, prices)
                for at_once in (1, 10):
                    await measure_requests(limited, 40, at_once)
                    bare, whole = [await measure_requests(one, count, at_once) for one in (free, limited)]
                    found[f"three limits, {at_once} at once, ms"] = whole.cpu - bare.cpu
            found["a poll, ms"] = await measure_polls(database, count)
            return found


async def measure_runs(database: Postgres, count: int, at_once: int) -> float:
    async with store_cost.serving(SqlThreads(database), is_limited=False) as runtime:

        async def take_turns(turn: str, times: int) -> None:
            for number in range(times):
                name = f"{turn}-{number}"
                ask = Ask(messages=(user("Hi"),), principal=store_cost.ANNA, agent="default")
                await store_cost.run(runtime, msgspec.structs.replace(ask, thread_id=name, run_id=name))

        async def run_all(title: str, times: int) -> None:
            await asyncio.gather(*(take_turns(f"{title}-{at_once}-{turn}", times) for turn in range(at_once)))

        await run_all("warm", 10)
        before = time.process_time()
        await run_all("measured", count // at_once)
        return (time.process_time() - before) / (count // at_once * at_once) * 1e3


async def measure_polls(database: Postgres, count: int) -> float:
    async def poll(times: int) -> None:
        for _ in range(times):
            await database.poll(process_queries.OTHER_PROCESSES, {"own_process": database.process_id})

    await poll(20)
    before = time.process_time()
    await poll(count)
    return (time.process_time() - before) / count * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=300)
    options = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {driver: [] for driver in DRIVERS}
    for number in range(options.rounds):
        for driver in DRIVERS if number % 2 else reversed(DRIVERS):
            found[driver].append(uvloop.run(measure(driver, options.requests)))
    for title in found[DRIVERS[0]][0]:
        for driver, rounds in found.items():
            values = sorted(one[title] for one in rounds)
            middle = statistics.median(values)
            sys.stdout.write(
                f"{title:30} {driver:8} {middle:.2f} [{values[0]:.2f} to {values[-1]:.2f}], n = {len(rounds)}\n"
            )


if __name__ == "__main__":
    main()
