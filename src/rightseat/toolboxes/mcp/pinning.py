"""What the tools of a server first looked like, so that a server cannot change them behind the operator's back.

A tool that was harmless when the operator looked at it may say something else to the model tomorrow, and so may the
server's instructions. The file of a server holds a hash of each of its tools, and of those; delete the file, or a line
of it, to accept what they are now.
"""

import asyncio
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import mcp_types as types

from rightseat.core.errors import ConfigError
from rightseat.parts import private_folder
from rightseat.toolboxes.mcp.settings import Settings

logger = logging.getLogger(__name__)


INSTRUCTIONS = "(instructions)"
"""Where a server's instructions are pinned, beside the names of its tools."""


class Pins:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._told: set[tuple[str, str, str]] = set()

    async def check(self, settings: Settings, tools: Sequence[types.Tool], instructions: str) -> tuple[str, ...]:
        """The names of tools that are not what they were, and `INSTRUCTIONS`. New tools are pinned as they are; that
        there are no instructions is pinned too."""
        seen = {tool.name: hash_of(tool) for tool in tools}
        seen[INSTRUCTIONS] = hashlib.sha256(instructions.encode()).hexdigest()
        return await asyncio.to_thread(self._check, settings, seen)

    def file(self, settings: Settings) -> Path:
        return self._folder / f"{settings.name}-{settings.hash[:8]}.json"

    def _check(self, settings: Settings, seen: dict[str, str]) -> tuple[str, ...]:
        file = self.file(settings)
        try:
            pinned = read(file)
            if new := {name: hash for name, hash in seen.items() if name not in pinned}:
                private_folder(self._folder)
                write(file, pinned | new)
        except (OSError, ConfigError) as error:
            logger.warning("The tools of the MCP server %r cannot be pinned in %s: %s", settings.name, file, error)
            return tuple(seen) if settings.changed == "refuse" else ()
        changed = tuple(name for name, hash in seen.items() if pinned.get(name, hash) != hash)
        for name in changed:
            self._tell(settings, name, seen[name])
        return changed

    def _tell(self, settings: Settings, name: str, hash: str) -> None:
        if (settings.hash, name, hash) in self._told:
            return
        self._told.add((settings.hash, name, hash))
        logger.warning(
            "%s of the MCP server %r is not what it was when it was first seen%s. Look at it, and delete %s "
            "to accept it.",
            "The text of the instructions" if name == INSTRUCTIONS else f"The tool {name!r}",
            settings.name,
            ", and is not offered" if settings.changed == "refuse" else "",
            self.file(settings),
        )


def hash_of(tool: types.Tool) -> str:
    told = tool.model_dump(
        mode="json", by_alias=True, exclude_none=True, include={"name", "description", "input_schema", "annotations"}
    )
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def read(file: Path) -> dict[str, str]:
    try:
        value = json.loads(file.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ConfigError(f"{file} is no JSON. Delete it to pin the tools anew.") from error
    if not isinstance(value, dict) or not all(isinstance(hash, str) for hash in value.values()):
        raise ConfigError(f"{file} holds no pins. Delete it to pin the tools anew.")
    return value


def write(file: Path, pins: dict[str, str]) -> None:
    """As a whole or not at all: another process may read it."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.stem)
    with os.fdopen(handle, "w") as open_file:
        json.dump(pins, open_file, indent=1, sort_keys=True)
    Path(name).replace(file)
