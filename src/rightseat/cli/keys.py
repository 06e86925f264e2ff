"""`rightseat keys`: creates API keys."""

from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from rightseat.access import keys
from rightseat.config import ApiKey, append
from rightseat.core.errors import ConfigError


@click.group()
def command() -> None:
    """Create API keys."""


@command.command()
@click.argument("name")
@click.option("--scope", "scopes", metavar="FACE:AGENT", multiple=True, help="Limit its access.  [default: everything]")
@click.option("--user", help="The user whose threads it opens.  [default: a user of its own]")
@click.option("--file", type=click.Path(path_type=Path), help="Add the key to this configuration file.")
def new(name: str, scopes: tuple[str, ...], user: str | None, file: Path | None) -> None:
    """Create a key called NAME and print it once.

    The configuration only stores its hash.
    """
    key = keys.generate()
    entry = describe(key, name, scopes, user)
    if file is not None:
        write(file, entry)
    click.echo(key)
    click.echo("\nThis is the key. It is not shown again: store it with your secrets.")
    if file is not None:
        click.echo(f"Added its hash to {file}.")
    else:
        click.echo("Add these lines to the configuration:\n")
        click.echo(append.format_section(entry), nl=False)


def describe(key: str, name: str, scopes: tuple[str, ...], user: str | None) -> dict[str, Any]:
    """The entry of the configuration, without defaults."""
    entry: dict[str, Any] = {"name": name, "prefix": keys.prefix_of(key), "hash": keys.digest(key)}
    entry |= {"user": user} if user is not None else {}
    entry |= {"scopes": list(scopes)} if scopes else {}
    try:
        ApiKey.model_validate(entry)
    except ValidationError as error:
        detail = error.errors()[0]
        raise ConfigError(f"{detail['loc'][0]}: {detail['msg']}") from None
    return entry


def write(file: Path, entry: dict[str, Any]) -> None:
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        file.write_text(append.add_key(text, entry), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}.") from error
    except append.KeyNameTaken:
        raise ConfigError(f"{file} already has a key called {entry['name']!r}. Choose another name.") from None
    except append.CannotAppend:
        raise ConfigError(
            f"{file} has no block list under access.keys to add a key to. "
            "Run the command without --file and paste the lines."
        ) from None
