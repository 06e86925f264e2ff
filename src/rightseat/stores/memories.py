"""Stores memories in a SQL database."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Delete, case, delete, func, or_, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from rightseat.core.ids import new_id
from rightseat.core.types import JsonValue
from rightseat.operations.memories import (
    MemoryNotFound,
    MemoryQuery,
    MemoryRow,
    NewMemory,
    TooManyMemories,
    read_memory_cursor,
)
from rightseat.operations.records import Page
from rightseat.stores import deletions, rows
from rightseat.stores.store_database import StoreDatabase
from rightseat.stores.struct_rows import StructRows
from rightseat.stores.tables import memories, suspect_sources, threads
from rightseat.stores.visible_rows import visible_rows

SHARED_OWNER = ""
OWNER_LOCK = 41
"""With the owner it names the lock that counts the owner's rows in PostgreSQL. SQLite has one writer."""
MAX_SUSPICIONS = 100
"""As many names of sources are read for a thread. One is enough to make it suspect."""


def of_stored_thread(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The run and the message go with their thread."""
    return case((memories.c.source_thread.is_not(None), column))


def read_owner(owner: str) -> str | None:
    return owner or None


MEMORY_ROWS = StructRows(
    MemoryRow,
    {
        "id": memories.c.id,
        "owner": memories.c.owner,
        "scope": memories.c.scope,
        "agent": memories.c.agent,
        "kind": memories.c.kind,
        "text": memories.c.memory,
        "created_by": memories.c.created_by,
        "source_thread": memories.c.source_thread,
        "source_run": of_stored_thread(memories.c.source_run),
        "source_message": of_stored_thread(memories.c.source_message),
        "source_tools": memories.c.source_tools,
        "approved_by": memories.c.approved_by,
        "created_at": memories.c.created_at,
        "updated_at": memories.c.updated_at,
        "expires_at": memories.c.expires_at,
    },
    {"owner": read_owner, "source_tools": msgspec.json.Decoder(tuple[str, ...]).decode},
)
ORDER = (memories.c.updated_at, memories.c.id)
NEWEST_FIRST = tuple(column.desc() for column in ORDER)


class SqlMemories:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def add(self, memory: NewMemory, limit: int) -> MemoryRow:
        return await self._database.write(add, memory, limit, self._database.dialect)

    async def replace(self, id: str, owner: str | None, memory: NewMemory) -> MemoryRow:
        row = await self._database.write(replace, id, owner, memory, self._database.dialect)
        self._database.erase()
        return row

    async def remove(self, id: str, owner: str | None) -> bool:
        is_deleted = await self._database.write(remove, id, owner)
        if is_deleted:
            self._database.erase()
        return is_deleted

    async def list_own(self, owner: str) -> Sequence[MemoryRow]:
        return await self._database.query(list_own, owner)

    async def list(self, query: MemoryQuery) -> Page[MemoryRow]:
        return await self._database.scan(list_memories, query)

    async def mark_suspect(self, thread: str, sources: Sequence[str]) -> None:
        if "\0" not in thread:
            await self._database.write(mark_suspect, thread, sources, self._database.dialect)

    async def find_suspicions(self, thread: str) -> Sequence[str]:
        return () if "\0" in thread else await self._database.query(find_suspicions, thread)

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return await self._database.scan(read_user, user)

    async def forget_user(self, user: str) -> int:
        deleted = await self._database.write(forget_user, user)
        self._database.erase()
        return deleted


def add(connection: Connection, memory: NewMemory, limit: int, dialect: str) -> MemoryRow:
    owner = lock_owner(connection, memory.owner, dialect)
    note_deleted(connection, delete(memories).where(memories.c.owner == owner, is_expired(rows.now())))
    known = connection.execute(select(*MEMORY_ROWS.columns).where(memories.c.digest == memory.digest)).first()
    if known is not None:
        return MEMORY_ROWS.read(known)
    count = connection.execute(select(func.count()).where(memories.c.owner == owner)).scalar_one()
    if count >= limit:
        raise TooManyMemories(limit)
    return insert(connection, memory, rows.now())


def replace(connection: Connection, id: str, owner: str | None, memory: NewMemory, dialect: str) -> MemoryRow:
    """A row of the new text that exists already goes too: the replaced one has a new id in any case."""
    lock_owner(connection, memory.owner, dialect)
    old = connection.execute(delete(memories).where(*own_row(id, owner)).returning(memories.c.created_at)).first()
    if old is None:
        raise MemoryNotFound(id)
    deletions.add(connection, "memory", memory.owner or SHARED_OWNER, [id])
    note_deleted(connection, delete(memories).where(memories.c.digest == memory.digest))
    return insert(connection, memory, old.created_at)


def lock_owner(connection: Connection, owner: str | None, dialect: str) -> str:
    name = SHARED_OWNER if owner is None else owner
    if dialect == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, OWNER_LOCK))))
    return name


def insert(connection: Connection, memory: NewMemory, created_at: str) -> MemoryRow:
    days, source = memory.retention_days, find_source(connection, memory)
    row = {
        "id": new_id("memory"),
        "owner": SHARED_OWNER if memory.owner is None else memory.owner,
        "scope": memory.scope,
        "agent": memory.agent,
        "kind": memory.kind,
        "memory": memory.text,
        "created_by": memory.created_by,
        "source_thread": source,
        "source_run": memory.source_run if source else None,
        "source_message": memory.source_message if source else None,
        "source_tools": msgspec.json.encode(memory.source_tools).decode(),
        "approved_by": memory.approved_by,
        "digest": memory.digest,
        "created_at": created_at,
        "updated_at": rows.now(),
        "expires_at": None if days is None else rows.now(ago=-timedelta(days=days)),
    }
    inserted = connection.execute(memories.insert().values(row).returning(*MEMORY_ROWS.columns)).one()
    return MEMORY_ROWS.read(inserted)


def find_source(connection: Connection, memory: NewMemory) -> str | None:
    """The first of the source threads that is stored, and the author's."""
    named = [thread for thread in memory.source_threads if "\0" not in thread]
    found = select(threads.c.id).where(threads.c.id.in_(named), threads.c.owner == memory.author)
    stored = set(connection.execute(found).scalars()) if named else set[str]()
    return next((thread for thread in named if thread in stored), None)


def own_row(id: str, owner: str | None) -> tuple[ColumnElement[bool], ...]:
    return memories.c.id == id.replace("\0", ""), memories.c.owner == (SHARED_OWNER if owner is None else owner)


def remove(connection: Connection, id: str, owner: str | None) -> bool:
    return note_deleted(connection, delete(memories).where(*own_row(id, owner))) > 0


def is_expired(now: str) -> ColumnElement[bool]:
    return memories.c.expires_at <= now


def is_current(now: str) -> ColumnElement[bool]:
    return or_(memories.c.expires_at.is_(None), memories.c.expires_at > now)


def list_own(connection: Connection, owner: str) -> Sequence[MemoryRow]:
    statement = select(*MEMORY_ROWS.columns).where(memories.c.owner.in_((owner, SHARED_OWNER)), is_current(rows.now()))
    return [MEMORY_ROWS.read(row) for row in connection.execute(statement.order_by(*NEWEST_FIRST))]


def list_memories(connection: Connection, query: MemoryQuery) -> Page[MemoryRow]:
    statement = select(*MEMORY_ROWS.columns).where(*memory_conditions(query)).order_by(*NEWEST_FIRST)
    if query.after is not None:
        statement = statement.where(tuple_(*ORDER) < tuple_(*read_memory_cursor(query.after)))
    found = [MEMORY_ROWS.read(row) for row in connection.execute(statement.limit(query.limit + 1))]
    page = found[: query.limit]
    return Page(page, f"{page[-1].updated_at}/{page[-1].id}" if len(found) > len(page) else None)


def memory_conditions(query: MemoryQuery) -> Iterator[ColumnElement[bool]]:
    wanted = {
        memories.c.owner: query.owner,
        memories.c.scope: query.scope,
        memories.c.agent: query.agent,
        memories.c.kind: query.kind,
        memories.c.created_by: query.created_by,
    }
    yield is_current(rows.now())
    yield from (column == value for column, value in wanted.items() if value is not None)
    yield from visible_rows(query.reader, memories.c.owner, memories.c.agent)


def mark_suspect(connection: Connection, thread: str, sources: Sequence[str], dialect: str) -> None:
    """Does nothing for a thread that is not stored."""
    if connection.execute(select(threads.c.id).where(threads.c.id == thread)).first() is None:
        return
    new = (postgresql if dialect == "postgresql" else sqlite).insert(suspect_sources)
    values = [{"thread_id": thread, "source": source.replace("\0", "\ufffd")} for source in sources]
    connection.execute(new.values(values).on_conflict_do_nothing())


def find_suspicions(connection: Connection, thread: str) -> Sequence[str]:
    statement = select(suspect_sources.c.source).where(suspect_sources.c.thread_id == thread)
    return list(connection.execute(statement.order_by(suspect_sources.c.source).limit(MAX_SUSPICIONS)).scalars())


def read_user(connection: Connection, user: str) -> Sequence[JsonValue]:
    statement = select(*MEMORY_ROWS.columns).where(memories.c.owner == user).order_by(*ORDER)
    return [msgspec.to_builtins(MEMORY_ROWS.read(row)) for row in connection.execute(statement)] if user else []


def forget_user(connection: Connection, user: str) -> int:
    if not user:
        return 0
    connection.execute(update(memories).where(memories.c.approved_by == user).values(approved_by=None))
    return note_deleted(connection, delete(memories).where(memories.c.owner == user))


def expire(connection: Connection, before: str, limit: int) -> int:
    """Delete memories whose time has passed. Returns how many."""
    old = select(memories.c.id).where(is_expired(before)).limit(limit)
    return note_deleted(connection, delete(memories).where(memories.c.id.in_(old)))


def note_deleted(connection: Connection, statement: Delete) -> int:
    """Execute the statement, and remember the ids of the rows for lists that follow. Returns their number."""
    gone = connection.execute(statement.returning(memories.c.owner, memories.c.id)).all()
    for owner in {row.owner for row in gone}:
        deletions.add(connection, "memory", owner, [row.id for row in gone if row.owner == owner])
    return len(gone)
