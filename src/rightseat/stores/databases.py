"""The databases that the store knows, and what differs between them. The queries are the same for all.

On SQLite one process at a time owns the file. A transaction is one visit to one thread, however many statements it has:
a driver that crosses over with each of them (aiosqlite) costs twice as much.
"""

import asyncio
import importlib
import secrets
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, create_engine, event

from rightseat.core.errors import ConfigError
from rightseat.erasure import Eraser, clean_file, overwrite_deleted
from rightseat.parts import private_file, private_folder
from rightseat.stores.migrations import upgrade

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[Concatenate[Connection, P], T]

PATIENCE = 10.0  # seconds to wait for another that writes to the same file


class Database(Protocol):
    process: int
    """Who we are: no other process ever has this number."""
    reap_every: float | None
    """Seconds between two looks for processes that died; None where there can be no other."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `work` with a connection, in a transaction of its own."""
        ...

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `write`, for work that changes nothing: all that it reads is of one moment."""
        ...

    async def look(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `read`, for work of one statement, which needs no transaction."""
        ...

    def is_gone(self, connection: Connection, process: int) -> bool:
        """Does another process not live any more? Stays true until the end of the transaction."""
        ...

    def erase(self) -> None:
        """Have what was deleted overwritten within seconds, where the database itself would keep it for longer."""
        ...


def connect(where: str | Path, lease: float = 5.0, *, is_owner: bool = True) -> Database:
    """A file, or the URL of a server. What only a server needs is imported only for one.

    `lease` is for how many seconds a process may be unheard before others take it for dead. `is_owner` is False for a
    command that works on a file beside the server that owns it.
    """
    if isinstance(where, Path):
        return Sqlite(where, is_owner=is_owner)
    try:
        server = importlib.import_module("rightseat.stores.postgresql")
        found: Database = server.Postgres(where, lease)
    except ModuleNotFoundError as error:
        raise ConfigError(f"PostgreSQL needs {error.name!r}: pip install 'rightseat[postgres]'") from error
    return found


class Sqlite:
    reap_every: float | None = None

    def __init__(self, path: Path, *, is_owner: bool = True) -> None:
        """`is_owner` keeps other processes away from the file. A command that works beside a server does not."""
        self.process = new_process()
        self._path = path
        self._is_owner = is_owner

    async def open(self) -> None:
        private_folder(self._path.parent)
        self._lock = own(self._path) if self._is_owner else None
        private_file(self._path)
        is_left_open = has_content(Path(f"{self._path}-wal"))
        await asyncio.to_thread(clean_file, self._path)
        self._eraser = Eraser(self._path)
        if self._is_owner and is_left_open:  # the process before was killed, perhaps between deleting and erasing
            self._eraser.request()
        self._thread = ThreadPoolExecutor(1, "rightseat store")
        self._engine = create_engine(f"sqlite:///{self._path}", connect_args={"timeout": PATIENCE})
        self._reading = self._engine.execution_options(reading=True)
        event.listen(self._engine, "connect", set_up)
        event.listen(self._engine, "begin", begin)
        await self.write(upgrade)

    async def close(self) -> None:
        await self._in_thread(self._engine.dispose)
        self._thread.shutdown()
        await self._eraser.close()
        if self._lock is not None:
            self._lock.close()

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        def transact() -> T:
            with self._engine.begin() as connection:
                return work(connection, *args, **kwargs)

        return await self._in_thread(transact)

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        def transact() -> T:
            with self._reading.begin() as connection:
                return work(connection, *args, **kwargs)

        return await self._in_thread(transact)

    async def look(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.read(work, *args, **kwargs)

    def is_gone(self, connection: Connection, process: int) -> bool:
        return True  # there is no other beside us

    def erase(self) -> None:
        self._eraser.request()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def own(path: Path) -> sqlite3.Connection:
    """Keep others away from the file, until the connection is closed or the process ends, in whatever way."""
    private_file(Path(f"{path}.lock"))
    lock = sqlite3.connect(f"{path}.lock", timeout=0, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        raise ConfigError(
            f"{path} is in use by another rightseat. Stop that one, or give this one a folder of its own: server.state."
        ) from error
    return lock


def set_up(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # we say when a transaction begins
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    overwrite_deleted(connection)


def begin(connection: Connection) -> None:
    """Who means to write says so at once: nobody can come between what it reads and what it writes."""
    is_reading = connection.get_execution_options().get("reading")
    connection.exec_driver_sql("BEGIN" if is_reading else "BEGIN IMMEDIATE")


def has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def new_process() -> int:
    return secrets.randbits(62)
