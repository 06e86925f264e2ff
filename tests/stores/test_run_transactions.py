"""How many transactions a run takes on a SQLite file: claimed in one, ended in one, log and store together."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rightseat import app, config
from tests.access.examples import run_input
from tests.conftest import Serve

CONFIGURATION = """
models:
  default: {{type: scripted, chunk_delay: {delay}}}
agents:
  default: {{}}
faces:
  - {{type: copilotkit, path: /copilotkit, agent: default}}
server: {{state_dir: "{folder}"}}
"""


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All statements on all connections of this process, in order."""
    seen: list[str] = []
    connect: Callable[..., sqlite3.Connection] = sqlite3.connect

    def connect_traced(*args: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*args, **options)
        connection.set_trace_callback(seen.append)
        return connection

    for module in (sqlite3, sqlite3.dbapi2):
        monkeypatch.setattr(module, "connect", connect_traced)
    return seen


def transactions(statements: list[str]) -> list[str]:
    """Of each transaction that writes, the tables that it changes."""
    found: list[list[str]] = []
    for statement in statements:
        match statement.split():
            case ["BEGIN", "IMMEDIATE"]:
                found.append([])
            case ["INSERT", "INTO", table, *_] | ["UPDATE", table, *_] if found and table not in found[-1]:
                found[-1].append(table)
    return [" ".join(tables) for tables in found]


async def run(serve: Serve, folder: Path, delay: float, statements: list[str]) -> list[str]:
    """The transactions of a run, from its request to the end of its response."""
    built = app.build(config.parse(CONFIGURATION.format(folder=folder, delay=delay), environ={}))
    async with asyncio.timeout(20), serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
        await client.post("/copilotkit/agent/default/run", json=run_input("warm-up"))
        statements.clear()
        response = await client.post("/copilotkit/agent/default/run", json=run_input("t"))
        found = transactions(statements)
    assert response.text.rstrip().rpartition("\n")[2].count("RUN_FINISHED") == 1
    return found


CLAIM, END = "threads runs", "log_records threads runs messages message_texts log_runs"


async def test_a_short_run_is_claimed_in_one_transaction_and_written_in_two(
    serve: Serve, tmp_path: Path, statements: list[str]
) -> None:
    claim, first, *rest, end = await run(serve, tmp_path, 0, statements)

    assert (claim, first, end) == (CLAIM, "log_runs log_records", END)
    assert len(rest) <= 1  # depends on how fast the model is


async def test_a_long_run_is_written_every_ten_milliseconds(
    serve: Serve, tmp_path: Path, statements: list[str]
) -> None:
    claim, first, *rest, end = await run(serve, tmp_path, 0.001, statements)

    assert (claim, first, end) == (CLAIM, "log_runs log_records", END)
    assert set(rest) <= {"log_records"}
    assert len(rest) < 40
