"""`rightseat plugin import-openapi`: creates a plugin from an OpenAPI document."""

import asyncio
from pathlib import Path

import click

from rightseat.cli.plugin import into_option
from rightseat.cli.plugin.files import write
from rightseat.cli.plugin.report import print_diagnostics
from rightseat.cli.progress import show_progress
from rightseat.core.errors import ConfigError
from rightseat.egress.fetch import AddressPolicy, Fetcher
from rightseat.plugins import loading
from rightseat.plugins.packaging import advice, install, scaffold


@click.command("import-openapi")
@click.argument("document")
@click.option("--id", help="The plugin's id.  [default: derived from the document's title]")
@click.option("--server", metavar="URL", help="The server of its operations, instead of the document's.")
@into_option
@click.option("--allow", multiple=True, metavar="NETWORK", help="Allow fetching DOCUMENT from this private network.")
def command(document: str, id: str | None, server: str | None, into: Path, allow: tuple[str, ...]) -> None:
    """Create a plugin from an OpenAPI DOCUMENT.

    DOCUMENT is a file or a URL. Prints advice about anything that will be hard for a model. URLs in private networks
    need --allow.
    """
    if id is not None:
        scaffold.check_id(id)
    with show_progress(f"Reading {document}"):
        content = _fetch(document, allow)
    draft = scaffold.create_from_openapi(content, id=id, origin=document, server=server)
    loaded = loading.load_files(Path("/") / draft.id, draft.files)
    print_diagnostics(Path(draft.id), loaded)
    if loaded.plugin is None:
        raise click.ClickException("Nothing was written: the document has errors.")
    place = write(draft, into)
    for line in advice.advise(loaded.plugin):
        click.echo(f"advice: {line}")
    click.echo(f"  name: {loaded.plugin.texts.name}")
    for line in install.summarize(loaded.plugin, {}).lines():
        click.echo(f"  {line}")
    click.echo(f"Wrote {place}.")


def _fetch(document: str, allow: tuple[str, ...]) -> bytes:
    if document.startswith(("http://", "https://")):
        return asyncio.run(Fetcher(AddressPolicy(allow=allow)).get(document)).content
    try:
        return Path(document).read_bytes()
    except OSError as error:
        raise ConfigError(f"{document} cannot be read: {error.strerror}.") from error
