"""`rightseat flow draw`"""

from pathlib import Path

import click

from rightseat.core.errors import ConfigError
from rightseat.plugins import drawing
from rightseat.plugins.definition import Flow, Plugin
from rightseat.plugins.loading import load


@click.command("draw")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("flow", required=False)
def command(folder: Path, flow: str | None) -> None:
    """Draw the flows of the plugin in DIR, or FLOW alone.

    Writes Mermaid to stdout, which GitHub and most documentation tools render. Nothing of the plugin is run.
    """
    plugin = loaded(folder)
    schemes = [drawing.scheme(plugin, one) for one in chosen(plugin, flow)]
    click.echo(drawing.mermaid(schemes), nl=False)


def loaded(folder: Path) -> Plugin:
    try:
        found = load(folder)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be read: {error.strerror}.") from error
    if found.plugin is None:
        raise ConfigError(f"The plugin has errors: {found.errors[0]}")
    return found.plugin


def chosen(plugin: Plugin, name: str | None) -> list[Flow]:
    known = ", ".join(plugin.flows) or "none"
    if name is None and not plugin.flows:
        raise ConfigError("The plugin has no flows.")
    if name is None:
        return list(plugin.flows.values())
    found = plugin.flow(name)
    if found is None:
        raise ConfigError(f"There is no flow {name!r}. There are: {known}.")
    return [found]
