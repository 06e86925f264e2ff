"""The artifact store protocol: files and charts of runs that are too large or unsuitable for the response text.

Each artifact belongs to the principal of its run. Artifacts of other principals are reported as not found.
"""

from typing import Protocol, runtime_checkable

import msgspec

from rightseat.core.ask import Ask, Principal

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


@runtime_checkable
class StoresArtifacts(Protocol):
    """A thread store that stores artifacts too, and deletes them with their threads."""

    @property
    def artifacts(self) -> Artifacts: ...
