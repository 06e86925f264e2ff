"""`rightseat plugin catalog`: drafts the catalog of a database from its schema."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from pydantic import ValidationError

from rightseat.cli.plugin.run import load_plugin
from rightseat.core.errors import ConfigError
from rightseat.plugins.definition import Plugin
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql.databases import Binding, Databases


@click.command("catalog")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("database", required=False)
@click.option("--url", envvar="RIGHTSEAT_DATABASE_URL", help="The URL of the database, as in its binding.")
@click.option("--schema", default="public", show_default=True, help="The PostgreSQL schema to read.")
def command(folder: Path, database: str | None, url: str | None, schema: str) -> None:
    """Draft the catalog of DATABASE for the plugin in DIR.

    Writes all readable tables and columns to stdout. Flows use the catalog only after you have edited it and bound the
    file: `databases: {PLUGIN: {DATABASE: {url: …, catalog: FILE}}}`. Put a URL with a password into the variable
    RIGHTSEAT_DATABASE_URL rather than --url, which other users of the machine can see.
    """
    plugin = load_plugin(folder, allow_lib=False)
    click.echo(asyncio.run(draft_catalog(plugin, choose_database(plugin, database), url, schema)), nl=False)


def choose_database(plugin: Plugin, database: str | None) -> str:
    """The named database, or the only one of the plugin. Raises `ConfigError`."""
    known = ", ".join(plugin.databases) or "none"
    if database is None and len(plugin.databases) != 1:
        raise ConfigError(f"Name one of the databases of the plugin {plugin.id}: {known}.")
    name = database or next(iter(plugin.databases))
    if name not in plugin.databases:
        raise ConfigError(f"The plugin {plugin.id} has no database {name!r}. Its databases: {known}.")
    return name


async def draft_catalog(plugin: Plugin, name: str, url: str | None, schema: str) -> str:
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
