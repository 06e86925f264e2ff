"""The seam to pins: what the tools of an MCP server looked like when they were first seen, or last accepted."""

from collections.abc import Mapping
from typing import Protocol

import msgspec


class Pin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Definitions are JSON, as text. `seen` is the one that the server sends now, where it is another."""

    definition: str
    seen: str | None = None


class PinStore(Protocol):
    """Pins of several servers, each by a key, and by names in it."""

    async def read(self, server: str) -> Mapping[str, Pin]: ...

    async def add(self, server: str, definitions: Mapping[str, str]) -> None:
        """Pin these. What is pinned already stays as it is."""
        ...

    async def see(self, server: str, seen: Mapping[str, str | None]) -> None:
        """Keep what the server sends now in place of what is pinned; None where it sends that again."""
        ...

    async def accept(self, server: str, name: str, seen: str) -> bool:
        """Pin what was seen. False, and nothing is done, if something else has been seen meanwhile."""
        ...
