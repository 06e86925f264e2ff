"""Stores pins in files, one per MCP server, for deployments without PostgreSQL."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from rightseat.core.errors import ConfigError
from rightseat.operations.pins import Pin
from rightseat.parts import private_folder

Pinned = dict[str, Pin]


class FilePins:
    """Raises `ConfigError` or `OSError` if a file cannot be read or written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def read(self, server: str) -> Mapping[str, Pin]:
        return await asyncio.to_thread(read, self._file(server))

    async def add(self, server: str, definitions: Mapping[str, str]) -> None:
        new = {name: Pin(definition) for name, definition in definitions.items()}
        await self._change(server, lambda pinned: new | pinned)

    async def see(self, server: str, seen: Mapping[str, str | None]) -> None:
        def change(pinned: Pinned) -> Pinned:
            return pinned | {name: Pin(pinned[name].definition, one) for name, one in seen.items() if name in pinned}

        await self._change(server, change)

    async def accept(self, server: str, name: str, seen: str) -> bool:
        pinned = await self.read(server)
        if name not in pinned or pinned[name].seen != seen:
            return False
        await self._change(server, lambda pinned: pinned | {name: Pin(seen)})
        return True

    def _file(self, server: str) -> Path:
        return self._folder / f"{server}.json"

    async def _change(self, server: str, change: Callable[[Pinned], Pinned]) -> None:
        def work() -> None:
            private_folder(self._folder)
            file = self._file(server)
            write(file, change(read(file)))

        await asyncio.to_thread(work)


def read(file: Path) -> Pinned:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Pinned)
    except FileNotFoundError:
        return {}
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{file} is not a valid pin file: {error}. Delete it to pin the tools again.") from error


def write(file: Path, pins: Pinned) -> None:
    """Write atomically: another process may read the file."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.stem)
    with os.fdopen(handle, "wb") as open_file:
        open_file.write(msgspec.json.format(msgspec.json.encode(pins)))
    Path(name).replace(file)
