"""Readiness of the server: its PostgreSQL and its Redis can be reached, and it is not shutting down.

`GET /ready` is for load balancers and may be polled by many: a result is cached for a second, and a check takes at most
another. Each dependency has one connection for it, so that an exhausted pool does not count as an unreachable server.
"""

import asyncio
import os
import socket
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple, Protocol, Self
from urllib.parse import urlsplit

from rightseat.config import Config

CHECK_TIMEOUT = 1.0
CACHE_SECONDS = 1.0


class DependencyProblem(NamedTuple):
    dependency: str
    address: str
    cause: str


class Probe(Protocol):
    async def check(self) -> None:
        """Raises whatever the driver raises."""

    async def read_clock(self) -> float:
        """The time of the server, in seconds since 1970. Raises whatever the driver raises."""
        ...

    async def close(self) -> None: ...


class Dependency(NamedTuple):
    name: str
    address: str
    probe: Probe


class Readiness:
    def __init__(self, dependencies: Sequence[Dependency] = ()) -> None:
        self._dependencies = dependencies
        self._problems: list[DependencyProblem] = []
        self._checked_at = -CACHE_SECONDS
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for dependency in self._dependencies:
            await dependency.probe.close()

    async def problems(self) -> list[DependencyProblem]:
        async with self._lock:
            if time.monotonic() - self._checked_at >= CACHE_SECONDS:
                found = await asyncio.gather(*map(check, self._dependencies))
                self._problems = [problem for problem in found if problem]
                self._checked_at = time.monotonic()
        return self._problems


async def check(dependency: Dependency) -> DependencyProblem | None:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT):
            try:
                await dependency.probe.check()
            except Exception:  # the cached connection may be stale: retry once with a new one
                await dependency.probe.close()
                await dependency.probe.check()
    except Exception as error:
        await dependency.probe.close()
        return DependencyProblem(dependency.name, dependency.address, cause_of(error))
    return None


def cause_of(error: BaseException) -> str:
    """Without the driver's own message, which may hold parts of the address: anyone can read this response."""
    root = error
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, TimeoutError):
            return f"no response within {CHECK_TIMEOUT:g} s"
        if isinstance(link, socket.gaierror):
            return "the host name cannot be resolved"
        if isinstance(link, OSError) and link.errno:
            return os.strerror(link.errno).lower()
        root, link = link, link.__cause__ or link.__context__
    return type(root).__name__


def dependencies_of(config: Config) -> list[Dependency]:
    """The dependencies of the log, the threads and the engine, each address once."""
    found: dict[str, Dependency] = {}
    for name, part in (("threads", config.threads), ("log", config.log), ("engine", config.engine)):
        secret = getattr(part.options, "url", None)
        url = secret.get_secret_value() if secret else ""
        if probe := probe_of(url):
            found.setdefault(url, Dependency(name, address_of(url), probe))
    return list(found.values())


def probe_of(url: str) -> Probe | None:
    scheme, _, rest = url.partition("://")
    if scheme.partition("+")[0] in ("postgresql", "postgres"):
        return PostgresProbe(f"postgresql://{rest}")
    if scheme in ("redis", "rediss", "unix"):
        return RedisProbe(url)
    return None


def address_of(url: str) -> str:
    """Without user, password and options; empty for no URL."""
    parts = urlsplit(url)
    return url and f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class PostgresProbe:
    def __init__(self, url: str) -> None:
        self._connector = import_module("rightseat.postgres.connector").Connector(url)
        self._connection: Any = None

    async def check(self) -> None:
        await self._query("SELECT 1")

    async def read_clock(self) -> float:
        return float(await self._query("SELECT extract(epoch FROM clock_timestamp())"))

    async def _query(self, sql: str) -> Any:
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connector.connect_as_pooled()
        return await self._connection.fetchval(sql)

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None


class RedisProbe:
    def __init__(self, url: str) -> None:
        redis = import_module("rightseat.logs.redis.connection")
        self._connection = redis.RedisConnection(redis.build_pool(url))

    async def check(self) -> None:
        await self._query(b"PING")

    async def read_clock(self) -> float:
        seconds, microseconds = await self._query(b"TIME")
        return int(seconds) + int(microseconds) / 1e6

    async def _query(self, command: bytes) -> Any:
        (reply,) = await self._connection.send((command,))
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def close(self) -> None:
        await self._connection.close()
