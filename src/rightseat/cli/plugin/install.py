"""`rightseat plugin install`: installs a plugin from a folder or an archive."""

from pathlib import Path

import click

from rightseat.cli.plugin import into_option
from rightseat.cli.plugin.report import print_diagnostics
from rightseat.cli.progress import show_progress
from rightseat.core.errors import ConfigError
from rightseat.egress.secrets import Secrets
from rightseat.plugins import loading
from rightseat.plugins.loading import PluginLimits
from rightseat.plugins.packaging import archive, install

DOCUMENT_SUFFIXES = (".yaml", ".yml", ".json")


@click.command("install")
@click.argument("package", type=click.Path(path_type=Path))
@into_option
@click.option("--secrets", type=click.Path(path_type=Path), help="Move secrets in plugin.json to this file.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def command(package: Path, into: Path, secrets: Path | None, yes: bool) -> None:
    """Install PACKAGE: a folder, a .zip or a .tar.gz.

    Lists the permissions of the plugin and asks for confirmation.
    """
    if package.suffix in DOCUMENT_SUFFIXES and package.is_file():
        raise ConfigError(
            f"{package} is not a plugin. If it is an OpenAPI document, use `rightseat plugin import-openapi {package}`."
        )
    with show_progress("Reading the plugin"):
        prospect = install.plan_install(archive.read(package, PluginLimits()))
    print_diagnostics(package, prospect.loaded)
    for line in prospect.summary.lines():
        click.echo(f"  {line}")
    if prospect.loaded.plugin is not None and prospect.summary.moved and secrets is None:
        names = ", ".join(prospect.summary.moved)
        raise click.ClickException(f"plugin.json contains secrets ({names}). Move them to a file with --secrets FILE.")
    if prospect.loaded.plugin is not None and not yes:
        click.confirm("Install this plugin?", abort=True)
    if prospect.loaded.plugin is not None and secrets is not None:
        store = Secrets(file=secrets)
        for name, value in prospect.summary.moved.items():
            store.store(name, value, prospect.summary.hosts)
    replaced = installed_version(into / prospect.package.id)
    place = install.install(prospect, into)
    if replaced is None:
        click.echo(f"Installed {place}.")
    else:
        version = prospect.loaded.plugin.identity.version if prospect.loaded.plugin else ""
        click.echo(f"Installed {place}: version {version} replaces the installed version {replaced}.")


def installed_version(place: Path) -> str | None:
    """The version of the plugin that is installed there, `unknown` if it cannot be read; None if there is none."""
    if not place.exists():
        return None
    plugin = loading.load(place).plugin
    return plugin.identity.version if plugin else "unknown"
