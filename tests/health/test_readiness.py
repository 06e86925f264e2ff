"""`/ready` says what is away, for as long as it is, and gives away nothing else."""

import asyncio
import json
import logging
import shutil
import tempfile
import time
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
import httpx2
import pytest
from fastapi import FastAPI

from rightseat import app, config
from rightseat.app import Assembly
from rightseat.config import Server
from rightseat.health import probes, readiness
from rightseat.health.probes import FolderProbe
from rightseat.health.readiness import Condition, Dependency, Readiness, address_of, check, probe_of
from tests.conditions import settle, until
from tests.conftest import Serve
from tests.databases import migrated_database
from tests.services import POSTGRES, free_port, own_redis, proxy


def fleet(folder: Path, **urls: str) -> tuple[Assembly, FastAPI]:
    parts = {"threads": {"type": "memory"}, "log": {"type": "memory"}}
    parts |= {name: {"type": "redis" if url.startswith("redis") else "sql", "url": url} for name, url in urls.items()}
    assembly = app.assemble(config.parse(json.dumps({"server": {"state_dir": str(folder)}, **parts}), environ={}))
    return assembly, app.application(assembly, Server())


async def test_a_server_that_needs_nothing_is_ready(serve: Serve, tmp_path: Path) -> None:
    _, built = fleet(tmp_path)
    async with serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.get("/ready")

    assert (answer.status_code, answer.json()) == (200, {"status": "ready"})


async def test_it_names_the_redis_that_is_away_and_is_well_again_afterwards(serve: Serve, tmp_path: Path) -> None:
    async with own_redis(tmp_path / "redis") as redis:
        _, built = fleet(tmp_path, log=redis.url)
        async with asyncio.timeout(60), serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
            statuses = [(await client.get("/ready")).status_code]
            await redis.kill()

            async def is_not_ready() -> bool:
                return (await client.get("/ready")).status_code == 503

            await until(is_not_ready)
            told, alive = await client.get("/ready"), await client.get("/health")
            await redis.start()

            async def is_ready() -> bool:
                return (await client.get("/ready")).status_code == 200

            await until(is_ready)

    assert statuses == [200]
    problem = {"dependency": "log", "address": redis.url, "cause": "connection refused"}
    assert told.json() == {"status": "not ready", "problems": [problem]}
    assert alive.status_code == 200


@pytest.mark.serial
async def test_a_database_that_does_not_respond_is_reported_within_about_a_second(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "CACHE_SECONDS", 0.0)
    async with migrated_database() as database, proxy(5432) as between:
        behind = database.replace("127.0.0.1:5432", f"127.0.0.1:{between.port}")
        _, built = fleet(tmp_path, threads=behind)
        async with asyncio.timeout(60), serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
            before = await client.get("/ready")
            between.is_mute = True
            began = time.monotonic()
            told = await client.get("/ready")
            took = time.monotonic() - began
            between.mend()

    assert before.status_code == 200
    assert told.status_code == 503
    [problem] = told.json()["problems"]
    assert problem["cause"] == "no response within 1 s"
    assert problem["address"] == behind.replace("postgres@", "").partition("?")[0]
    assert took < 3


async def test_a_server_that_shuts_down_is_not_ready(serve: Serve, tmp_path: Path) -> None:
    assembly, built = fleet(tmp_path)
    async with serve(built) as url, httpx2.AsyncClient(base_url=url) as client:
        assembly.runtime.is_shutting_down = True
        told, alive = await client.get("/ready"), await client.get("/health")

    assert told.status_code == 503
    assert told.json()["problems"] == [{"dependency": "shutdown", "address": "", "cause": "shutting down"}]
    assert alive.status_code == 200


async def test_concurrent_requests_share_one_check() -> None:
    class Counted:
        count = 0

        async def check(self) -> None:
            self.count += 1
            await settle()
            raise ConnectionRefusedError(111, "secret")

        async def read_clock(self) -> float:
            return 0.0

        async def close(self) -> None: ...

    probe = Counted()
    shared = Readiness([Dependency("log", "redis://log", probe)])
    told = await asyncio.gather(*(shared.problems() for _ in range(100)))

    assert probe.count == 2  # one, and again on a new connection
    assert {one[0].cause for one in told} == {"connection refused"}


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg", "redis"])
async def test_credentials_are_never_revealed(scheme: str) -> None:
    url = f"{scheme}://someone:hunter2@127.0.0.1:{free_port()}/name?password=hunter2"
    probe = probe_of(url)
    assert probe is not None

    problem = await check(Dependency("log", address_of(url), probe))

    assert problem is not None
    assert problem.cause == "connection refused"
    assert "hunter2" not in str(problem)
    assert "someone" not in str(problem)


async def test_a_refused_login_is_reported_without_the_servers_text() -> None:
    url = POSTGRES.replace("postgres@", "no-such-user@")
    probe = probe_of(url)
    assert probe is not None

    problem = await check(Dependency("threads", address_of(url), probe))

    assert problem is not None
    assert problem.cause.endswith("Error")
    assert "no-such-user" not in str(problem)


async def test_a_database_that_refuses_writes_is_named_until_it_takes_them() -> None:
    async with migrated_database() as database:
        name = database.rpartition("/")[2].partition("?")[0]
        probe = probe_of(database)
        assert probe is not None
        dependency = Dependency("threads", address_of(database), probe)
        connection = await asyncpg.connect(database)
        try:
            await connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
            await probe.close()
            refused = await dependency.find_cause()
            await connection.execute("SET default_transaction_read_only = off")
            await connection.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
            again = await dependency.find_cause()
        finally:
            await connection.close()
            await probe.close()

    assert refused == "read-only: the database refuses writes"
    assert again is None  # on a new connection: the session before stays read-only


async def test_a_redis_that_is_a_replica_is_named(tmp_path: Path) -> None:
    async with own_redis(tmp_path / "redis") as redis, own_redis(tmp_path / "replica", redis) as replica:
        causes = []
        for url in (redis.url, replica.url):
            probe = probe_of(url)
            assert probe is not None
            causes.append(await Dependency("log", url, probe).find_cause())
            await probe.close()

    assert causes == [None, "read-only: a replica, not the master"]


async def test_a_state_folder_that_is_gone_or_another_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "TRIAL_INTERVAL_S", 0.0)
    folder, away = tmp_path / "state", tmp_path / "away"
    folder.mkdir()
    file = folder / "rightseat.db"
    file.touch()
    probe = FolderProbe([file])
    causes = [await probe.find_cause()]
    folder.rename(away)
    causes.append(await probe.find_cause())
    folder.mkdir()
    causes.append(await probe.find_cause())
    file.touch()
    causes.append(await probe.find_cause())
    shutil.rmtree(folder)
    away.rename(folder)
    causes.append(await probe.find_cause())

    replaced = "the file rightseat.db was replaced: restart the server"
    assert causes == [None, "the folder is gone", "the file rightseat.db is gone", replaced, None]
    assert list(folder.iterdir()) == [file]  # trial writes leave nothing behind


async def test_a_folder_is_not_written_with_each_request(tmp_path: Path) -> None:
    (tmp_path / "rightseat.db").touch()
    probe = FolderProbe([tmp_path / "rightseat.db"])
    first = await probe.find_cause()
    (tmp_path / "rightseat.db").unlink()

    assert (first, await probe.find_cause()) == (None, None)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
async def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rightseat.db").touch()
    with Path("/dev/full").open("wb", buffering=0) as full:  # noqa: ASYNC230  # nothing is read or waited for
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
        cause = await FolderProbe([tmp_path / "rightseat.db"]).find_cause()

    assert cause == "no space left on device"


async def test_readiness_changes_are_one_line_each(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    causes: list[str | None] = [None, "gone", "gone", None, None]

    async def find_cause() -> str | None:
        return causes.pop(0)

    shared = Readiness(conditions=[Condition("state_dir", find_cause)])
    told = []
    while causes:
        shared._checked_at = -readiness.CACHE_SECONDS
        told.append([one.cause for one in await shared.problems()])

    assert told == [[], ["gone"], ["gone"], [], []]
    first, second = (record.getMessage() for record in caplog.records)
    assert first == "this server is not ready: state_dir: gone"
    assert second.startswith("this server is ready again after ")


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        ("GET /ready HTTP/1.0\r\n\r\n", 200),
        ("GET /health HTTP/1.0\r\n\r\n", 200),
        ("GET /copilotkit/info HTTP/1.0\r\n\r\n", 400),
        ("GET /ready HTTP/1.0\r\nHost:\r\n\r\n", 400),
        ("GET /ready HTTP/1.0\r\nHost: a.test\r\nHost: b.test\r\n\r\n", 400),
        ("GET /ready HTTP/1.0\r\nHost: evil.test\r\n\r\n", 421),
        ("GET /ready HTTP/1.1\r\nConnection: close\r\n\r\n", 400),
    ],
    ids=["ready", "health", "other path", "empty host", "two hosts", "foreign host", "HTTP/1.1"],
)
async def test_a_load_balancer_without_a_host_gets_one_word(
    serve: Serve, tmp_path: Path, request_head: str, status: int
) -> None:
    assembly, built = fleet(tmp_path)
    async with asyncio.timeout(60), serve(built) as url:
        ready = await exchange(url, request_head)
        assembly.runtime.is_shutting_down = True
        unready = await exchange(url, request_head)

    assert int(ready.split()[1]) == status
    if status == 200:
        is_health = "/health" in request_head
        assert ready.rpartition("\r\n")[2] == ("ok" if is_health else "ready")
        assert (unready.split()[1], unready.rpartition("\r\n")[2]) == (
            ("200", "ok") if is_health else ("503", "unavailable")
        )


async def exchange(url: str, head: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    writer.write(head.encode())
    answer = (await reader.read()).decode()
    writer.close()
    return answer
