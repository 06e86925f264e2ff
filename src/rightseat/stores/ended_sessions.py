"""Stores the sessions that browsers have ended in the SQL database of the threads."""

from collections.abc import Sequence

from sqlalchemy import Connection, Integer, bindparam, delete, insert, select
from sqlalchemy.exc import IntegrityError

from rightseat.operations.ended_sessions import EndedSession
from rightseat.stores.databases import StoreDatabase
from rightseat.stores.prepared import PreparedStatement
from rightseat.stores.tables import ended_sessions

COLUMNS = ended_sessions.c
FIND = PreparedStatement(
    select(COLUMNS.number, COLUMNS.id, COLUMNS.expires_at).where(COLUMNS.number > bindparam("after", type_=Integer))
)


class SqlEndedSessions:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def end(self, id: str, expires_at: float) -> None:
        try:
            await self._database.write(add, id, expires_at)
        except IntegrityError:
            return  # another request ended it at the same moment

    async def find(self, after: int) -> Sequence[EndedSession]:
        return [EndedSession(*row) for row in await self._database.poll(FIND, {"after": after})]


def add(connection: Connection, id: str, expires_at: float) -> None:
    connection.execute(insert(ended_sessions), {"id": id, "expires_at": expires_at})


def expire(connection: Connection, now: float, limit: int) -> int:
    """Delete sessions that have expired by themselves. Returns how many."""
    found = select(COLUMNS.number).where(COLUMNS.expires_at < now).limit(limit)
    return connection.execute(delete(ended_sessions).where(COLUMNS.number.in_(found))).rowcount
