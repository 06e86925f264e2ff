"""Applies the migrations of the store's tables with Alembic, whenever the store is opened.

A migration only adds: tables, indexes, and columns that may be NULL. Servers of the version before go on with the new
tables until they are replaced. What they no longer need is dropped by a later version.
"""

import logging
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection

from rightseat.core.errors import ConfigError

logger = logging.getLogger(__name__)

VERSION_TABLE = "rightseat_version"
"""The table that holds the schema version; Alembic's default name may be taken by the application's own migrations."""


def upgrade(connection: Connection, to: str = "head") -> None:
    """Raises `ConfigError` if another version of rightseat has written the tables."""
    before = read_version(connection)
    try:
        command.upgrade(build_config(connection), to)
    except CommandError as error:
        place = connection.engine.url.render_as_string(hide_password=True)
        raise ConfigError(
            f"The tables in {place} were made by another version of rightseat: {error} "
            "Use the newer version, or an empty database."
        ) from error
    if before is not None and before != (after := read_version(connection)):
        logger.info("migrated the tables of threads from version %s to %s", before, after)


def upgrade_once(connection: Connection) -> bool:
    """Create all tables, or apply the next migration to existing ones. Returns whether there are more.

    A transaction that changes one table waits for transactions of running servers. One that changes several may wait
    for each other's locks: a deadlock.
    """
    before, last = read_version(connection), ScriptDirectory.from_config(build_config(connection)).get_current_head()
    if before != last:
        upgrade(connection, "+1" if before else "head")
    return read_version(connection) != last


def read_version(connection: Connection) -> str | None:
    """None for a database without tables of rightseat."""
    return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE}).get_current_revision()


def build_config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    return config
