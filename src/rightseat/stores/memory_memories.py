"""Memories in this process's memory."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import msgspec

from rightseat.core.ask import includes_agent
from rightseat.core.ids import new_id
from rightseat.core.types import JsonValue
from rightseat.operations.changes import EVERYONE
from rightseat.operations.memories import (
    MemoryNotFound,
    MemoryQuery,
    MemoryRow,
    NewMemory,
    TooManyMemories,
    read_memory_cursor,
)
from rightseat.operations.records import Page, RecordReader
from rightseat.stores import rows
from rightseat.stores.memory_deletions import MemoryDeletions
from rightseat.stores.memory_records import StoredThread


class MemoryMemories:
    """`threads` and `deletions` are those of the store."""

    def __init__(self, threads: Callable[[], Sequence[StoredThread]], deletions: MemoryDeletions) -> None:
        self._deletions = deletions
        self._threads = threads
        self._rows: dict[str, MemoryRow] = {}  # by the digest
        self._suspicions: dict[str, set[str]] = {}  # by thread

    def delete_thread(self, id: str) -> None:
        self._suspicions.pop(id, None)
        for digest, row in self._rows.items():
            if row.source_thread == id:
                self._rows[digest] = msgspec.structs.replace(
                    row, source_thread=None, source_run=None, source_message=None
                )

    async def add(self, memory: NewMemory, limit: int) -> MemoryRow:
        self._delete_expired()
        if (known := self._rows.get(memory.digest)) is not None:
            return known
        if sum(row.owner == memory.owner for row in self._rows.values()) >= limit:
            raise TooManyMemories(limit)
        return self._insert(memory, rows.now())

    async def replace(self, id: str, owner: str | None, memory: NewMemory) -> MemoryRow:
        digest = self._find(id, owner)
        if digest is None:
            raise MemoryNotFound(id)
        old = self._pop(digest)
        if memory.digest in self._rows:
            self._pop(memory.digest)
        return self._insert(memory, old.created_at)

    async def remove(self, id: str, owner: str | None) -> bool:
        digest = self._find(id, owner)
        return digest is not None and self._pop(digest) is not None

    async def list_own(self, owner: str) -> Sequence[MemoryRow]:
        self._delete_expired()
        return sorted((row for row in self._rows.values() if row.owner in (owner, None)), key=row_key, reverse=True)

    async def list(self, query: MemoryQuery) -> Page[MemoryRow]:
        self._delete_expired()
        found = sorted((row for row in self._rows.values() if is_wanted_memory(row, query)), key=row_key, reverse=True)
        if query.after is not None:
            after = read_memory_cursor(query.after)
            found = [row for row in found if row_key(row) < after]
        page = found[: query.limit]
        return Page(page, "/".join(row_key(page[-1])) if len(found) > len(page) else None)

    async def mark_suspect(self, thread: str, sources: Sequence[str]) -> None:
        if any(stored.summary.id == thread for stored in self._threads()):
            self._suspicions.setdefault(thread, set()).update(sources)

    async def find_suspicions(self, thread: str) -> Sequence[str]:
        return sorted(self._suspicions.get(thread, ()))

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return [msgspec.to_builtins(row) for row in self._rows.values() if row.owner == user]

    async def forget_user(self, user: str) -> int:
        own = [digest for digest, row in self._rows.items() if row.owner == user]
        for digest in own:
            self._pop(digest)
        for digest, row in self._rows.items():
            if row.approved_by == user:
                self._rows[digest] = msgspec.structs.replace(row, approved_by=None)
        return len(own)

    def _pop(self, digest: str) -> MemoryRow:
        row = self._rows.pop(digest)
        self._deletions.add("memory", row.owner or EVERYONE, row.id)
        return row

    def _insert(self, memory: NewMemory, created_at: str) -> MemoryRow:
        owned = {stored.summary.id for stored in self._threads() if stored.owner == memory.author}
        source = next((thread for thread in memory.source_threads if thread in owned), None)
        days = memory.retention_days
        row = MemoryRow(
            id=new_id("memory"),
            owner=memory.owner,
            scope=memory.scope,
            agent=memory.agent,
            kind=memory.kind,
            text=memory.text,
            created_by=memory.created_by,
            source_thread=source,
            source_run=memory.source_run if source else None,
            source_message=memory.source_message if source else None,
            source_tools=tuple(memory.source_tools),
            approved_by=memory.approved_by,
            created_at=created_at,
            updated_at=rows.now(),
            expires_at=None if days is None else rows.now(ago=-timedelta(days=days)),
        )
        self._rows[memory.digest] = row
        return row

    def _find(self, id: str, owner: str | None) -> str | None:
        return next((digest for digest, row in self._rows.items() if row.id == id and row.owner == owner), None)

    def _delete_expired(self) -> None:
        now = rows.now()
        for digest in [digest for digest, row in self._rows.items() if (row.expires_at or "~") <= now]:
            self._pop(digest)


def is_wanted_memory(row: MemoryRow, query: MemoryQuery) -> bool:
    wanted = {
        "owner": query.owner,
        "scope": query.scope,
        "agent": query.agent,
        "kind": query.kind,
        "created_by": query.created_by,
    }
    return all(value in (None, getattr(row, field)) for field, value in wanted.items()) and (
        query.reader is None or is_visible_memory(row, query.reader)
    )


def is_visible_memory(row: MemoryRow, reader: RecordReader) -> bool:
    is_own = row.owner == reader.user and includes_agent(reader.own, row.agent or "")
    return is_own or includes_agent(reader.others, row.agent or "")


def row_key(row: MemoryRow) -> tuple[str, str]:
    return row.updated_at, row.id
