"""`rightseat plugin add`"""

import asyncio
from pathlib import Path

import click

from rightseat.cli.plugin import place_option
from rightseat.cli.plugin.telling import tell
from rightseat.cli.plugin.writing import write
from rightseat.core.errors import ConfigError
from rightseat.egress.fetching import Fetcher, Policy
from rightseat.plugins import advice, drafts, installing, loading


@click.command("add")
@click.argument("document")
@click.option("--id", help="The plugin's id.  [default: made of the document's title]")
@click.option("--server", metavar="URL", help="Where its operations are sent, instead of what the document says.")
@place_option
@click.option("--allow", multiple=True, metavar="NETWORK", help="A private network that DOCUMENT may be fetched from.")
def command(document: str, id: str | None, server: str | None, into: Path, allow: tuple[str, ...]) -> None:
    """Make a plugin of an OpenAPI DOCUMENT.

    DOCUMENT is a file or an address. What in it will be hard for a model is told. An address is fetched through the
    guarded door: private networks only with --allow.
    """
    content = _fetch(document, allow)
    draft = drafts.of_document(content, id=id, origin=document, server=server)
    loaded = loading.load_files(Path("/") / draft.id, draft.files)
    tell(Path(draft.id), loaded)
    if loaded.plugin is None:
        raise click.ClickException("Nothing was written: the document has errors.")
    place = write(draft, into)
    for line in advice.advise(loaded.plugin):
        click.echo(f"advice: {line}")
    click.echo(f"  called: {loaded.plugin.words.name}")
    for line in installing.summarize(loaded.plugin, {}).lines():
        click.echo(f"  {line}")
    click.echo(f"Wrote {place}.")


def _fetch(document: str, allow: tuple[str, ...]) -> bytes:
    if document.startswith(("http://", "https://")):
        return asyncio.run(Fetcher(Policy(allow=allow)).get(document)).content
    try:
        return Path(document).read_bytes()
    except OSError as error:
        raise ConfigError(f"{document} cannot be read: {error.strerror}.") from error
