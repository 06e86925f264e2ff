"""The pin store protocol: a pin is the definition of an MCP server's tool when first seen or last accepted."""

from collections.abc import Mapping
from typing import Protocol

import msgspec


class Pin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Definitions are JSON text. `seen` is the definition that the server sends now, if it differs."""

    definition: str
    seen: str | None = None


class PinStore(Protocol):
    """Pins by server key and name."""

    async def read(self, server: str) -> Mapping[str, Pin]: ...

    async def add(self, server: str, definitions: Mapping[str, str]) -> None:
        """Pin these definitions. Existing pins do not change."""
        ...

    async def see(self, server: str, seen: Mapping[str, str | None]) -> None:
        """Store the definitions that differ from their pins; None if the server sends the pinned one again."""
        ...

    async def accept(self, server: str, name: str, seen: str) -> bool:
        """Pin the seen definition. Returns False without a change if a different one has been seen in the meantime."""
        ...
