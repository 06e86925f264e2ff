"""The artifact store protocol: files and charts of runs that are too large or unsuitable for the response text.

Each artifact belongs to the principal of its run. Artifacts of other principals are reported as not found.
"""

from typing import Protocol

import msgspec

from rightseat.core.ask import Ask, Principal
from rightseat.reads import hold_read

PRIVATE_MEDIA_TYPE = "application/vnd.rightseat.private"
"""The type of internal data, which no client can download."""


class StoredArtifact(msgspec.Struct, frozen=True):
    """`agent` is the agent whose run created it."""

    id: str
    agent: str
    name: str
    media_type: str
    content: bytes


class Artifacts(Protocol):
    async def put(self, ask: Ask, name: str, media_type: str, content: bytes, id: str | None = None) -> str:
        """Store it for the ask's principal, for as long as the ask's thread is stored. Returns its id.

        It replaces the principal's artifact with the same `id`. A given id must be unique among all principals.
        The artifact of a transient ask belongs to no thread, and need not be stored for longer than a day.
        """
        ...

    async def get(self, id: str, principal: Principal) -> StoredArtifact | None: ...

    async def take(self, id: str, principal: Principal, media_type: str) -> StoredArtifact | None:
        """Return an artifact of this type and delete it; only one caller receives it."""
        ...


class HeldArtifacts:
    """Wraps any artifact store: reading one holds a place of its user, see `reads`."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts

    async def put(self, ask: Ask, name: str, media_type: str, content: bytes, id: str | None = None) -> str:
        return await self._artifacts.put(ask, name, media_type, content, id)

    async def get(self, id: str, principal: Principal) -> StoredArtifact | None:
        await hold_read()
        return await self._artifacts.get(id, principal)

    async def take(self, id: str, principal: Principal, media_type: str) -> StoredArtifact | None:
        await hold_read()
        return await self._artifacts.take(id, principal, media_type)
