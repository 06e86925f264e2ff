"""How the tables came to be, step by step, and how an older database gets there. Run when the store is opened."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

VERSIONS = "rightseat_version"
"""The table that says how far a database is; Alembic's own name for it may be taken by the application's."""


def upgrade(connection: Connection) -> None:
    command.upgrade(config(connection), "head")


def config(connection: Connection) -> Config:
    found = Config()
    found.set_main_option("script_location", str(Path(__file__).parent))
    found.attributes["connection"] = connection
    return found
