"""Probes of readiness: a PostgreSQL, a Redis and the folder of SQLite files, each asked whether it takes writes."""

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from rightseat.operations.leases import HeldLease

CHECK_TIMEOUT = 1.0
TRIAL_INTERVAL_S = 2.0
"""Between two trial writes to a folder, however often it is asked about."""
TRIAL_BYTES = 65_536  # a transaction of SQLite may need several pages


class NotWritable(Exception):
    """The dependency answers and takes no writes. The message may be shown to anyone."""


class Probe(Protocol):
    async def check(self) -> None:
        """Raises whatever the driver raises, or `NotWritable`."""

    async def read_clock(self) -> float:
        """The time of the server, in seconds since 1970. Raises whatever the driver raises."""
        ...

    async def close(self) -> None: ...


class PostgresProbe:
    """The driver, which may not be installed, is imported by the first check."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Any = None

    @cached_property
    def _connector(self) -> Any:
        return import_module("rightseat.postgres.connector").PostgresConnector(self._url)

    async def check(self) -> None:
        """A standby and a database with `default_transaction_read_only` answer, and refuse every run."""
        state = await self._query(
            "SELECT CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE current_setting('transaction_read_only') END"
        )
        if state == "standby":
            raise NotWritable("read-only: a standby, not the primary")
        if state == "on":
            raise NotWritable("read-only: the database refuses writes")

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
    """The driver is imported by the first check, as that of PostgreSQL."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: Any = None

    @property
    def _connection(self) -> Any:
        if self._opened is None:
            redis = import_module("rightseat.logs.redis.connection")
            self._opened = redis.RedisConnection(redis.build_pool(self._url))
        return self._opened

    async def check(self) -> None:
        (role,) = await self._connection.send((b"ROLE",))
        if isinstance(role, Exception):  # an access list may forbid the command
            await self._query(b"PING")
        elif role[0] != b"master":
            raise NotWritable("read-only: a replica, not the master")

    async def read_clock(self) -> float:
        seconds, microseconds = await self._query(b"TIME")
        return int(seconds) + int(microseconds) / 1e6

    async def _query(self, command: bytes) -> Any:
        (reply,) = await self._connection.send((command,))
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()


class FolderProbe:
    """Writes to the folders of these SQLite files, in a thread: at most one, even if the disk does not respond.

    A file that is missing, or another one than at the first check, is a problem too: the server has the old one open,
    and what it writes there is lost.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self._known: dict[Path, tuple[int, int]] = {}  # device and inode
        self._trial: asyncio.Task[str | None] | None = None
        self._tried_at = 0.0

    async def find_cause(self) -> str | None:
        now = time.monotonic()
        if self._trial is None or (self._trial.done() and now - self._tried_at >= TRIAL_INTERVAL_S):
            self._tried_at = now
            self._trial = asyncio.create_task(asyncio.to_thread(self._find_cause))
        done, _ = await asyncio.wait((self._trial,), timeout=CHECK_TIMEOUT)
        return self._trial.result() if done else f"no response within {CHECK_TIMEOUT:g} s"

    def _find_cause(self) -> str | None:
        try:
            change = next(filter(None, map(self._find_change, self._files)), None)
            if change is None:
                self._write()
        except OSError as error:
            return os.strerror(error.errno or 0).lower()
        return change

    def _find_change(self, file: Path) -> str | None:
        try:
            found = file.stat()
        except FileNotFoundError:
            return f"the file {file.name} is gone" if file.parent.exists() else "the folder is gone"
        identity = (found.st_dev, found.st_ino)
        is_same = self._known.setdefault(file, identity) == identity
        return None if is_same else f"the file {file.name} was replaced: restart the server"

    def _write(self) -> None:
        for folder in {file.parent for file in self._files}:
            with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
                file.write(bytes(TRIAL_BYTES))


class LeaseProbe:
    """The database may answer and take no writes: then no renewal succeeds, and others may take over the runs."""

    def __init__(self, lease: HeldLease) -> None:
        self._lease = lease

    async def find_cause(self) -> str | None:
        age = self._lease.age_s
        if age <= self._lease.seconds:
            return None
        return f"the lease of this server was renewed {age:.1f} s ago, and is valid for {self._lease.seconds:g} s"
