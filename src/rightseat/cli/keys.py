"""`rightseat keys`"""

from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from rightseat.access import keys
from rightseat.config import ApiKey, adding
from rightseat.core.errors import ConfigError


@click.group()
def command() -> None:
    """Make API keys."""


@command.command()
@click.argument("name")
@click.option("--scope", "scopes", metavar="FACE:AGENT", multiple=True, help="What it may use.  [default: everything]")
@click.option("--user", help="Whose threads it opens.  [default: a user of its own]")
@click.option("--file", type=click.Path(path_type=Path), help="A configuration that the key is added to.")
def new(name: str, scopes: tuple[str, ...], user: str | None, file: Path | None) -> None:
    """Make a key called NAME, and show it this once.

    The configuration keeps its hash, from which nobody can make the key.
    """
    key = keys.new()
    entry = describe(key, name, scopes, user)
    if file is not None:
        write(file, entry)
    click.echo(key)
    click.echo("\nThis is the key. It is shown this once: keep it where secrets are kept.")
    if file is not None:
        click.echo(f"{file} knows its hash now.")
    else:
        click.echo("The configuration knows it by these lines:\n")
        click.echo(adding.block(entry), nl=False)


def describe(key: str, name: str, scopes: tuple[str, ...], user: str | None) -> dict[str, Any]:
    """What the configuration says of it; what is left out there is left out here."""
    asked: dict[str, Any] = {"name": name, "prefix": keys.prefix_of(key), "hash": keys.digest(key)}
    asked |= {"user": user} if user is not None else {}
    asked |= {"scopes": list(scopes)} if scopes else {}
    try:
        ApiKey.model_validate(asked)
    except ValidationError as error:
        detail = error.errors()[0]
        raise ConfigError(f"{detail['loc'][0]}: {detail['msg']}") from None
    return asked


def write(file: Path, entry: dict[str, Any]) -> None:
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        file.write_text(adding.add_key(text, entry), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}.") from error
    except adding.NameTaken:
        raise ConfigError(f"{file} has a key called {entry['name']!r} already. Take another name.") from None
    except adding.NoRoom:
        raise ConfigError(
            f"{file} has no block list under access.keys that a key can be added to. Leave --file out, and paste."
        ) from None
