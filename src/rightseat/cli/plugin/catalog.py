"""`rightseat plugin catalog`"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from pydantic import ValidationError

from rightseat.cli.plugin.try_ import loaded
from rightseat.core.errors import ConfigError
from rightseat.plugins.definition import Plugin
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql.databases import Binding, Databases


@click.command("catalog")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("database", required=False)
@click.option("--url", envvar="RIGHTSEAT_DATABASE_URL", help="The database, as its binding names it.")
@click.option("--schema", default="public", show_default=True, help="PostgreSQL: the schema whose tables are read.")
def command(folder: Path, database: str | None, url: str | None, schema: str) -> None:
    """Draft the catalog of DATABASE, for the plugin in DIR.

    What it writes to stdout lists all that can be read there. Nothing of it is used before you have cut it, and bound
    the file: `databases: {PLUGIN: {DATABASE: {url: …, catalog: FILE}}}`. An address with a password is better in the
    variable RIGHTSEAT_DATABASE_URL than in --url, which other users of the machine can see.
    """
    plugin = loaded(folder, allow_lib=False)
    click.echo(asyncio.run(drafted(plugin, name_of(plugin, database), url, schema)), nl=False)


def name_of(plugin: Plugin, database: str | None) -> str:
    """The one that is named, or the only one that the plugin has. Raises `ConfigError`."""
    known = ", ".join(plugin.databases) or "none"
    if database is None and len(plugin.databases) != 1:
        raise ConfigError(f"Say which database of {plugin.id} is meant. It has: {known}.")
    name = database or next(iter(plugin.databases))
    if name not in plugin.databases:
        raise ConfigError(f"The plugin {plugin.id} has no database {name!r}. It has: {known}.")
    return name


async def drafted(plugin: Plugin, name: str, url: str | None, schema: str) -> str:
    """Raises `ConfigError`."""
    try:
        binding = Binding.model_validate({"url": url, "schema": schema})
    except ValidationError as error:
        raise ConfigError(f"--url: {error.errors()[0]['msg']}") from None
    with TemporaryDirectory() as state:
        async with Databases(Path(state), {plugin.id: {name: binding}} if url else {}) as databases:
            try:
                return await databases.draft(plugin, name)
            except StepFailed as error:
                raise ConfigError(error.message) from None
