"""Migrated databases: a test gets one that has the tables of the store, the log and the engine, and no rows.

Applying the migrations takes 190 ms in PostgreSQL and 85 ms in SQLite, so it happens once, in a template, which all
processes of all runs share; its name has a hash of whatever makes the tables. A process of pytest claims as many copies
of the template of PostgreSQL as a test needs at the same time, and deletes their rows after each test, in 2 to 3 ms.
To copy and to drop a database takes 100 ms, and seconds if the disk is busy. A test may do anything to its database:
one with changed tables, many rows or an open connection is replaced by a new copy. The template of SQLite is a file,
which is copied.

Copies stay for the next run, also those of a run that was killed. The first test of a process that needs one drops
databases of other versions and schemas (`services.schema`) of killed runs, if they are three hours old and not in use.
"""

import asyncio
import atexit
import fcntl
import hashlib
import importlib.metadata
import itertools
import os
import secrets
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from rightseat.parts import private_file, private_folder
from tests.services import POSTGRES

ROOT = Path(__file__).parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rightseat" / "databases"
MAX_LEFTOVER_AGE = "3 hours"
MAX_DELETED_ROWS = 2000
"""A table with more dead rows is slower for the next test."""
TEMPLATE_LOCK = 0x54455354  # the advisory lock of a process that makes a template or drops leftovers
DISCONNECT_TIMEOUT_S = 1.0
"""How long a server may take to end the sessions of connections that a test has closed."""

MIGRATION_SOURCES = (
    "stores/migrations/**/*.py",
    "stores/tables.py",
    "logs/postgres/schema.py",
    "logs/sqlite/database.py",
)
VERSION_TABLES = ("rightseat_version", "log_version", "dbos_migrations")

# Every row of the catalog that belongs to a table, a function or a schema has a new `xmin` if a statement changes it.
READ_FINGERPRINT = "SELECT md5(string_agg(line, ',' ORDER BY line)) FROM ({lines}) AS lines (line)"
CATALOG_LINES = "SELECT concat_ws(' ', tableoid, oid, xmin) FROM {} WHERE oid >= 16384"
CATALOGS = ("pg_class", "pg_constraint", "pg_trigger", "pg_proc", "pg_type", "pg_rewrite", "pg_policy", "pg_attrdef")
ATTRIBUTE_LINES = "SELECT concat_ws(' ', attrelid, attnum, xmin) FROM pg_attribute WHERE attrelid >= 16384"
NAMESPACE_LINES = "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%temp\\_%'"

RESET_SEQUENCES = "SELECT setval(seqrelid::regclass, seqstart, false) FROM pg_sequence"
READ_COMMENT = "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s"
LIST_TABLES = """
SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
"""
COUNT_CLIENTS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
# The name of a schema begins with the second in which it was created, as a hexadecimal number.
LIST_LEFTOVER_SCHEMAS = """
SELECT nspname FROM pg_namespace
WHERE nspname ~ '^test_[0-9a-f]{8}_[0-9a-f]{16}$'
    AND to_timestamp(('x' || substr(nspname, 6, 8))::bit(32)::bigint) < now() - %s::interval
"""
LIST_LEFTOVERS = """
SELECT datname FROM pg_database
WHERE datname ~ '^rightseat_(test|template)_' AND split_part(datname, '_', 3) <> %s
    AND (pg_stat_file('base/' || oid || '/PG_VERSION', true)).modification < now() - %s::interval
    AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE datid = pg_database.oid)
"""


@asynccontextmanager
async def migrated_database() -> AsyncIterator[str]:
    """A migrated PostgreSQL database without rows, as a URL. No other test uses it meanwhile."""
    try:
        copies = template_copies()
        copy = copies.take()
    except psycopg.OperationalError:
        pytest.skip("there is no PostgreSQL on this machine")
    try:
        yield copy.url
    finally:
        if await has_no_clients(copy) and copies.reset(copy):
            copies.give_back(copy)
        else:
            copies.discard(copy)


def migrated_file(path: Path, template: str = "rightseat.db") -> Path:
    """Copy the SQLite file that has the tables of store and log, or `steps.db`, that of the engine, to `path`."""
    private_folder(path.parent)
    private_file(path)
    shutil.copyfile(file_templates() / template, path)
    return path


class TemplateCopy:
    """A database that one test at a time uses."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.url = url_of(name)
        self._connection = psycopg.connect(
            self.url, autocommit=True, options="-c session_replication_role=replica -c lock_timeout=5s"
        )
        tables = self._connection.execute(LIST_TABLES).fetchall()
        self._fingerprint_query = write_fingerprint_query(tables)
        self._reset = write_reset(tables)

    def read_fingerprint(self) -> str:
        [(fingerprint,)] = self._connection.execute(self._fingerprint_query).fetchall()
        return str(fingerprint)

    def reset(self, fingerprint: str) -> bool:
        """Delete all rows. False if the database is no copy of the template any more, which has that fingerprint."""
        try:
            if self.read_fingerprint() != fingerprint:
                return False
            cursor = self._connection.execute(self._reset)
        except psycopg.Error:
            return False
        deleted = 0
        while cursor.nextset():
            deleted += cursor.rowcount
        return deleted <= MAX_DELETED_ROWS

    def has_clients(self) -> bool:
        [(count,)] = self._connection.execute(COUNT_CLIENTS).fetchall()
        return bool(count)

    def close(self) -> None:
        self._connection.close()


def write_fingerprint_query(tables: Sequence[tuple[str, str]]) -> sql.Composed:
    kept = [sql.Identifier(*table) for table in tables if table[1] in VERSION_TABLES]
    lines = [
        *(sql.SQL(CATALOG_LINES).format(sql.Identifier(table)) for table in CATALOGS),
        *(sql.SQL("SELECT version::text FROM {} AS version").format(table) for table in kept),
        sql.SQL(ATTRIBUTE_LINES),
        sql.SQL(NAMESPACE_LINES),
    ]
    return sql.SQL(READ_FINGERPRINT).format(lines=sql.SQL(" UNION ALL ").join(lines))


def write_reset(tables: Sequence[tuple[str, str]]) -> sql.Composed:
    """Statements for one round trip. The first is no deletion."""
    emptied = [sql.Identifier(*table) for table in tables if table[1] not in VERSION_TABLES]
    deletions = [sql.SQL("DELETE FROM {}").format(table) for table in emptied]
    return sql.SQL("; ").join([sql.SQL(RESET_SEQUENCES), *deletions])


async def has_no_clients(copy: TemplateCopy) -> bool:
    """Whether all sessions end. Tasks of this event loop may still have to close their connections."""
    try:
        async with asyncio.timeout(DISCONNECT_TIMEOUT_S):
            while copy.has_clients():  # noqa: ASYNC110
                await asyncio.sleep(0.002)  # a session that ends sets no event
    except (TimeoutError, psycopg.Error):
        return False
    return True


class TemplateCopies:
    """The databases that this process has claimed. An advisory lock of its connection keeps others from them."""

    def __init__(self) -> None:
        self._admin = psycopg.connect(POSTGRES, autocommit=True)
        self._version = hash_sources()
        self._template = f"rightseat_template_{self._version}"
        self._numbers: set[int] = set()
        self._free: list[TemplateCopy] = []
        self._discarded: list[str] = []
        with self._locked():
            drop_leftovers(self._admin, self._version)
            if not self._exists(self._template):
                self._make_template()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._admin.execute("SELECT pg_advisory_lock(%s)", [TEMPLATE_LOCK])
        try:
            yield
        finally:
            self._admin.execute("SELECT pg_advisory_unlock(%s)", [TEMPLATE_LOCK])

    def _exists(self, name: str) -> bool:
        return bool(self._admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone())

    def _make_template(self) -> None:
        """Under another name, so that a process that is killed leaves no half of a template."""
        name = f"rightseat_test_{self._version}_template"
        execute(self._admin, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
        execute(self._admin, "CREATE DATABASE {}", name)
        fill(url_of(name))
        execute(self._admin, "ALTER DATABASE {} RENAME TO {}", name, self._template)

    def take(self) -> TemplateCopy:
        return self._free.pop() if self._free else self._claim()

    def give_back(self, copy: TemplateCopy) -> None:
        self._free.append(copy)

    def reset(self, copy: TemplateCopy) -> bool:
        return copy.reset(self._read_comment(copy.name))

    def discard(self, copy: TemplateCopy) -> None:
        """Nothing can use it any more. It is dropped when the process ends, because that waits for a checkpoint."""
        copy.close()
        self._discarded.append(copy.name)
        execute(self._admin, "COMMENT ON DATABASE {} IS NULL", copy.name)
        execute(self._admin, "ALTER DATABASE {} ALLOW_CONNECTIONS false", copy.name)
        self._admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [copy.name])

    def _claim(self) -> TemplateCopy:
        number = next(number for number in itertools.count() if self._lock(number))
        name = f"rightseat_test_{self._version}_{number}"
        if self._exists(name):
            if copy := self._reuse(name):
                return copy
            execute(self._admin, "DROP DATABASE {} WITH (FORCE)", name)
        execute(self._admin, "CREATE DATABASE {} TEMPLATE {}", name, self._template)
        # Commits do not wait for the disk: nothing is lost unless the machine crashes.
        execute(self._admin, "ALTER DATABASE {} SET synchronous_commit = off", name)
        copy = TemplateCopy(name)
        self._admin.execute(
            sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(name), copy.read_fingerprint())
        )
        return copy

    def _lock(self, number: int) -> bool:
        if number in self._numbers:
            return False
        [(is_locked,)] = self._admin.execute("SELECT pg_try_advisory_lock(%s, %s)", [TEMPLATE_LOCK, number]).fetchall()
        if is_locked:
            self._numbers.add(number)
        return bool(is_locked)

    def _reuse(self, name: str) -> TemplateCopy | None:
        """An earlier run has left it, perhaps killed in the middle of a test."""
        if not self._read_comment(name):
            return None
        copy = TemplateCopy(name)
        if not copy.has_clients() and self.reset(copy):
            return copy
        copy.close()
        return None

    def _read_comment(self, name: str) -> str:
        """The fingerprint that a complete copy had at first."""
        [(comment,)] = self._admin.execute(READ_COMMENT, [name]).fetchall()
        return str(comment or "")

    def close(self) -> None:
        for copy in self._free:
            copy.close()
        for name in self._discarded:
            execute(self._admin, "DROP DATABASE {} WITH (FORCE)", name)
        self._admin.close()


@cache
def template_copies() -> TemplateCopies:
    copies = TemplateCopies()
    atexit.register(copies.close)
    return copies


def drop_leftovers(admin: "psycopg.Connection[tuple[object, ...]]", version: str) -> None:
    for (name,) in admin.execute(LIST_LEFTOVER_SCHEMAS, [MAX_LEFTOVER_AGE]).fetchall():
        execute(admin, "DROP SCHEMA IF EXISTS {} CASCADE", str(name))
    for (name,) in admin.execute(LIST_LEFTOVERS, [version, MAX_LEFTOVER_AGE]).fetchall():
        with suppress(psycopg.errors.ObjectInUse):
            execute(admin, "DROP DATABASE IF EXISTS {}", str(name))


def execute(connection: "psycopg.Connection[tuple[object, ...]]", statement: str, *names: str) -> None:
    connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def url_of(name: str) -> str:
    return f"{POSTGRES.rpartition('/')[0]}/{name}"


@cache
def hash_sources() -> str:
    """What the tables depend on."""
    package = ROOT / "src" / "rightseat"
    files = [
        *Path(__file__).parent.glob("database*.py"),
        *(file for pattern in MIGRATION_SOURCES for file in sorted(package.glob(pattern))),
    ]
    sources = [file.read_bytes() for file in files]
    versions = [importlib.metadata.version("dbos"), sqlite3.sqlite_version]
    return hashlib.sha256(b"\0".join([*sources, *(version.encode() for version in versions)])).hexdigest()[:16]


@cache
def file_templates() -> Path:
    """The folder with the SQLite templates. Those of other versions are deleted."""
    folder = CACHE / hash_sources()
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / ".lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if not folder.exists():
                delete_old_folders()
                unfinished = CACHE / f".{secrets.token_hex(8)}"
                unfinished.mkdir()
                fill(str(unfinished))
                unfinished.rename(folder)
    return folder


def delete_old_folders() -> None:
    """Another run, of another version, may still copy the younger ones."""
    for folder in CACHE.iterdir():
        if folder.is_dir() and time.time() - folder.stat().st_mtime > 24 * 3600:
            shutil.rmtree(folder)


def fill(place: str) -> None:
    """In a process of its own, because DBOS allows one instance per process, and this one may have an event loop."""
    subprocess.run([sys.executable, "-m", "tests.database_templates", place], cwd=ROOT, check=True)
