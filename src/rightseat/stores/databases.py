"""Connects to a database, and has the one of SQLite. The queries are the same for all databases.

One server at a time owns a SQLite file. If it has several workers, each locks a file of its own, so that the others see
that it is alive. A transaction is one call to one thread, however many statements it has (`sqlite_writer`): a driver
that switches threads for each statement (aiosqlite) costs twice as much.
"""

import asyncio
import glob
import importlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, StaticPool, create_engine, event

from rightseat.core.errors import ConfigError
from rightseat.erasure import Eraser, clean_file, overwrite_deleted
from rightseat.file_locks import FileLock, is_locked
from rightseat.installation import install_command
from rightseat.operations.database_metrics import ObserveOperation, PoolState, ignore_operation
from rightseat.operations.leases import HeldLease
from rightseat.parts import private_file, private_folder
from rightseat.sqlite_writer import BUSY_TIMEOUT_S, SqliteWriter
from rightseat.stores.migrations import upgrade
from rightseat.stores.prepared import Parameters, PreparedStatement, Row
from rightseat.stores.scripts import Script, run_script
from rightseat.stores.store_database import StoreDatabase, Work, new_process_id

P = ParamSpec("P")
T = TypeVar("T")

PART = "store"
HAS_THREAD = "SELECT EXISTS (SELECT 1 FROM threads WHERE id = ?)"
SCAN_THREADS = 8
"""More than the reads that one user may have at a time, so that the lists of another user do not wait for them."""
REAP_INTERVAL_S = 1.0  # between two searches for workers that died


class DatabaseInUse(ConfigError):
    """Another process owns the SQLite file."""


def connect(
    where: str | Path, lease_seconds: float = 5.0, *, is_owner: bool = True, timeout: float = 0.0
) -> StoreDatabase:
    """A SQLite file, or the URL of a PostgreSQL server, whose driver is imported only then.

    After `lease_seconds` without a heartbeat a process counts as dead. `timeout` is how many seconds a call waits for a
    PostgreSQL server that cannot be reached. `is_owner` is False for a command that works on
    a file beside the server that owns it.
    """
    if isinstance(where, Path):
        return Sqlite(where, is_owner=is_owner)
    try:
        server = importlib.import_module("rightseat.stores.postgresql")
        found: StoreDatabase = server.Postgres(where, lease_seconds, timeout)
    except ModuleNotFoundError as error:
        raise ConfigError(f"PostgreSQL needs {error.name!r}: {install_command('postgres')}") from error
    return found


class Sqlite:
    dialect = "sqlite"
    reap_every: float | None = None
    lease: HeldLease | None = None
    on_lost_scripts: Callable[[], None]

    def __init__(self, path: Path, *, is_owner: bool = True) -> None:
        """`is_owner` locks the file against other owners. A command that works beside a server is none."""
        self.process_id = new_process_id()
        self._path = path
        self._is_owner = is_owner
        self._is_shared = False
        self.observe_operation: ObserveOperation = ignore_operation

    def share_file(self) -> None:
        self._is_shared = True
        self.reap_every = REAP_INTERVAL_S

    async def open(self) -> None:
        private_folder(self._path.parent)
        self._lock = self._lock_file()
        private_file(self._path)
        was_killed = has_content(Path(f"{self._path}-wal"))
        await asyncio.to_thread(clean_file, self._path)
        self._eraser = Eraser(self._path)
        if self._is_owner and was_killed:  # perhaps between deleting and erasing
            self._eraser.request()
        # readers do not wait for writers: the file has a write-ahead log
        self._scan_threads = ThreadPoolExecutor(SCAN_THREADS, "rightseat store scan")
        self._writer = SqliteWriter.share(self._path, PART) if self._is_owner else SqliteWriter(self._path)
        url, options = f"sqlite:///{self._path}", {"timeout": BUSY_TIMEOUT_S, "check_same_thread": False}
        writing = create_engine(url, creator=lambda: self._writer.connection, poolclass=StaticPool)
        event.listen(writing, "connect", configure)
        self._engine = create_engine(url, connect_args=options)
        event.listen(self._engine, "connect", configure)
        event.listen(self._engine, "begin", begin)
        self._reading = self._engine.execution_options(reading=True)
        self._reader = await asyncio.to_thread(self._reading.connect)
        await self._writer.read(lambda: self._connect(writing))
        self._lookup = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        try:
            await self.write(upgrade)
        except BaseException:
            await self.close()
            raise

    def _lock_file(self) -> "FileLock | sqlite3.Connection | None":
        """Workers lock a file each: the process that started them has locked the database for all."""
        if not self._is_owner:
            return None
        if not self._is_shared:
            return lock_file(self._path)
        for left in self._path.parent.glob(f"{glob.escape(self._path.name)}.*.lock"):
            is_locked(left)  # deletes it if its process has ended
        lock = FileLock(self._find_lock(self.process_id))
        lock.acquire()
        return lock

    def _find_lock(self, process_id: int) -> Path:
        return Path(f"{self._path}.{process_id}.lock")

    def _connect(self, engine: Engine) -> None:
        """SQLAlchemy's own transaction never ends: the thread begins and commits those of the file."""
        self._writing = engine.connect()
        self._writing.begin()

    async def close(self) -> None:
        await asyncio.to_thread(self._scan_threads.shutdown)
        await self._writer.read(self._writing.close)
        await self._writer.close(PART)
        self._lookup.close()
        self._reader.close()
        self._engine.dispose()
        await self._eraser.close()
        if isinstance(self._lock, FileLock):
            self._lock.delete()
        elif self._lock is not None:
            self._lock.close()

    def pool_states(self) -> Sequence[PoolState]:
        return ()  # each thread has the connection that it needs

    @contextmanager
    def _measured(self, operation: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.observe_operation(self.dialect, operation, time.perf_counter() - began)

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self._measured("write"):
            return await self._writer.write(lambda: work(self._writing, *args, **kwargs))

    async def write_run_end(self, run_id: str, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        is_early = run_id in self._writer.open_logs
        with self._measured("write"):
            return await self._writer.write(lambda: work(self._writing, *args, **kwargs), is_early=is_early)

    async def run_script(self, script: Script[T]) -> T:
        return await self.write(run_script, script)

    async def run_statements(self, script: Script[T]) -> T:
        return await self.write(run_script, script)

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        def read() -> T:
            with self._reader.begin():
                return work(self._reader, *args, **kwargs)

        with self._measured("read"):
            return await self._writer.read(read)

    async def read_beside(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self._measured("read"):
            if not self._writer.is_idle:
                await self._writer.read(skip)
            return await self._read_in_scan_thread(work, *args, **kwargs)

    async def scan(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        with self._measured("scan"):
            return await self._read_in_scan_thread(work, *args, **kwargs)

    async def _read_in_scan_thread(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        def read() -> T:
            with self._reading.begin() as connection:
                return work(connection, *args, **kwargs)

        return await asyncio.get_running_loop().run_in_executor(self._scan_threads, read)

    async def query(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.read(work, *args, **kwargs)

    def lacks_thread(self, thread_id: str) -> bool:
        """Looked up in the event loop's own thread, as the log does for its runs: that takes a tenth of `read`."""
        return not self._lookup.execute(HAS_THREAD, (thread_id,)).fetchone()[0]

    async def poll(self, statement: PreparedStatement, parameters: Parameters) -> Sequence[Row]:
        return await self.query(statement.fetch, parameters)

    async def find_suspects(self, process_ids: Sequence[int]) -> Sequence[int]:
        return process_ids

    def is_dead(self, connection: Connection, process_id: int) -> bool:
        if not self._is_shared:
            return True  # only one process can own the file
        return not is_locked(self._find_lock(process_id))

    def erase(self) -> None:
        self._eraser.request()


def skip() -> None:
    """Its turn comes after all that was queued before."""


def lock_file(path: Path) -> sqlite3.Connection:
    """Lock the file against other processes until the connection is closed or the process ends in any way."""
    private_file(Path(f"{path}.lock"))
    lock = sqlite3.connect(f"{path}.lock", timeout=0, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        raise DatabaseInUse(
            f"{path} is in use by another rightseat. Stop that one, or set another folder in `server.state_dir`. "
            "Several processes share threads with `rightseat serve --workers N`, or with PostgreSQL (`threads.url`)."
        ) from error
    return lock


def configure(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # `begin` starts transactions
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.create_function("lower", 1, lower, deterministic=True)  # SQLite's own changes ASCII letters only
    overwrite_deleted(connection)


def lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def begin(connection: Connection) -> None:
    """A writer locks at once, so that no other can write between its reads and its writes."""
    is_reading = connection.get_execution_options().get("reading")
    cursor = connection.connection.cursor()  # 20 times as fast as `exec_driver_sql`, 50 us for each transaction
    cursor.execute("BEGIN" if is_reading else "BEGIN IMMEDIATE")
    cursor.close()


def has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0
