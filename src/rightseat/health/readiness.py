"""Readiness of the server: it can start a run and keep it.

What it depends on can be reached and written, its lease is renewed, no model server crashes in a loop, and it is not
shutting down. `GET /ready` is for load balancers and may be polled by many: a result is cached for a second, and a
check takes at most another. Each dependency has one connection for it, so that an exhausted pool does not count as an
unreachable server.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import urlsplit

from rightseat.config import Config
from rightseat.core.model import Model, SupervisesServer
from rightseat.health.probes import (
    CHECK_TIMEOUT,
    FolderProbe,
    LeaseProbe,
    NotWritable,
    PostgresProbe,
    Probe,
    RedisProbe,
)
from rightseat.operations.leases import HeldLease

logger = logging.getLogger(__name__)

CACHE_SECONDS = 1.0


class DependencyProblem(NamedTuple):
    dependency: str
    address: str
    cause: str


class Dependency(NamedTuple):
    """`login` is the address with the user, for the operator's own commands; the password is never in it."""

    name: str
    address: str
    probe: Probe
    login: str = ""

    async def find_cause(self) -> str | None:
        problem = await check(self)
        return problem and problem.cause


class Condition(NamedTuple):
    """Something else that must hold. `find_cause` returns why it does not, and within about a second."""

    name: str
    find_cause: Callable[[], Awaitable[str | None]]
    address: str = ""


class Readiness:
    """Its checks are the dependencies first, then the conditions."""

    def __init__(self, dependencies: Sequence[Dependency] = (), conditions: Sequence[Condition] = ()) -> None:
        self._dependencies = dependencies
        self._checks: list[Dependency | Condition] = [*dependencies, *conditions]
        self._problems: list[DependencyProblem] = []
        self._checked_at = -CACHE_SECONDS
        self._failing_since: float | None = None
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for dependency in self._dependencies:
            await dependency.probe.close()

    async def states(self) -> dict[str, bool]:
        """All that is checked, with whether it is ready."""
        failed = {one.dependency for one in await self.problems()}
        return {one.name: one.name not in failed for one in self._checks}

    async def problems(self) -> list[DependencyProblem]:
        async with self._lock:
            if time.monotonic() - self._checked_at >= CACHE_SECONDS:
                causes = await asyncio.gather(*(one.find_cause() for one in self._checks))
                found = zip(self._checks, causes, strict=True)
                before, self._problems = (
                    self._problems,
                    [DependencyProblem(one.name, one.address, cause) for one, cause in found if cause],
                )
                self._checked_at = time.monotonic()
                self._log_change({one.dependency for one in before})
        return self._problems

    def _log_change(self, before: set[str]) -> None:
        """One line when other dependencies fail than before, one when all is well again."""
        if {one.dependency for one in self._problems} == before:
            return
        if self._problems:
            self._failing_since = self._failing_since or self._checked_at
            causes = "; ".join(f"{one.dependency}: {one.cause}" for one in self._problems)
            logger.warning("this server is not ready: %s", causes)
        elif self._failing_since is not None:
            logger.info("this server is ready again after %.1f s", self._checked_at - self._failing_since)
            self._failing_since = None


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
        if isinstance(link, NotWritable):
            return str(link)
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
            found.setdefault(url, Dependency(name, address_of(url), probe, login_of(url)))
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


def login_of(url: str) -> str:
    """Without password and options. The scheme is one that `psql` knows."""
    parts = urlsplit(url)
    user, has_user, host = parts.netloc.rpartition("@")
    name = f"{user.partition(':')[0]}@" if has_user else ""
    return url and f"{parts.scheme.partition('+')[0]}://{name}{host}{parts.path}"


def conditions_of(config: Config, models: Mapping[str, Model], lease: HeldLease | None) -> list[Condition]:
    """Those of model servers that rightseat starts, of the folder of SQLite files, and of the lease."""
    found = [
        supervised(f"model {name}", model) for name, model in models.items() if isinstance(model, SupervisesServer)
    ]
    if files := state_files(config):
        found.append(Condition("state_dir", FolderProbe(files).find_cause))
    if lease is not None:
        found.append(Condition("lease", LeaseProbe(lease).find_cause))
    return found


def supervised(name: str, model: SupervisesServer) -> Condition:
    async def find_cause() -> str | None:
        return model.find_crash_loop()

    return Condition(name, find_cause)


def state_files(config: Config) -> list[Path]:
    """The SQLite files of threads, log and engine."""
    found: dict[Path, None] = {}
    for part in (config.threads, config.log, config.engine):
        path = getattr(part.options, "path", None)
        if isinstance(path, Path) and not getattr(part.options, "url", None):
            found[path] = None
    return list(found)
