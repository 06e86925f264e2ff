"""Stores the recorded uses of secrets in a SQL database that several servers share."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from rightseat.operations.secret_uses import SecretUse
from rightseat.stores.databases import StoreDatabase
from rightseat.stores.tables import secret_uses

UPGRADED = ""
"""The row of no toolbox: the database was in use when the migration made the table."""
COLUMNS = secret_uses.c


class SqlSecretUses:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def settle(self, toolbox: str, in_use: Sequence[SecretUse]) -> Sequence[SecretUse]:
        try:
            return await self._database.write(settle, toolbox, in_use)
        except IntegrityError:  # another server records them at the same moment
            return await self._database.write(settle, toolbox, in_use)


def settle(connection: Connection, toolbox: str, in_use: Sequence[SecretUse]) -> Sequence[SecretUse]:
    rows = {row.toolbox: row.uses for row in connection.execute(select(secret_uses))}
    if toolbox in rows:
        return msgspec.json.decode(rows[toolbox], type=list[SecretUse])
    recorded = list(in_use) if UPGRADED in rows else []
    row = {"toolbox": toolbox, "uses": msgspec.json.encode(recorded).decode()}
    connection.execute(insert(secret_uses), row)
    return recorded
