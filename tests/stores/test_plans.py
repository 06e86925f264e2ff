"""What servers and users read all the time is found by an index: EXPLAIN shows no table that is scanned."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert, text

from rightseat.core.threads import ThreadCursor
from rightseat.operations.records import ThreadQuery
from rightseat.stores import process_queries, record_queries, tables, thread_queries
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads

THREADS = 6000
SCAN = re.compile(r"Seq Scan|SCAN (?!CONSTANT ROW|\w+ USING (COVERING )?INDEX ix_runs_unfinished)")
"""The index of unfinished runs has only those."""
SORT = re.compile("Sort|TEMP B-TREE")
CURSOR = ThreadCursor("2026-01-01T00:30:00.000000Z", "t1800")
READS: dict[str, Callable[[Connection], object]] = {
    "list": lambda connection: thread_queries.list_threads(connection, "user1", None, False, 50),
    "list of an agent": lambda connection: thread_queries.list_threads(connection, "user1", "clerk", True, 50),
    "next page": lambda connection: thread_queries.list_threads(connection, "user1", None, False, 50, CURSOR),
    "list of operators": lambda connection: record_queries.list_threads(connection, ThreadQuery(after=str(CURSOR))),
    "load": lambda connection: thread_queries.load(connection, "t1", "user1"),
    "approvals": lambda connection: thread_queries.pending(connection, "user1", None),
    "unfinished runs of a user": lambda connection: thread_queries.list_unfinished_runs(connection, "user1", None),
    "expired questions": lambda connection: connection.execute(
        thread_queries.EXPIRED_INTERRUPT.statement, {"before": "2025"}
    ),
    "expired threads": lambda connection: thread_queries.expire(connection, "2025", 500),
    "runs of other processes": lambda connection: connection.execute(
        process_queries.OTHER_PROCESSES.statement, {"own_process": 1}
    ),
    "own unfinished runs": lambda connection: process_queries.find_unfinished(connection, 1),
}


@pytest.fixture
async def plans(where: Path | str) -> dict[str, list[str]]:
    """Of each statement of each read."""

    def explain(connection: Connection) -> dict[str, list[str]]:
        fill(connection)
        return {name: list_plans(connection, read) for name, read in READS.items()}

    database = connect(where)
    async with SqlThreads(database):
        return await database.write(explain)


async def test_reads_of_servers_and_users_scan_no_table(plans: dict[str, list[str]]) -> None:
    scanned = {name: [one for one in found if SCAN.search(one)] for name, found in plans.items()}

    assert all(plans.values())
    assert {name: found for name, found in scanned.items() if found} == {}


async def test_pages_are_read_in_the_order_of_an_index(plans: dict[str, list[str]]) -> None:
    pages = [plans[name][0] for name in ("list", "list of an agent", "next page")]

    assert [plan for plan in pages if SORT.search(plan)] == []


def list_plans(connection: Connection, read: Callable[[Connection], object]) -> list[str]:
    with explained(connection) as plans:
        read(connection)
    return plans


@contextmanager
def explained(connection: Connection) -> Iterator[list[str]]:
    """Collects the plan of each statement that is executed."""
    explain = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN "
    plans: list[str] = []

    def plan(_: Connection, cursor: object, statement: str, parameters: Any, *rest: object) -> None:
        if not statement.startswith("EXPLAIN"):
            rows = connection.exec_driver_sql(explain + statement, parameters)
            plans.append("\n".join(str(row[-1]) for row in rows))

    event.listen(connection, "before_cursor_execute", plan)
    yield plans
    event.remove(connection, "before_cursor_execute", plan)


def fill(connection: Connection) -> None:
    times = [f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.000000Z" for n in range(THREADS)]
    common = {"agent": "clerk", "archived": False}
    threads = [
        common | {"id": f"t{n}", "owner": f"user{n % 3}", "created_at": at, "updated_at": at}
        for n, at in enumerate(times)
    ]
    runs = [
        {"id": f"r{n}", "thread_id": f"t{n}", "owner": f"user{n % 3}", "agent": "clerk", "outcome": "done"}
        | {"epoch": 1, "process_id": 7, "created_at": at}
        for n, at in enumerate(times)
    ]
    add_rows(connection, tables.threads, threads)
    add_rows(connection, tables.runs, runs)
    add_rows(connection, tables.messages, [describe_message(n) for n in range(THREADS)])
    add_rows(connection, tables.message_texts, [describe_text(n) for n in range(THREADS)])
    add_rows(connection, tables.interrupts, [describe_question(n, at) for n, at in enumerate(times)])
    if connection.dialect.name == "postgresql":
        connection.execute(text("ANALYZE"))


def describe_message(number: int) -> dict[str, object]:
    return {"thread_id": f"t{number}", "position": 0, "id": f"m{number}", "message": '{"role": "user", "parts": []}'}


def describe_text(number: int) -> dict[str, object]:
    return {"thread_id": f"t{number}", "position": 0, "text": "hello"}


def describe_question(number: int, at: str) -> dict[str, object]:
    """A question that was answered."""
    return {
        "thread_id": f"t{number}",
        "id": f"i{number}",
        "run_id": f"r{number}",
        "owner": f"user{number % 3}",
        "agent": "clerk",
        "interrupt": "{}",
        "created_at": at,
        "position": 0,
        "answered_at": at,
    }


def add_rows(connection: Connection, table: Any, rows: Sequence[dict[str, object]]) -> None:
    connection.execute(insert(table), rows)
