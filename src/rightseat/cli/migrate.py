"""`rightseat migrate`: adds to the database what this version needs."""

import asyncio
from pathlib import Path

import click

from rightseat.app import users
from rightseat.cli import setup
from rightseat.config import Config


@click.command()
@setup.file_option
def command(path: Path | None) -> None:
    """Add the tables and columns to the database that this version needs.

    Servers of the version before may be running. A server does the same when it starts; with several servers, run this
    first, so that a failure is yours to see and not theirs.
    """
    setup.set_up_logging()
    config = setup.load(path)
    asyncio.run(migrate(config))
    click.echo(f"The tables are those of this version: {setup.describe_store(config.threads)}.")


async def migrate(config: Config) -> None:
    """Stores and logs migrate their tables when they are opened."""
    async with users.opened_store(config):
        if getattr(config.log.options, "url", None):  # a log in a file belongs to its server
            async with users.opened_log(config):
                pass
