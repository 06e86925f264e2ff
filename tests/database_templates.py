"""`python -m tests.database_templates PLACE` makes the tables of the store, the log and the engine, without rows.

PLACE is the URL of an empty PostgreSQL database, or a folder, for SQLite files. This is a program of its own because
DBOS allows one instance per process, and because importing it takes longer than most tests.
"""

import asyncio
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from rightseat.engines.dbos.system import DbosSystem
from rightseat.logs.postgres.backend import PostgresBackend
from rightseat.logs.sqlite.log import SqliteLog
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads
from tests.databases import VERSION_TABLES, TemplateCopy


async def fill_database(url: str) -> None:
    log = PostgresBackend(url, retention_seconds=0)
    await log.open()
    await log.close()
    async with SqlThreads(connect(url)):
        pass
    await create_engine_tables(DbosSystem(url))
    with closing(TemplateCopy(url.rpartition("/")[2])) as copy:
        copy.reset(copy.read_fingerprint())


async def fill_folder(folder: Path) -> None:
    path, steps = folder / "rightseat.db", folder / "steps.db"
    async with SqliteLog(path), SqlThreads(connect(path)):
        pass
    await create_engine_tables(DbosSystem(steps))
    for file in (path, steps):
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
                if table not in VERSION_TABLES:
                    connection.execute(f"DELETE FROM {table}")  # noqa: S608
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def create_engine_tables(system: DbosSystem) -> None:
    await system.launch(perform)
    await system.shut_down()


async def perform(_: str) -> None:
    raise AssertionError("an empty database has no run")


if __name__ == "__main__":
    place = sys.argv[1]
    asyncio.run(fill_database(place) if "://" in place else fill_folder(Path(place)))
