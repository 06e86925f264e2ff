"""`rightseat flow draw`: prints the flows of a plugin as Mermaid diagrams."""

from pathlib import Path

import click

from rightseat.core.errors import ConfigError
from rightseat.plugins import diagrams
from rightseat.plugins.definition import Flow, Plugin
from rightseat.plugins.loading import load


@click.command("draw")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("flow", required=False)
def command(folder: Path, flow: str | None) -> None:
    """Draw the flows of the plugin in DIR, or only FLOW.

    Writes Mermaid to stdout, which GitHub and most documentation tools render. No code of the plugin is run.
    """
    plugin = load_plugin(folder)
    graphs = [diagrams.build_graph(plugin, one) for one in select_flows(plugin, flow)]
    click.echo(diagrams.render_mermaid(graphs), nl=False)


def load_plugin(folder: Path) -> Plugin:
    try:
        found = load(folder)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be read: {error.strerror}.") from error
    if found.plugin is None:
        raise ConfigError(f"The plugin has errors: {found.errors[0]}")
    return found.plugin


def select_flows(plugin: Plugin, name: str | None) -> list[Flow]:
    known = ", ".join(plugin.flows) or "none"
    if name is None and not plugin.flows:
        raise ConfigError("The plugin has no flows.")
    if name is None:
        return list(plugin.flows.values())
    found = plugin.flow(name)
    if found is None:
        raise ConfigError(f"The plugin has no flow {name!r}. Its flows: {known}.")
    return [found]
