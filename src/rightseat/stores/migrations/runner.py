"""Runs the migrations with Alembic."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import Connection

from rightseat.core.errors import ConfigError


def run_migrations(connection: Connection, to: str) -> None:
    """Raises `ConfigError` if another version of rightseat has written the tables."""
    try:
        command.upgrade(build_config(connection), to)
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
