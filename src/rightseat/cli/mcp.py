"""`rightseat mcp`"""

import asyncio
import difflib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rightseat.app import pins_of
from rightseat.cli import start
from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.core.pins import Pin, PinStore
from rightseat.parts import hint

TOOLBOX = "rightseat.toolboxes.mcp"


@click.group()
def command() -> None:
    """List MCP servers, and accept changes of their tools."""


@command.command("list")
@start.file_option
def list_(path: Path | None) -> None:
    """List the MCP servers of the configuration, with what changed since it was first seen or last accepted."""
    asyncio.run(show(start.load(path)))


@command.command()
@click.argument("server")
@click.argument("tool", required=False)
@start.file_option
@click.option("--yes", "-y", is_flag=True, help="Accept without asking.")
def accept(server: str, tool: str | None, path: Path | None, yes: bool) -> None:
    """Show what changed in TOOL of SERVER, or in all that it offers, and accept it.

    SERVER is the name of the toolbox, or of the server. Running servers offer what was accepted within seconds.
    """
    asyncio.run(decide(start.load(path), server, tool, is_sure=yes))


@dataclass(frozen=True, slots=True)
class Pinned:
    """A server of the configuration. `files` are where its pins are if the store does not share them."""

    toolbox: str
    name: str
    key: str
    files: PinStore


def servers(config: Config) -> list[Pinned]:
    found: list[Pinned] = []
    for toolbox, part in config.toolboxes.items():
        if part.module.__name__ == TOOLBOX:
            options: Any = part.options
            found += [
                Pinned(toolbox, settings.name, settings.pin_key, part.module.FilePins(options.pins))
                for settings in part.module.all_settings(options)
            ]
    return found


@asynccontextmanager
async def opened(config: Config, server: Pinned) -> AsyncIterator[PinStore]:
    threads: Any = config.threads.module.build(config.threads.options)
    shared = pins_of(threads)
    async with threads if shared is not None else nullcontext():
        yield shared or server.files


async def show(config: Config) -> None:
    for server in servers(config):
        async with opened(config, server) as store:
            pins = await store.read(server.key)
        named = server.toolbox if server.toolbox == server.name else f"{server.toolbox} ({server.name})"
        changed = ", ".join(changes(pins)) or "nothing"
        click.echo(f"{named}: {len(pins)} pinned, {changed} to accept")
    if not servers(config):
        click.echo("The configuration has no MCP server.", err=True)


def changes(pins: Mapping[str, Pin]) -> dict[str, Pin]:
    return {name: pin for name, pin in sorted(pins.items()) if pin.seen is not None}


async def decide(config: Config, name: str, tool: str | None, *, is_sure: bool) -> None:
    known = servers(config)
    meant = [one for one in known if name in (one.toolbox, one.name)]
    if not meant:
        names = [one.toolbox for one in known]
        listed = ", ".join(dict.fromkeys(names)) or "none"
        raise ConfigError(f"No MCP server is named {name!r}.{hint(name, names)} Configured: {listed}.")
    found = 0
    for server in meant:
        async with opened(config, server) as store:
            changed = changes(await store.read(server.key))
            wanted = {one: pin for one, pin in changed.items() if tool in (None, one, one.strip("()"))}
            found += len(wanted)
            for one, pin in wanted.items():
                await accept_change(store, server, one, pin, is_sure=is_sure)
    if not found and tool is not None:
        raise ConfigError(
            f"{tool!r} of the MCP server {name!r} has no change to accept: `rightseat mcp list` lists them."
        )
    if not found:
        click.echo(f"The MCP server {name!r} has no change to accept.")


async def accept_change(store: PinStore, server: Pinned, name: str, pin: Pin, *, is_sure: bool) -> None:
    click.echo(f"{name} of the MCP server {server.name}:")
    for line in difference(pin):
        click.echo(line)
    if not is_sure and not click.confirm("Accept this change?"):
        click.echo("Not accepted.")
    elif await store.accept(server.key, name, pin.seen or ""):
        click.echo("Accepted.")
    else:
        raise ConfigError(f"{name} changed once more meanwhile. Nothing was accepted: look at it again.")


def difference(pin: Pin) -> list[str]:
    before, after = lines(pin.definition), lines(pin.seen or "{}")
    return list(difflib.unified_diff(before, after, "accepted", "now", n=100, lineterm=""))


def lines(definition: str) -> list[str]:
    """As JSON, a field a line. Nothing in it can move the cursor, hide text or turn it around."""
    written = json.dumps(json.loads(definition), indent=2, sort_keys=True, ensure_ascii=False).splitlines()
    return ["".join(one if one.isprintable() else ascii(one)[1:-1] for one in line) for line in written]
