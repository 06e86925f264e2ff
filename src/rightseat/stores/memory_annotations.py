"""Annotations in this process's memory."""

import logging
from collections.abc import Callable, Sequence

import msgspec

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
from rightseat.operations.records import Page, RecordReader
from rightseat.stores import rows
from rightseat.stores.annotations import OVERFULL
from rightseat.stores.memory_records import StoredThread

logger = logging.getLogger(__name__)


class MemoryAnnotations:
    """`threads` are those of the store."""

    def __init__(self, threads: Callable[[], Sequence[StoredThread]]) -> None:
        self._threads = threads
        self._rows: list[AnnotationRow] = []  # the oldest first

    def delete_thread(self, id: str, owner: str) -> None:
        self._rows = [row for row in self._rows if (row.thread, row.owner) != (id, owner)]

    async def add(self, annotation: NewAnnotation) -> StoredAnnotation:
        thread = next((one for one in self._threads() if one.summary.id == annotation.thread), None)
        if thread is not None and (
            thread.owner != annotation.owner or not includes_agent(annotation.agents, thread.summary.agent)
        ):
            raise ThreadNotFound(annotation.thread)
        own = [row for row in self._rows if row.owner == annotation.owner]
        if annotation.client_event_id is not None:
            for row in own:
                if row.client_event_id == annotation.client_event_id:
                    return StoredAnnotation(row.id, True)
        row = AnnotationRow(
            id=new_id("annotation"),
            owner=annotation.owner,
            thread=annotation.thread,
            agent=None,
            type=annotation.type,
            payload=msgspec.json.decode(annotation.payload),
            client_event_id=annotation.client_event_id,
            occurred_at=annotation.occurred_at,
            created_at=rows.now(),
        )
        self._rows.append(row)
        if len(own) + 1 >= MAX_ROWS + TRIMMED_ROWS:
            self._delete_oldest(annotation.owner)
        return StoredAnnotation(row.id, False)

    async def list(self, query: AnnotationQuery) -> Page[AnnotationRow]:
        found = [row for row in self._known_rows() if is_wanted_annotation(row, query)]
        found.sort(key=row_key, reverse=True)
        if query.after is not None:
            after = read_annotation_cursor(query.after)
            found = [row for row in found if row_key(row) < after]
        page = found[: query.limit]
        return Page(page, "/".join(row_key(page[-1])) if len(found) > len(page) else None)

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return [msgspec.to_builtins(row) for row in self._known_rows() if row.owner == user]

    async def forget_user(self, user: str) -> int:
        before = len(self._rows)
        self._rows = [row for row in self._rows if row.owner != user]
        return before - len(self._rows)

    def _known_rows(self) -> Sequence[AnnotationRow]:
        agents = {(one.summary.id, one.owner): one.summary.agent for one in self._threads()}
        return [msgspec.structs.replace(row, agent=agents.get((row.thread, row.owner))) for row in self._rows]

    def _delete_oldest(self, owner: str) -> None:
        own = [row.id for row in self._rows if row.owner == owner]
        oldest = set(own[: len(own) - MAX_ROWS])
        self._rows = [row for row in self._rows if row.id not in oldest]
        logger.warning(OVERFULL, owner, MAX_ROWS, len(oldest))


def is_wanted_annotation(row: AnnotationRow, query: AnnotationQuery) -> bool:
    wanted = {"owner": query.owner, "thread": query.thread, "agent": query.agent, "type": query.type}
    return (
        all(value in (None, getattr(row, field)) for field, value in wanted.items())
        and (query.since is None or row.created_at >= query.since)
        and (query.reader is None or is_visible_annotation(row, query.reader))
    )


def is_visible_annotation(row: AnnotationRow, reader: RecordReader) -> bool:
    is_own = row.owner == reader.user and includes_agent(reader.own, row.agent or "")
    return is_own or includes_agent(reader.others, row.agent or "")


def row_key(row: AnnotationRow) -> tuple[str, str]:
    return row.created_at, row.id
