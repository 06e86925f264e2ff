"""What SQLAlchemy adds to the transactions of a stored run: the same statements through it, and by the driver alone.

`python -m tests.measure.executor_cost [--runs 200] [--rounds 7]`

A run is claimed and finished. What SQLAlchemy sends is recorded in one database, and sent by asyncpg alone to another
one that began with the same rows, in the same transactions: the least that any executor of our own can cost. CPU is
that of this process; that of PostgreSQL is not in it.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
import msgspec
import uvloop
from sqlalchemy import Connection, event

from rightseat.core.ask import Ask, Principal
from rightseat.core.events import RunFinished
from rightseat.core.messages import Message, Text, user
from rightseat.postgres.addresses import read_url
from rightseat.postgres.connector import PostgresConnector
from rightseat.stores.databases import connect
from rightseat.stores.postgresql import Postgres
from rightseat.stores.sql import SqlThreads
from tests.databases import migrated_database

ANNA = Principal("anna")
ANSWER = (Message("assistant", (Text("Enough."),)),)


class Sent(NamedTuple):
    """One statement, with the rows of an insert of several."""

    sql: str
    rows: Sequence[Sequence[Any]]


def number_asks(runs: int) -> list[Ask]:
    plain = Ask(messages=(), principal=ANNA, agent="default", face="copilotkit")
    return [
        msgspec.structs.replace(plain, thread_id=f"t{number}", run_id=f"r{number}", messages=(user(f"Hi {number}"),))
        for number in range(runs)
    ]


async def run_all(threads: SqlThreads, asks: Sequence[Ask]) -> float:
    """Milliseconds of CPU of one run."""
    began = time.process_time()
    for ask in asks:
        await threads.claim(ask)
        answer = tuple(msgspec.structs.replace(one, id=f"m-{ask.run_id}") for one in ANSWER)
        await threads.finish(ask, answer, None, RunFinished("done"))
    return (time.process_time() - began) / len(asks) * 1000


async def record(url: str, asks: Sequence[Ask]) -> list[list[Sent]]:
    """The transactions of the runs."""
    found: list[list[Sent]] = []
    database = connect(url)
    assert isinstance(database, Postgres)

    def begin(_: Connection) -> None:
        found.append([])

    def note(_: Connection, cursor: object, sql: str, values: Any, context: object, is_many: bool) -> None:
        found[-1].append(Sent(sql, values if is_many else [values]))

    async with SqlThreads(database) as threads:
        event.listen(database._engine.sync_engine, "begin", begin)
        event.listen(database._engine.sync_engine, "before_cursor_execute", note)
        await run_all(threads, asks)
    return found


async def replay(url: str, transactions: Sequence[Sequence[Sent]], runs: int) -> float:
    """Milliseconds of CPU of one run."""
    connection: asyncpg.Connection = await PostgresConnector(read_url(url, "threads")).connect()
    began = time.process_time()
    for transaction in transactions:
        async with connection.transaction():
            for sent in transaction:
                if len(sent.rows) > 1:
                    await connection.executemany(sent.sql, sent.rows)
                else:
                    await connection.fetch(sent.sql, *sent.rows[0])
    cost = (time.process_time() - began) / runs * 1000
    await connection.close()
    return cost


async def compare(runs: int, rounds: int) -> None:
    through, direct = list[float](), list[float]()
    for _ in range(rounds):
        asks = number_asks(runs)
        async with migrated_database() as url, SqlThreads(connect(url)) as threads:
            await run_all(threads, number_asks(20)[10:])  # SQLAlchemy compiles each statement once
            through.append(await run_all(threads, asks[20:]))
        async with migrated_database() as url:
            transactions = await record(url, asks)
        async with migrated_database() as url:
            direct.append(await replay(url, transactions, runs))
    sent = sum(map(len, transactions)) / runs
    print(f"{len(transactions) / runs:.1f} transactions and {sent:.1f} statements a run; ms of CPU")  # noqa: T201
    for name, found in {"SQLAlchemy": through, "asyncpg alone": direct}.items():
        print(f"{name:14} {statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})")  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    uvloop.run(compare(given.runs, given.rounds))
