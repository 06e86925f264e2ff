"""Remembers for some hours which threads and memories were deleted: ids, for lists that missed it.

The rows are written in the transaction of the deletion.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from sqlalchemy import Connection, delete, insert, select

from rightseat.operations.changes import EVERYONE, Deletion, Topic, hash_owner
from rightseat.stores import rows
from rightseat.stores.store_database import StoreDatabase
from rightseat.stores.tables import deletions

RETENTION = timedelta(hours=13)
"""Longer than a token for live lists counts."""
MAX_FOUND = 1000

ADD = insert(deletions)


class SqlDeletions:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def find(self, owner: str, since: str) -> Sequence[Deletion]:
        return await self._database.query(find, owner, since)


def add(connection: Connection, topic: Topic, owner: str, ids: Iterable[str]) -> None:
    now, key = rows.now(), hash_owner(owner)
    if found := [{"owner": key, "topic": topic, "row_id": id, "deleted_at": now} for id in ids]:
        connection.execute(ADD, found)


def find(connection: Connection, owner: str, since: str) -> Sequence[Deletion]:
    wanted = (deletions.c.owner.in_((hash_owner(owner), EVERYONE)), deletions.c.deleted_at >= since)
    newest = (deletions.c.deleted_at.desc(), deletions.c.number.desc())
    statement = select(deletions.c.topic, deletions.c.row_id).where(*wanted).order_by(*newest).limit(MAX_FOUND)
    return [Deletion(topic, id) for topic, id in connection.execute(statement)]


def expire(connection: Connection, before: str, limit: int) -> int:
    """Delete rows of before. Returns how many."""
    old = select(deletions.c.number).where(deletions.c.deleted_at < before).limit(limit)
    return connection.execute(delete(deletions).where(deletions.c.number.in_(old))).rowcount
