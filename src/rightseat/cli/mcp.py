"""`rightseat mcp`: lists MCP servers and accepts changes to their tools."""

import asyncio
import difflib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rightseat.cli import setup
from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.operations.pins import Pin, PinStore
from rightseat.operations.store import store_of
from rightseat.parts import hint

TOOLBOX = "rightseat.toolboxes.mcp"


@click.group()
def command() -> None:
    """List MCP servers and accept changes to their tools."""


@command.command("list")
@setup.file_option
def list_(path: Path | None) -> None:
    """List the MCP servers of the configuration, with changes since they were first seen or last accepted."""
    asyncio.run(print_servers(setup.load(path)))


@command.command()
@click.argument("server")
@click.argument("tool", required=False)
@setup.file_option
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
def accept(server: str, tool: str | None, path: Path | None, yes: bool) -> None:
    """Show the changes of TOOL of SERVER, or of all its tools, and accept them.

    SERVER is the name of the toolbox or of the server. Running processes offer accepted tools within seconds.
    """
    asyncio.run(accept_changes(setup.load(path), server, tool, is_confirmed=yes))


@dataclass(frozen=True, slots=True)
class PinnedServer:
    """A server of the configuration. `files` holds its pins if the store does not share them."""

    toolbox: str
    name: str
    key: str
    files: PinStore


def list_servers(config: Config) -> list[PinnedServer]:
    found: list[PinnedServer] = []
    for toolbox, part in config.toolboxes.items():
        if part.module.__name__ == TOOLBOX:
            options: Any = part.options
            found += [
                PinnedServer(toolbox, server.name, server.pin_key, part.module.FilePins(options.pin_dir))
                for server in part.module.list_servers(options)
            ]
    return found


@asynccontextmanager
async def opened(config: Config, server: PinnedServer) -> AsyncIterator[PinStore]:
    threads: Any = config.threads.module.build(config.threads.options)
    shared = store_of(threads).pins
    async with threads if shared is not None else nullcontext():
        yield shared or server.files


async def print_servers(config: Config) -> None:
    for server in list_servers(config):
        async with opened(config, server) as store:
            pins = await store.read(server.key)
        named = server.toolbox if server.toolbox == server.name else f"{server.toolbox} ({server.name})"
        changed = ", ".join(find_changes(pins)) or "nothing"
        click.echo(f"{named}: {len(pins)} pinned, {changed} to accept")
    if not list_servers(config):
        click.echo("The configuration has no MCP server.", err=True)


def find_changes(pins: Mapping[str, Pin]) -> dict[str, Pin]:
    return {name: pin for name, pin in sorted(pins.items()) if pin.seen is not None}


async def accept_changes(config: Config, name: str, tool: str | None, *, is_confirmed: bool) -> None:
    configured = list_servers(config)
    selected = [one for one in configured if name in (one.toolbox, one.name)]
    if not selected:
        names = [one.toolbox for one in configured]
        listed = ", ".join(dict.fromkeys(names)) or "none"
        raise ConfigError(f"No MCP server is named {name!r}.{hint(name, names)} Configured: {listed}.")
    found = 0
    for server in selected:
        async with opened(config, server) as store:
            changed = find_changes(await store.read(server.key))
            wanted = {one: pin for one, pin in changed.items() if tool in (None, one, one.strip("()"))}
            found += len(wanted)
            for one, pin in wanted.items():
                await accept_change(store, server, one, pin, is_confirmed=is_confirmed)
    if not found and tool is not None:
        raise ConfigError(
            f"{tool!r} of the MCP server {name!r} has no change to accept: `rightseat mcp list` lists them."
        )
    if not found:
        click.echo(f"The MCP server {name!r} has no change to accept.")


async def accept_change(store: PinStore, server: PinnedServer, name: str, pin: Pin, *, is_confirmed: bool) -> None:
    click.echo(f"{name} of the MCP server {server.name}:")
    for line in write_diff(pin):
        click.echo(line)
    if not is_confirmed and not click.confirm("Accept this change?"):
        click.echo("Not accepted.")
    elif await store.accept(server.key, name, pin.seen or ""):
        click.echo("Accepted.")
    else:
        raise ConfigError(f"{name} changed again meanwhile. Nothing was accepted. Run the command again.")


def write_diff(pin: Pin) -> list[str]:
    before, after = write_lines(pin.definition), write_lines(pin.seen or "{}")
    return list(difflib.unified_diff(before, after, "accepted", "now", n=100, lineterm=""))


def write_lines(definition: str) -> list[str]:
    """JSON with one field per line, with control and bidirectional characters escaped."""
    written = json.dumps(json.loads(definition), indent=2, sort_keys=True, ensure_ascii=False).splitlines()
    return ["".join(one if one.isprintable() else ascii(one)[1:-1] for one in line) for line in written]
