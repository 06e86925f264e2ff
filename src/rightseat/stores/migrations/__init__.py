"""Applies the migrations of the store's tables with Alembic, whenever the store is opened."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import Connection

from rightseat.core.errors import ConfigError

VERSION_TABLE = "rightseat_version"
"""The table that holds the schema version; Alembic's default name may be taken by the application's own migrations."""


def upgrade(connection: Connection) -> None:
    """Raises `ConfigError` if another version of rightseat has written the tables."""
    try:
        command.upgrade(build_config(connection), "head")
    except CommandError as error:
        place = connection.engine.url.render_as_string(hide_password=True)
        raise ConfigError(
            f"The tables in {place} were made by another version of rightseat: {error} "
            "Use the newer version, or an empty database."
        ) from error


def build_config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    return config
