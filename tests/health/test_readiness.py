"""`/ready` says what is away, for as long as it is, and gives away nothing else."""

import asyncio
import json
import time
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from rightseat import app, config
from rightseat.app import Assembly
from rightseat.config import Server
from rightseat.health import readiness
from rightseat.health.readiness import Dependency, Readiness, address_of, check, probe_of
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
    assert told.json()["problems"] == [{"dependency": "server", "address": "", "cause": "shutting down"}]
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
