"""Applies the migrations of the store's tables with Alembic, whenever the store is opened.

A migration only adds: tables, indexes, and columns that may be NULL. Servers of the version before go on with the new
tables until they are replaced. What they no longer need is dropped by a later version.

Alembic is a large import, so a server whose tables have the newest version does not load it.
"""

import logging
from importlib import import_module
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select

from rightseat.core.errors import ConfigError

logger = logging.getLogger(__name__)

VERSION_TABLE = "rightseat_version"
"""The table that holds the schema version; Alembic's default name may be taken by the application's own migrations."""

VERSIONS = Table(VERSION_TABLE, MetaData(), Column("version_num", String))


def upgrade(connection: Connection) -> None:
    """Raises `ConfigError` if another version of rightseat has written the tables."""
    if read_version(connection) != find_newest():
        migrate(connection, "head")


def upgrade_once(connection: Connection) -> bool:
    """Create all tables, or apply the next migration to existing ones. Returns whether there are more.

    A transaction that changes one table waits for transactions of running servers. One that changes several may wait
    for each other's locks: a deadlock.
    """
    before, newest = read_version(connection), find_newest()
    if before == newest:
        return False
    migrate(connection, "+1" if before else "head")
    return read_version(connection) != newest


def migrate(connection: Connection, to: str) -> None:
    before = read_version(connection)
    if before is not None and before not in list_versions():
        place = connection.engine.url.render_as_string(hide_password=True)
        raise ConfigError(
            f"The tables in {place} were made by another version of rightseat: this one does not know their version "
            f"{before[:40]!r}. Use the newer version, or an empty database."
        )
    import_module("rightseat.stores.migrations.runner").run_migrations(connection, to)
    if before is not None and before != (after := read_version(connection)):
        logger.info("migrated the tables of threads from version %s to %s", before, after)


def read_version(connection: Connection) -> str | None:
    """None for a database without tables of rightseat."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(select(VERSIONS.c.version_num)).scalar()


def find_newest() -> str:
    return max(list_versions())


def list_versions() -> set[str]:
    """Files of migrations begin with their version."""
    return {file.name.partition("_")[0] for file in (Path(__file__).parent / "versions").glob("[0-9]*.py")}
