"""What the tools of a server first looked like, so that a server cannot change them behind the operator's back.

A tool that was harmless when the operator looked at it may say something else to the model tomorrow, or claim that it
only reads; and the server's instructions may change, too. Each is pinned when it is first seen. One that differs later
counts as changed until the operator accepts it: `rightseat mcp accept`.
"""

import hashlib
import json
import logging
from collections.abc import Sequence
from typing import NamedTuple

import mcp_types as types

from rightseat.core.errors import RightseatError
from rightseat.core.pins import PinStore
from rightseat.toolboxes.mcp.settings import Settings

logger = logging.getLogger(__name__)


INSTRUCTIONS = "(instructions)"
"""Where a server's instructions are pinned, beside the names of its tools."""
MAX_DEFINITION_CHARACTERS = 100_000
"""Of a longer one a hash is kept."""
MAX_WARNINGS = 1000
"""Changes that are remembered as reported."""
APP_FIELDS = ("ui", "ui/resourceUri")
"""Of a tool's `_meta`: who may call it, and the page that shows what it gives."""


class Changes(NamedTuple):
    """What of a server is not what it was: tools, by their names, and the text of its instructions."""

    tools: tuple[str, ...] = ()
    instructions: bool = False


class Pins:
    def __init__(self, store: PinStore) -> None:
        self._store = store
        self._reported: set[tuple[str, str, str]] = set()

    async def check(self, settings: Settings, tools: Sequence[types.Tool], instructions: str) -> Changes:
        """New tools are pinned as they are; that there are no instructions is pinned too. Where the pins cannot be
        used, everything counts as changed."""
        seen = {key_of(tool.name): definition_of(tool) for tool in tools}
        seen[INSTRUCTIONS] = shortened({"instructions": instructions})
        try:
            changed = await self._compare(settings, seen)
        except (OSError, RightseatError) as error:
            logger.warning(
                "The pins of the MCP server %r cannot be used, so that all of its tools count as changed: %s",
                settings.name,
                error,
            )
            return Changes(tuple(tool.name for tool in tools), instructions=True)
        for key in changed:
            self._report(settings, key, seen[key])
        return Changes(tuple(tool.name for tool in tools if key_of(tool.name) in changed), INSTRUCTIONS in changed)

    async def _compare(self, settings: Settings, seen: dict[str, str]) -> list[str]:
        pinned = await self._store.read(settings.pin_key)
        if new := {key: definition for key, definition in seen.items() if key not in pinned}:
            await self._store.add(settings.pin_key, new)
            pinned = await self._store.read(settings.pin_key)  # another replica may have been first
        changed = [key for key in seen if key in pinned and pinned[key].definition != seen[key]]
        sent = {key: seen[key] if key in changed else None for key in seen if key in pinned}
        if differing := {key: one for key, one in sent.items() if pinned[key].seen != one}:
            await self._store.see(settings.pin_key, differing)
        return changed

    def _report(self, settings: Settings, key: str, definition: str) -> None:
        if (settings.hash, key, definition) in self._reported:
            return
        if len(self._reported) >= MAX_WARNINGS:
            self._reported.clear()
        self._reported.add((settings.hash, key, definition))
        logger.warning(
            "%s of the MCP server %r changed since it was first seen%s. To see the difference and to accept it: "
            "rightseat mcp accept %s",
            "The text of the instructions" if key == INSTRUCTIONS else f"The tool {key!r}",
            settings.name,
            ", and is not offered" if settings.changed == "refuse" else ", and a person is asked before it runs",
            settings.name,
        )


def key_of(name: str) -> str:
    """The name of a tool, in characters that every store and terminal takes. None is that of the instructions."""
    return "\\x28instructions)" if name == INSTRUCTIONS else name.encode("unicode_escape").decode()


def definition_of(tool: types.Tool) -> str:
    """All that decides what the model is told of the tool, and who is asked before it runs."""
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
