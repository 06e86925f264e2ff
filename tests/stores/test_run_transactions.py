"""How many transactions a run takes on a SQLite file: claimed in one, ended in one, log and store together."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rightseat import app, config
from rightseat.logs.sqlite import writer as log_writer
from tests.access.examples import run_input
from tests.conftest import Serve

CONFIGURATION = """
models:
  default: {{type: scripted, chunk_delay: {delay}}}
agents:
  default: {{}}
faces:
  - {{type: copilotkit, path: /copilotkit, agent: default}}
  - {{type: ai_sdk}}
  - {{type: openai}}
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


@pytest.fixture
def no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries wait for the next write of the store: on a busy machine the timer of 20 ms may be faster than that."""
    for constant in ("QUIET_DELAY_S", "MIN_COMMIT_INTERVAL_S", "MAX_COMMIT_INTERVAL_S"):
        monkeypatch.setattr(log_writer, constant, 0.5)


def transactions(statements: list[str]) -> list[str]:
    """Of each transaction that writes, the tables that it changes. The deletion of expired data, which runs in the
    background, has a transaction of its own or shares one, and does not count."""
    found: list[list[str]] = []
    for statement in statements:
        match statement.split():
            case ["BEGIN", "IMMEDIATE"]:
                found.append([])
            case ["INSERT", "INTO", table, *_] | ["UPDATE", table, *_] if found and table not in found[-1]:
                found[-1].append(table)
    return [" ".join(tables) for tables in found if tables]


async def run(serve: Serve, folder: Path, delay: float, statements: list[str]) -> list[str]:
    """The transactions of a run, from its request to the end of its response."""
    built = app.build(config.parse(CONFIGURATION.format(folder=folder, delay=delay), environ={}))
    async with asyncio.timeout(60), serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
        await client.post("/copilotkit/agent/default/run", json=run_input("warm-up"))
        statements.clear()
        response = await client.post("/copilotkit/agent/default/run", json=run_input("t"))
        found = transactions(statements)
    assert response.text.rstrip().rpartition("\n")[2].count("RUN_FINISHED") == 1
    return found


CLAIM, END = "threads runs", "log_records threads runs messages message_texts log_runs"


@pytest.mark.usefixtures("no_timer")
async def test_a_short_run_is_claimed_in_one_transaction_and_written_in_two(
    serve: Serve, tmp_path: Path, statements: list[str]
) -> None:
    claim, first, *rest, end = await run(serve, tmp_path, 0, statements)

    assert (claim, first, end) == (CLAIM, "log_runs log_records", END)
    assert len(rest) <= 1  # depends on how fast the model is


CHAT = {
    "id": "c",
    "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}],
    "trigger": "submit-message",
}
RESPONSE = {"model": "default", "stream": True, "input": "Hi"}


@pytest.mark.parametrize(
    ("path", "body", "claimed"),
    [("/api/chat", CHAT, CLAIM), ("/v1/responses", RESPONSE, f"{CLAIM} files")],
    ids=["ai_sdk", "responses"],
)
@pytest.mark.usefixtures("no_timer")
async def test_a_new_chat_and_a_stored_response_take_the_transactions_of_agui(
    serve: Serve, tmp_path: Path, statements: list[str], path: str, body: dict[str, Any], claimed: str
) -> None:
    built = app.build(config.parse(CONFIGURATION.format(folder=tmp_path, delay=0), environ={}))
    async with asyncio.timeout(60), serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
        await client.post("/copilotkit/agent/default/run", json=run_input("warm-up"))
        statements.clear()
        response = await client.post(path, json=body)
        seen = list(statements)

    assert response.status_code == 200
    claim, first, *rest, end = transactions(seen)
    assert (claim, first, end) == (claimed, "log_runs log_records", END)
    assert set(rest) <= {"log_records"}
    assert not [one for one in seen if one.startswith("SELECT threads.id")]  # there is no thread to load


async def test_a_long_run_is_written_every_ten_milliseconds(
    serve: Serve, tmp_path: Path, statements: list[str]
) -> None:
    claim, first, *rest, end = await run(serve, tmp_path, 0.001, statements)

    assert (claim, first, end) == (CLAIM, "log_runs log_records", END)
    assert set(rest) <= {"log_records"}
    assert len(rest) < 40
