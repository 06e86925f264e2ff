"""Stores annotations in a SQL database."""

import logging
from collections.abc import Iterator, Sequence

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from rightseat.core.ask import includes_agent
from rightseat.core.errors import ThreadNotFound
from rightseat.core.ids import new_id
from rightseat.core.types import JsonValue
from rightseat.operations.annotations import (
    MAX_ROWS,
    TRIMMED_ROWS,
    AnnotationQuery,
    AnnotationRow,
    NewAnnotation,
    StoredAnnotation,
    read_annotation_cursor,
)
from rightseat.operations.records import Page
from rightseat.stores import rows
from rightseat.stores.store_database import StoreDatabase
from rightseat.stores.struct_rows import StructRows
from rightseat.stores.tables import annotations, threads
from rightseat.stores.visible_rows import visible_rows

logger = logging.getLogger(__name__)

OVERFULL = "%s has more than %d annotations: the oldest %d were deleted"

OF_THREAD = and_(threads.c.id == annotations.c.thread_id, threads.c.owner == annotations.c.owner)
ANNOTATION_ROWS = StructRows(
    AnnotationRow,
    {
        "id": annotations.c.id,
        "owner": annotations.c.owner,
        "thread": annotations.c.thread_id,
        "agent": threads.c.agent,
        "type": annotations.c.type,
        "payload": annotations.c.payload,
        "client_event_id": annotations.c.client_event_id,
        "occurred_at": annotations.c.occurred_at,
        "created_at": annotations.c.created_at,
    },
    {"payload": msgspec.json.decode},
)
SELECTED = select(*ANNOTATION_ROWS.columns).select_from(annotations.outerjoin(threads, OF_THREAD))
ORDER = (annotations.c.created_at, annotations.c.id)
NEWEST_FIRST = tuple(column.desc() for column in ORDER)


class SqlAnnotations:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def add(self, annotation: NewAnnotation) -> StoredAnnotation:
        return await self._database.write(add, annotation, self._database.dialect)

    async def list(self, query: AnnotationQuery) -> Page[AnnotationRow]:
        return await self._database.scan(list_annotations, query)

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return await self._database.scan(read_user, user)

    async def forget_user(self, user: str) -> int:
        deleted = await self._database.write(forget_user, user)
        self._database.erase()
        return deleted


def add(connection: Connection, annotation: NewAnnotation, dialect: str) -> StoredAnnotation:
    check_thread(connection, annotation)
    new = (postgresql if dialect == "postgresql" else sqlite).insert(annotations)
    row = {
        "id": new_id("annotation"),
        "owner": annotation.owner,
        "thread_id": annotation.thread,
        "type": annotation.type,
        "payload": annotation.payload,
        "client_event_id": annotation.client_event_id,
        "occurred_at": annotation.occurred_at,
        "created_at": rows.now(),
    }
    inserted = connection.execute(new.values(row).on_conflict_do_nothing().returning(annotations.c.id)).scalar()
    if inserted is None:
        sent_before = (
            annotations.c.owner == annotation.owner,
            annotations.c.client_event_id == annotation.client_event_id,
        )
        return StoredAnnotation(connection.execute(select(annotations.c.id).where(*sent_before)).scalar_one(), True)
    delete_oldest(connection, annotation.owner)
    return StoredAnnotation(inserted, False)


def check_thread(connection: Connection, annotation: NewAnnotation) -> None:
    """Locks the thread where rows have locks: its deletion, which takes the annotations with it, then waits."""
    named = select(threads.c.owner, threads.c.agent).where(threads.c.id == annotation.thread)
    thread = connection.execute(named.with_for_update(read=True, key_share=True)).first()
    if thread is None:
        return
    if thread.owner != annotation.owner or not includes_agent(annotation.agents, thread.agent):
        raise ThreadNotFound(annotation.thread)


def delete_oldest(connection: Connection, owner: str) -> None:
    own = annotations.c.owner == owner
    count = connection.execute(select(func.count()).where(own)).scalar_one()
    if count < MAX_ROWS + TRIMMED_ROWS:
        return
    newest = select(annotations.c.id).where(own).order_by(*NEWEST_FIRST).limit(MAX_ROWS)
    deleted = connection.execute(delete(annotations).where(own, annotations.c.id.not_in(newest))).rowcount
    logger.warning(OVERFULL, owner, MAX_ROWS, deleted)


def list_annotations(connection: Connection, query: AnnotationQuery) -> Page[AnnotationRow]:
    statement = SELECTED.where(*annotation_conditions(query)).order_by(*NEWEST_FIRST)
    if query.after is not None:
        statement = statement.where(tuple_(*ORDER) < tuple_(*read_annotation_cursor(query.after)))
    found = [ANNOTATION_ROWS.read(row) for row in connection.execute(statement.limit(query.limit + 1))]
    page = found[: query.limit]
    return Page(page, f"{page[-1].created_at}/{page[-1].id}" if len(found) > len(page) else None)


def annotation_conditions(query: AnnotationQuery) -> Iterator[ColumnElement[bool]]:
    wanted = {
        annotations.c.owner: query.owner,
        annotations.c.thread_id: query.thread,
        annotations.c.type: query.type,
        threads.c.agent: query.agent,
    }
    yield from (column == value for column, value in wanted.items() if value is not None)
    if query.since is not None:
        yield annotations.c.created_at >= query.since
    yield from visible_rows(query.reader, annotations.c.owner, threads.c.agent)


def read_user(connection: Connection, user: str) -> Sequence[JsonValue]:
    statement = SELECTED.where(annotations.c.owner == user).order_by(*ORDER)
    return [msgspec.to_builtins(ANNOTATION_ROWS.read(row)) for row in connection.execute(statement)]


def forget_user(connection: Connection, user: str) -> int:
    return connection.execute(delete(annotations).where(annotations.c.owner == user)).rowcount


def expire(connection: Connection, before: str, limit: int) -> int:
    """Delete annotations of threads that are not stored, if they were sent before. Returns how many."""
    old = select(annotations.c.id).where(annotations.c.created_at < before, ~exists().where(OF_THREAD)).limit(limit)
    return connection.execute(delete(annotations).where(annotations.c.id.in_(old))).rowcount
