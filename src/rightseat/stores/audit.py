"""Stores the audit log in the SQL database of the threads."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select

from rightseat.operations.audit import AuditLine, AuditQuery
from rightseat.stores.databases import StoreDatabase
from rightseat.stores.tables import audit_lines


class SqlAudit:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def append(self, lines: Sequence[AuditLine]) -> None:
        if lines:
            await self._database.write(append, lines)

    async def list(self, query: AuditQuery) -> Sequence[AuditLine]:
        return await self._database.scan(find, query)


def append(connection: Connection, lines: Sequence[AuditLine]) -> None:
    rows = [
        {
            "at": line.at,
            "kind": line.kind,
            "actor": line.user.replace("\0", ""),
            "text": line.text.replace("\0", ""),
            "request": line.request.replace("\0", ""),
        }
        for line in lines
    ]
    connection.execute(insert(audit_lines), rows)


def find(connection: Connection, query: AuditQuery) -> Sequence[AuditLine]:
    table = audit_lines.c
    statement = select(audit_lines).order_by(table.at.desc(), table.number.desc()).limit(query.limit)
    if query.since is not None:
        statement = statement.where(table.at >= query.since)
    if query.user is not None:
        statement = statement.where(table.actor == query.user)
    if query.kind is not None:
        statement = statement.where(table.kind == query.kind)
    return [AuditLine(row.at, row.text, row.request, row.kind, row.actor) for row in connection.execute(statement)]


def expire(connection: Connection, before: str, limit: int) -> int:
    """Delete lines before this time. Returns how many."""
    found = select(audit_lines.c.number).where(audit_lines.c.at < before).limit(limit)
    return connection.execute(delete(audit_lines).where(audit_lines.c.number.in_(found))).rowcount
