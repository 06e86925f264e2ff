"""Servers are upgraded from the code and the tables of an older commit while clients chat, and no run is lost."""

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rightseat.core.ask import ANYONE
from rightseat.core.threads import Thread
from rightseat.stores import sql
from tests.conditions import Paced
from tests.services import REDIS, keys, schema
from tests.upgrades.old_code import ROOT, WAIT_S, Server, extract, start_program

pytestmark = pytest.mark.whole

OLD_COMMITS = {"42c36c1": "0004", "340655e": "0013"}
"""Each with the version of its tables: the first commit with today's names, and the one of `test_recorded_state.py`."""
CLIENTS = 6
TYPE = re.compile(r'data: \{"type":"(\w+)"')


@dataclass(frozen=True)
class OldCode:
    source: Path
    version: str
    """The version of its tables."""


@pytest.fixture(scope="module", params=[pytest.param("42c36c1", marks=pytest.mark.night), "340655e"])
def old_code(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> OldCode:
    source = extract(request.param, tmp_path_factory.mktemp("old"))
    return OldCode(source, OLD_COMMITS[request.param])


class Load:
    """Clients that chat, each in a new thread every time, with any of the servers of `urls`."""

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls
        self.threads: list[str] = []
        """Threads whose run was accepted."""
        self.repeated = 0
        """Streams that broke, and that the client opened again on another server."""
        self._is_ending = False
        self._accepted = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as clients:
            for number in range(CLIENTS):
                clients.create_task(self._chat(number))
            yield
            self._is_ending = True

    async def wait_for(self, runs: int) -> None:
        """Wait until so many more runs have been accepted."""
        wanted = len(self.threads) + runs
        async with asyncio.timeout(WAIT_S):
            while len(self.threads) < wanted:
                self._accepted.clear()
                await self._accepted.wait()

    async def _chat(self, client: int) -> None:
        turn = 0
        async with httpx2.AsyncClient(timeout=WAIT_S) as http:
            while not self._is_ending:
                turn += 1
                await self._run(http, f"thread-{client}-{turn}", client + turn)

    async def _run(self, http: httpx2.AsyncClient, thread: str, choice: int) -> None:
        operation = "run"
        async with asyncio.timeout(WAIT_S):
            async for turn in Paced(count(choice + 1), 0.1):
                url = self.urls[turn % len(self.urls)]
                if await self._is_finished(http, f"{url}/copilotkit/agent/default/{operation}", thread):
                    return
                if thread in self.threads:
                    operation = "connect"
                    self.repeated += 1

    async def _is_finished(self, http: httpx2.AsyncClient, url: str, thread: str) -> bool:
        kinds = []
        with suppress(httpx2.TransportError):
            async with http.stream("POST", url, json=question(thread)) as response:
                if response.status_code == 503:
                    return False
                assert response.status_code in (200, 409), await response.aread()
                if thread not in self.threads:
                    self.threads.append(thread)
                    self._accepted.set()
                if response.status_code == 409:
                    return False  # the server was killed before it responded, and the run has begun
                async for line in response.aiter_lines():
                    if match := TYPE.match(line):
                        kinds.append(match[1])  # noqa: PERF401  # those before an error count
        assert "RUN_ERROR" not in kinds
        return "RUN_FINISHED" in kinds


def question(thread: str) -> dict[str, Any]:
    return {
        "threadId": thread,
        "runId": f"run-of-{thread}",
        "state": {},
        "tools": [],
        "context": [],
        "forwardedProps": {},
        "messages": [{"id": f"question-{thread}", "role": "user", "content": f"Hello from {thread}."}],
    }


def configure(folder: Path, **parts: Any) -> Path:
    file = folder / "rightseat.yaml"
    whole = {
        "models": {"default": {"type": "scripted", "chunk_delay": 0.02}},
        "agents": {"default": {"type": "loop", "model": "default", "durable": True}},
        "faces": [{"type": "copilotkit"}],
        "server": {"state_dir": str(folder / "state"), "shutdown_timeout": 10},
    }
    file.write_text(json.dumps(whole | parts))
    return file


def assert_whole(thread: Thread | None, id: str) -> None:
    """One run, which is done, and each message once."""
    assert thread is not None, f"{id} is lost"
    assert [run.outcome for run in thread.runs] == ["done"], id
    asked, answered = thread.messages
    assert asked.text == f"Hello from {id}."
    assert answered.text.startswith(f"You said: “Hello from {id}.”")
    assert answered.text.endswith("or set OPENAI_API_KEY and use no file.")


@pytest.mark.night  # the gate replaces one server on SQLite, and tests/stores migrates PostgreSQL under load
async def test_servers_are_replaced_one_by_one(old_code: OldCode, tmp_path: Path) -> None:
    new_code = ROOT / "src"
    async with schema() as database, keys() as prefix:
        stores = {"type": "sql", "url": database, "lease_seconds": 2}
        log = {"type": "redis", "url": REDIS, "prefix": prefix}
        file = configure(tmp_path, threads=stores, log=log, engine={"type": "dbos", "url": database})
        servers = [await Server(old_code.source, file).start() for _ in range(2)]
        load = Load([server.url for server in servers])
        try:
            async with load.running():
                await load.wait_for(20)
                migration = await start_program(new_code, "migrate", "--config", str(file))
                printed, _ = await migration.communicate()
                await load.wait_for(10)
                for position, how in enumerate((signal.SIGTERM, signal.SIGKILL)):
                    servers.append(await Server(new_code, file).start())
                    load.urls.append(servers[-1].url)
                    await load.wait_for(10)
                    load.urls.remove(servers[position].url)
                    await servers[position].end(how)
                    await load.wait_for(20)
        finally:
            for server in servers:
                await server.end(signal.SIGTERM)

        assert f"migrated the tables of threads from version {old_code.version} to ".encode() in printed
        async with sql.build_beside(sql.Options(url=database)) as threads:
            for id in load.threads:
                assert_whole(await threads.load(id, ANYONE), id)
        assert load.repeated
        for server in servers[2:]:
            assert not [line for line in server.output if " ERROR " in line]


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.night)])
async def test_a_server_on_sqlite_is_replaced(how: signal.Signals, old_code: OldCode, tmp_path: Path) -> None:
    file = configure(tmp_path, engine={"type": "dbos"})
    server = await Server(old_code.source, file).start()
    load = Load([server.url])
    try:
        async with load.running():
            await load.wait_for(20)
            await server.end(how)
            server = await Server(ROOT / "src", file).start()
            load.urls[:] = [server.url]
            await load.wait_for(20)
    finally:
        await server.end(signal.SIGTERM)

    migrated = f"migrated the tables of threads from version {old_code.version} to "
    assert [line for line in server.output if migrated in line]
    async with sql.build_beside(sql.Options(path=tmp_path / "state" / "rightseat.db")) as threads:
        for id in load.threads:
            assert_whole(await threads.load(id, ANYONE), id)
    assert not [line for line in server.output if " ERROR " in line]
