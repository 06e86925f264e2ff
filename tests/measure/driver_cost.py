"""What limits and polls cost with asyncpg, which the store uses, and with psycopg 3 in its place.

`python -m tests.measure.driver_cost [--rounds 9] [--requests 300]`

Both drivers run in turns, and the order changes each round. Only the connection for scripts and polls is replaced
(`stores.script_connection`), on which limits run; docs/decisions/0024-one-connection-many-clients.md has the rest. CPU
is that of this process with all its threads; that of PostgreSQL is not in it.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any, TypeVar

import psycopg
import uvloop

from rightseat.limits.ledger import Ledger
from rightseat.limits.meter_context import Metering
from rightseat.limits.prices import Price, Prices
from rightseat.limits.rules import Limits
from rightseat.stores import process_queries
from rightseat.stores.databases import connect
from rightseat.stores.postgresql import Postgres
from rightseat.stores.scripts import Script
from rightseat.stores.sql import SqlThreads
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


async def measure(driver: str, count: int) -> dict[str, float]:
    prices = Prices({"big": Price(10, 30, 1)})
    async with schema() as url:
        database = connect(url)
        assert isinstance(database, Postgres)
        if driver == "psycopg":
            connection = await psycopg.AsyncConnection.connect(url, autocommit=True, prepare_threshold=PREPARE_AFTER)
            database._scripts = PsycopgScripts(connection)  # type: ignore[assignment]  # in its place
        async with SqlThreads(database) as threads, Ledger(threads.limits) as ledger:
            limited, found = Metering(LIMITS, ledger, prices), dict[str, float]()
            async with Ledger(threads.limits, 3600) as idle:
                free = Metering(Limits(), idle, prices)
                for at_once in (1, 10):
                    await measure_requests(limited, 40, at_once)
                    bare, whole = [await measure_requests(one, count, at_once) for one in (free, limited)]
                    found[f"three limits, {at_once} at once, ms"] = whole.cpu - bare.cpu
            found["a poll, ms"] = await measure_polls(database, count)
            return found


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
