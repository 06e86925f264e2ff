"""Artifacts in this process's memory: the newest ones, up to a total size."""

from collections import OrderedDict
from dataclasses import dataclass

from rightseat.core.artifacts import StoredArtifact
from rightseat.core.ask import Ask, Principal
from rightseat.core.ids import new_id
from rightseat.stores import rows


@dataclass(frozen=True, slots=True)
class OwnedArtifact:
    owner: str
    thread_id: str | None
    stored: StoredArtifact
    created_at: str


class MemoryArtifacts:
    def __init__(self, max_mb: int = 64) -> None:
        self._max_bytes = max_mb * 2**20
        self._size = 0
        self._artifacts: OrderedDict[str, OwnedArtifact] = OrderedDict()

    async def put(self, ask: Ask, name: str, media_type: str, content: bytes, id: str | None = None) -> str:
        stored = StoredArtifact(id or new_id("file"), ask.agent, name, media_type, content)
        self.add(ask, stored)
        return stored.id

    def add(self, ask: Ask, stored: StoredArtifact) -> None:
        if stored.id in self._artifacts:
            self._delete(stored.id)
        thread_id = None if ask.transient else ask.thread_id
        self._artifacts[stored.id] = OwnedArtifact(ask.principal.id, thread_id, stored, rows.now())
        self._size += len(stored.content)
        while self._size > self._max_bytes and len(self._artifacts) > 1:
            self._delete(next(iter(self._artifacts)))

    async def get(self, id: str, principal: Principal) -> StoredArtifact | None:
        artifact = self._artifacts.get(id)
        return artifact.stored if artifact is not None and artifact.owner == principal.id else None

    async def take(self, id: str, principal: Principal, media_type: str) -> StoredArtifact | None:
        found = await self.get(id, principal)
        if found is None or found.media_type != media_type:
            return None
        self._delete(id)
        return found

    def of_thread(self, thread_id: str) -> list[OwnedArtifact]:
        return [artifact for artifact in self._artifacts.values() if artifact.thread_id == thread_id]

    def owner_of(self, id: str) -> str | None:
        artifact = self._artifacts.get(id)
        return artifact.owner if artifact else None

    def delete_thread(self, thread_id: str) -> None:
        for artifact in self.of_thread(thread_id):
            self._delete(artifact.stored.id)

    def _delete(self, id: str) -> None:
        self._size -= len(self._artifacts.pop(id).stored.content)
