"""Pins the definitions of MCP tools, so that a server cannot change them unnoticed.

A tool that was harmless when the operator checked it may later instruct the model, or claim to be read-only; the
server's instructions may change too. Each definition is pinned when first seen. A different one counts as changed until
the operator accepts it: `rightseat mcp accept`.
"""

import hashlib
import json
import logging
from collections.abc import Sequence
from typing import NamedTuple

import mcp_types as types

from rightseat.core.errors import RightseatError
from rightseat.operations.pins import PinStore
from rightseat.toolboxes.mcp.options import Options

logger = logging.getLogger(__name__)


INSTRUCTIONS = "(instructions)"
"""The key of the server's instructions, next to tool names."""
MAX_DEFINITION_CHARACTERS = 100_000
"""Longer definitions are stored as a hash."""
MAX_WARNINGS = 1000
"""Reported changes that are remembered."""
APP_FIELDS = ("ui", "ui/resourceUri")
"""Fields of a tool's `_meta`: its visibility, and the page that shows its result."""


class Changes(NamedTuple):
    """Names of changed tools, and whether the instructions changed."""

    tools: tuple[str, ...] = ()
    instructions: bool = False


class Pins:
    def __init__(self, store: PinStore) -> None:
        self._store = store
        self._reported: set[tuple[str, str, str]] = set()

    async def check(self, options: Options, tools: Sequence[types.Tool], instructions: str) -> Changes:
        """Pin new tools, and also the absence of instructions. Without access to the pins, all count as changed."""
        seen = {key_of(tool.name): definition_of(tool) for tool in tools}
        seen[INSTRUCTIONS] = shortened({"instructions": instructions})
        try:
            changed = await self._compare(options, seen)
        except (OSError, RightseatError) as error:
            logger.warning(
                "Cannot read the pins of the MCP server %r, so all of its tools count as changed: %s",
                options.name,
                error,
            )
            return Changes(tuple(tool.name for tool in tools), instructions=True)
        for key in changed:
            self._report(options, key, seen[key])
        return Changes(tuple(tool.name for tool in tools if key_of(tool.name) in changed), INSTRUCTIONS in changed)

    async def read(self, options: Options) -> tuple[tuple[types.Tool, ...], str] | None:
        """The pinned tools and instructions; None if nothing is pinned, or a definition is stored as its hash."""
        pinned = await self._store.read(options.pin_key)
        definitions = {key: json.loads(pin.definition) for key, pin in pinned.items()}
        about = definitions.pop(INSTRUCTIONS, {"instructions": ""})
        if not definitions or any("sha256" in one for one in (about, *definitions.values())):
            return None
        return tuple(map(types.Tool.model_validate, definitions.values())), str(about["instructions"])

    async def _compare(self, options: Options, seen: dict[str, str]) -> list[str]:
        pinned = await self._store.read(options.pin_key)
        if new := {key: definition for key, definition in seen.items() if key not in pinned}:
            await self._store.add(options.pin_key, new)
            pinned = await self._store.read(options.pin_key)  # another replica may have been first
        changed = [key for key in seen if key in pinned and pinned[key].definition != seen[key]]
        sent = {key: seen[key] if key in changed else None for key in seen if key in pinned}
        if differing := {key: one for key, one in sent.items() if pinned[key].seen != one}:
            await self._store.see(options.pin_key, differing)
        return changed

    def _report(self, options: Options, key: str, definition: str) -> None:
        if (options.hash, key, definition) in self._reported:
            return
        if len(self._reported) >= MAX_WARNINGS:
            self._reported.clear()
        self._reported.add((options.hash, key, definition))
        logger.warning(
            "%s of the MCP server %r differs from its pin%s. To review and accept the change: rightseat mcp accept %s",
            "The text of the instructions" if key == INSTRUCTIONS else f"The tool {key!r}",
            options.name,
            " and is not offered" if options.on_tool_change == "refuse" else " and needs approval",
            options.name,
        )


def key_of(name: str) -> str:
    """The name of a tool in printable ASCII, never equal to `INSTRUCTIONS`."""
    return "\\x28instructions)" if name == INSTRUCTIONS else name.encode("unicode_escape").decode()


def definition_of(tool: types.Tool) -> str:
    """All fields that affect the prompt or the approval of the tool."""
    fields = {"name", "title", "description", "input_schema", "annotations"}
    definition = tool.model_dump(mode="json", by_alias=True, exclude_none=True, include=fields)
    if apps := {name: value for name, value in (tool.meta or {}).items() if name in APP_FIELDS}:
        definition["_meta"] = apps
    return shortened(definition)


def shortened(definition: dict[str, object]) -> str:
    text = json.dumps(definition, sort_keys=True)
    if len(text) <= MAX_DEFINITION_CHARACTERS:
        return text
    return json.dumps({"characters": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()})
