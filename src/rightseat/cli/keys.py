"""`rightseat keys`: creates, lists, revokes, restores and rotates API keys."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic import ValidationError

from rightseat.access import keys
from rightseat.access.key_list import KeyLine, list_keys
from rightseat.access.stored_keys import format_time as store_time
from rightseat.app import users
from rightseat.cli import setup
from rightseat.cli.duration import Duration
from rightseat.cli.table import format_time, print_rows
from rightseat.config import FILE, ApiKey, Config, append
from rightseat.core.errors import ConfigError
from rightseat.operations.api_keys import ApiKeyExists, ApiKeyNotChangeable, ApiKeyStore, KeySecret, StoredKey
from rightseat.operations.audit import AuditLine, format_audit_time

T = TypeVar("T")

HEADINGS = ("NAME", "BEGINS WITH", "USER", "SCOPES", "STATE", "EXPIRES (UTC)", "LAST USED (UTC)", "IN")
NOTE = "\nThis is the key. It is not shown again: store it with your secrets."
SOON = "Running servers accept it within 5 seconds."


@click.group()
def command() -> None:
    """Create, list, revoke, restore and rotate API keys.

    Keys are in the configuration file, or in the store of the configuration. Those in the store can be created,
    revoked and rotated while servers run.
    """


@command.command()
@click.argument("name")
@setup.file_option
@click.option("--scope", "scopes", metavar="FACE:AGENT", multiple=True, help="Limit its access.  [default: everything]")
@click.option("--user", help="The user whose threads it opens.  [default: a user of its own]")
@click.option("--file", type=click.Path(path_type=Path), help="Add the key to this configuration file.")
@click.option("--store", "in_store", is_flag=True, help="Add the key to the store; the default with access.required.")
@click.option("--expires", type=Duration(), help="How long it is valid, such as 90d; in the store only.")
def new(
    name: str,
    path: Path | None,
    scopes: tuple[str, ...],
    user: str | None,
    file: Path | None,
    in_store: bool,
    expires: timedelta | None,
) -> None:
    """Create a key called NAME and print it once.

    The store and the configuration only have its hash.
    """
    if in_store and file is not None:
        raise click.UsageError("Use either --store or --file.")
    key = keys.generate()
    entry = describe(key, name, scopes, user)
    config = setup.load(path) if in_store else None if file is not None else find_config(path)
    if config is not None and (in_store or config.access.required):
        add_to_store(config, key, entry, expires)
        return
    if expires is not None:
        raise click.UsageError("Only keys in the store expire: add --store.")
    if file is not None:
        write(file, entry)
    click.echo(key)
    click.echo(NOTE)
    if file is not None:
        click.echo(f"Added its hash to {file}.")
    else:
        click.echo("Add these lines to the configuration:\n")
        click.echo(append.format_section(entry), nl=False)


def find_config(path: Path | None) -> Config | None:
    """None without a valid configuration: one that lacks nothing but this key is invalid too."""
    if not (path or Path(FILE)).exists():
        return None
    with suppress(ConfigError):
        return setup.load(path)
    return None


def add_to_store(config: Config, key: str, entry: dict[str, Any], expires: timedelta | None) -> None:
    name = entry["name"]
    if name in names_in_file(config):
        raise ApiKeyExists(name)
    user, scopes = entry.get("user", f"key:{name}"), tuple(entry.get("scopes", ("*",)))
    stored = StoredKey(name, user, scopes, (make_secret(key),), time_in(timedelta()), time_in(expires))
    run_in_store(config, lambda store: store.add(stored), f"created the key {name}")
    click.echo(key)
    click.echo(NOTE)
    until = "" if stored.expires_at is None else f" It expires at {format_time(stored.expires_at)} UTC."
    click.echo(f"Added its hash to {setup.describe_store(config.threads)}.{until}")
    if config.access.is_set:
        click.echo(SOON)
    else:
        place = config.path or FILE
        click.echo(f"The server does not require keys yet: add `access: {{required: true}}` to {place} and restart it.")


@command.command("list")
@setup.file_option
@click.option("--json", "as_json", is_flag=True, help="Print each key as one JSON object per line.")
def list_(path: Path | None, as_json: bool) -> None:
    """List the keys of the store and of the configuration file, without their secrets."""
    config = setup.load(path)
    stored = [] if config.threads.type == "memory" else run_in_store(config, load)
    found = list_keys(config.access.keys, stored)
    print_rows(found, HEADINGS, list_cells, as_json, "There are no keys. `rightseat keys new NAME` makes one.")


@command.command()
@click.argument("name")
@setup.file_option
@click.option(
    "--now/--finish",
    "cancels_runs",
    default=None,
    help="Cancel the runs that were started with it, or let them finish.  [default: access.revoked_runs]",
)
def revoke(name: str, path: Path | None, cancels_runs: bool | None) -> None:
    """Refuse the key called NAME, on all servers of the store and within 5 seconds.

    Sessions of the web console that were opened with it end too, and its runs are cancelled unless you use --finish or
    the configuration has `access.revoked_runs: finish`. A key of the configuration file can be revoked too.
    """
    config = setup.load(path)
    is_cancelling = config.access.revoked_runs == "cancel" if cancels_runs is None else cancels_runs
    run_in_store(
        config,
        lambda store: store.revoke(name, is_in_file=name in names_in_file(config), cancels_runs=cancels_runs),
        f"revoked the key {name}" + " and cancelled its runs" * (cancels_runs is True),
    )
    rest = " and cancel its runs within 5 seconds." if is_cancelling else " within 5 seconds. Its runs go on."
    click.echo(f"Revoked the key {name!r}. Running servers refuse it{rest}")


@command.command()
@click.argument("name")
@setup.file_option
def restore(name: str, path: Path | None) -> None:
    """Accept the revoked key called NAME again."""
    run_in_store(setup.load(path), lambda store: store.restore(name), f"restored the key {name}")
    click.echo(f"Restored the key {name!r}. {SOON}")


@command.command()
@click.argument("name")
@setup.file_option
@click.option(
    "--overlap",
    type=Duration(),
    default="24h",
    show_default=True,
    help="How long the old secret stays valid; 0 for a secret that leaked.",
)
@click.option("--expires", type=Duration(), help="How long the key is valid from now on.  [default: as before]")
def rotate(name: str, path: Path | None, overlap: timedelta, expires: timedelta | None) -> None:
    """Give the key called NAME a new secret and print it once.

    Name, user and scopes stay. The old secret is valid until the overlap ends.
    """
    config = setup.load(path)
    if name in names_in_file(config):
        raise ApiKeyNotChangeable(f"The key {name!r} is in the configuration file. Create another one to replace it.")
    key = keys.generate()
    run_in_store(
        config, lambda store: store.rotate(name, make_secret(key), overlap, time_in(expires)), f"rotated the key {name}"
    )
    click.echo(key)
    click.echo(NOTE)
    if overlap:
        click.echo(f"{SOON} The old secret is valid until {format_time(time_in(overlap))} UTC.")
    else:
        click.echo(f"{SOON} They refuse the old secret from then on.")


def run_in_store(config: Config, work: Callable[[ApiKeyStore], Awaitable[T]], change: str | None = None) -> T:
    """Call `work` with the store of the configuration, which servers may be using. A change gets an audit line."""
    setup.set_up_logging()

    async def call() -> T:
        async with users.opened_store(config) as store:
            result = await work(store.api_keys)
            if change is not None:
                now = format_audit_time(datetime.now(UTC))
                await store.audit.append([AuditLine(now, f"command line: {change}", kind="key_change")])
            return result

    return asyncio.run(call())


async def load(store: ApiKeyStore) -> list[StoredKey]:
    return list((await store.load()).keys)


def make_secret(key: str) -> KeySecret:
    return KeySecret(keys.prefix_of(key), keys.digest(key))


def time_in(duration: timedelta | None) -> Any:
    """That long from now, as in the store; None for None."""
    return None if duration is None else store_time((datetime.now(UTC) + duration).timestamp())


def names_in_file(config: Config) -> set[str]:
    return {key.name for key in config.access.keys}


def list_cells(key: KeyLine) -> list[str]:
    prefix = f"rs_{key.prefix}_" if key.prefix else "-"
    times = [format_time(time) if time else "-" for time in (key.expires_at, key.last_used_at)]
    return [key.name, prefix, key.user, " ".join(key.scopes), key.state, *times, key.place]


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
