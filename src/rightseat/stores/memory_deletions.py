"""Deletions in this process's memory."""

from collections import deque
from collections.abc import Sequence

from rightseat.operations.changes import EVERYONE, Deletion, Topic, hash_owner
from rightseat.stores import rows

MAX_ROWS = 10_000


class MemoryDeletions:
    def __init__(self) -> None:
        self._rows: deque[tuple[str, str, Deletion]] = deque(maxlen=MAX_ROWS)  # with owner and time, the oldest first

    def add(self, topic: Topic, owner: str, id: str) -> None:
        self._rows.append((hash_owner(owner), rows.now(), Deletion(topic, id)))

    async def find(self, owner: str, since: str) -> Sequence[Deletion]:
        wanted = (hash_owner(owner), EVERYONE)
        return [deletion for key, at, deletion in reversed(self._rows) if key in wanted and at >= since]
