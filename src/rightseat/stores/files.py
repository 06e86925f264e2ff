"""Artifacts in this process's memory: the newest, as far as `megabytes` reach."""

from collections import OrderedDict
from dataclasses import dataclass

from rightseat.core.artifacts import Stored
from rightseat.core.ask import Ask, Principal
from rightseat.core.ids import new_id


@dataclass(frozen=True, slots=True)
class _Kept:
    owner: str
    thread_id: str | None
    stored: Stored


class MemoryArtifacts:
    def __init__(self, megabytes: int = 64) -> None:
        self._limit = megabytes * 2**20
        self._size = 0
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def put(self, ask: Ask, name: str, media_type: str, content: bytes, id: str | None = None) -> str:
        stored = Stored(id or new_id("file"), ask.agent, name, media_type, content)
        if stored.id in self._kept:
            self._forget(stored.id)
        self._kept[stored.id] = _Kept(ask.principal.id, None if ask.transient else ask.thread_id, stored)
        self._size += len(content)
        while self._size > self._limit and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))
        return stored.id

    async def get(self, id: str, principal: Principal) -> Stored | None:
        kept = self._kept.get(id)
        return kept.stored if kept is not None and kept.owner == principal.id else None

    async def take(self, id: str, principal: Principal, media_type: str) -> Stored | None:
        found = await self.get(id, principal)
        if found is None or found.media_type != media_type:
            return None
        self._forget(id)
        return found

    def forget_thread(self, thread_id: str) -> None:
        for id in [id for id, kept in self._kept.items() if kept.thread_id == thread_id]:
            self._forget(id)

    def _forget(self, id: str) -> None:
        self._size -= len(self._kept.pop(id).stored.content)
