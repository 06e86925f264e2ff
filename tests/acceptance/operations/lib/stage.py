"""What a scenario plays on: services that are shared, and servers of its own."""

import asyncio
import itertools
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from fleet import Server
from model import Model
from runs import Crowd
from services import Daemon, Postgres, Proxy, Redis

from tests.acceptance._lib.services import Missing

D = TypeVar("D", bound=Daemon)


@dataclass
class Finding:
    problems: Counter[str] = field(default_factory=Counter)
    figures: dict[str, object] = field(default_factory=dict)

    def expect(self, holds: bool, problem: str) -> None:
        if not holds:
            self.problems[problem] += 1

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.figures.items())


@dataclass(frozen=True)
class Settings:
    runs: int = 30
    lease: float = 5.0


class World:
    """PostgreSQL and Redis live as long as the suite; a database and a Redis database belong to one scenario."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder, self.settings, self.model = folder, settings, Model()
        self._daemons: list[Daemon] = []
        self._postgres: Postgres | None = None
        self._names, self._stages = itertools.count(1), itertools.count(1)

    async def postgres(self) -> Postgres:
        if self._postgres is None or self._postgres.process is None:
            self._postgres = self.keep(Postgres(self.folder))
            await asyncio.to_thread(self._postgres.create)
            await asyncio.to_thread(self._postgres.start)
        return self._postgres

    async def standby(self, of: Postgres) -> Postgres:
        standby = self.keep(Postgres(self.folder))
        await asyncio.to_thread(standby.copy, of)
        await asyncio.to_thread(standby.start)
        return standby

    def succeed(self, postgres: Postgres) -> None:
        """The promoted standby is the database of the scenarios that follow."""
        self._postgres = postgres

    async def redis(self, of: int | None = None) -> Redis:
        redis = self.keep(Redis(self.folder, of))
        await asyncio.to_thread(redis.start)
        return redis

    def keep(self, daemon: D) -> D:
        self._daemons.append(daemon)
        return daemon

    async def database(self) -> str:
        name = f"o{next(self._names)}"
        postgres = await self.postgres()
        await asyncio.to_thread(postgres.execute, f"CREATE DATABASE {name}")
        return name

    async def stop(self) -> None:
        for daemon in reversed(self._daemons):
            await asyncio.to_thread(daemon.kill)
        await self.model.stop()

    @asynccontextmanager
    async def stage(self, name: str) -> AsyncIterator["Stage"]:
        stage = Stage(self, f"{next(self._stages):02}-{name}")
        try:
            yield stage
        finally:
            await stage.close()


class Stage:
    def __init__(self, world: World, name: str) -> None:
        self.world, self.name, self.lease = world, name, world.settings.lease
        self.servers: list[Server] = []
        self.proxies: list[Proxy] = []
        self.crowd: Crowd | None = None
        self._crowds: list[Crowd] = []
        self._mounts: list[Path] = []
        self._daemons: list[Daemon] = []

    def configuration(self, **changes) -> dict:
        """What an operator would write, for one server with a folder."""
        model = {"type": "openai", "model": "fake", "base_url": self.world.model.url, "api_key": "sk-fake"}
        whole = {
            "models": {"default": model},
            "agents": {"durable": {"model": "default", "durable": True}, "plain": {"model": "default"}},
            "engine": {"type": "dbos"},
            "faces": [
                {"type": "copilotkit", "path": "/copilotkit", "agent": "durable", "keep_alive": 1},
                {"type": "openai", "path": "/v1", "keep_alive": 1},
                {"type": "metrics", "access": "open"},
            ],
            "server": {"hosts": ["*"], "shutdown_timeout": 30},
        }
        return whole | changes

    def server(self, configuration: dict, state: Path | None = None) -> Server:
        folder = self.world.folder / f"{self.name}-server{len(self.servers)}"
        settings = configuration["server"] | {"state_dir": str(state or folder / "state")}
        self.servers.append(Server(configuration | {"server": settings}, folder))
        return self.servers[-1]

    async def fleet(
        self, database_url: str, redis_url: str, count: int = 3, wait: bool = True, **changes
    ) -> list[Server]:
        stores = {
            "threads": {"type": "sql", "url": database_url, "lease_seconds": self.lease},
            "log": {"type": "redis", "url": redis_url},
            "engine": {"type": "dbos", "url": database_url},
        }
        servers = [self.server(self.configuration(**(stores | changes))) for _ in range(count)]
        for server in servers:
            server.launch()
        if wait:
            await asyncio.gather(*(server.ready() for server in servers))
        return servers

    async def proxy(self, target: int) -> Proxy:
        self.proxies.append(Proxy(target))
        await self.proxies[-1].start()
        return self.proxies[-1]

    async def launch(self, daemon: D) -> D:
        self._daemons.append(self.world.keep(daemon))
        await asyncio.to_thread(daemon.start)
        return daemon

    def people(self, servers: list[Server] | None = None) -> Crowd:
        self.crowd = Crowd(servers or self.servers, self.world.model)
        self._crowds.append(self.crowd)
        return self.crowd

    def small_disk(self, megabytes: int) -> Path:
        """A file system of that size (needs root)."""
        folder = self.world.folder / f"{self.name}-disk"
        folder.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder], capture_output=True, check=False
        )
        if done.returncode:
            raise Missing("a small file system cannot be mounted here (needs root)")
        self._mounts.append(folder)
        return folder

    async def close(self) -> None:
        for crowd in self._crowds:
            await crowd.close()
        for server in self.servers:
            await asyncio.to_thread(server.kill)
        for daemon in reversed(self._daemons):
            await asyncio.to_thread(daemon.kill)
        for proxy in self.proxies:
            await proxy.stop()
        for folder in self._mounts:
            subprocess.run(["umount", folder], check=False)
            shutil.rmtree(folder, ignore_errors=True)


async def until(holds: Callable[[], Awaitable[bool]], within: float) -> float | None:
    """Seconds until it holds, or None."""
    began = time.monotonic()
    while time.monotonic() - began < within:
        if await holds():
            return round(time.monotonic() - began, 1)
        await asyncio.sleep(0.2)
    return None
