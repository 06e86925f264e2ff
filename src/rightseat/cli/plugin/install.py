"""`rightseat plugin install`"""

from pathlib import Path

import click

from rightseat.cli.plugin import place_option
from rightseat.cli.plugin.telling import tell
from rightseat.egress.secrets import Secrets
from rightseat.plugins import installing, packages
from rightseat.plugins.loading import Limits


@click.command("install")
@click.argument("package", type=click.Path(path_type=Path))
@place_option
@click.option("--secrets", type=click.Path(path_type=Path), help="A file that secrets of plugin.json are moved to.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(package: Path, into: Path, secrets: Path | None, yes: bool) -> None:
    """Install PACKAGE: a folder, a .zip or a .tar.gz.

    Says first what the plugin would be allowed, and asks.
    """
    prospect = installing.look(packages.read(package, Limits()))
    tell(package, prospect.loaded)
    for line in prospect.summary.lines():
        click.echo(f"  {line}")
    if prospect.loaded.plugin is not None and prospect.summary.moved and secrets is None:
        names = ", ".join(prospect.summary.moved)
        raise click.ClickException(f"plugin.json has secrets in it ({names}): say --secrets FILE, where they are kept.")
    if prospect.loaded.plugin is not None and not yes:
        click.confirm("Install it?", abort=True)
    if prospect.loaded.plugin is not None and secrets is not None:
        store = Secrets(file=secrets)
        for name, value in prospect.summary.moved.items():
            store.keep(name, value, prospect.summary.hosts)
    place = installing.install(prospect, into)
    click.echo(f"Installed {place}.")
