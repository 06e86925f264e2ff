"""Stores pinned tool definitions of MCP servers in a SQL database that several servers share."""

from collections.abc import Mapping

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from rightseat.operations.pins import Pin
from rightseat.stores import rows
from rightseat.stores.databases import StoreDatabase
from rightseat.stores.tables import mcp_pins

THIS_PIN = (mcp_pins.c.server == bindparam("of_server"), mcp_pins.c.name == bindparam("of_name"))
READ = select(mcp_pins.c.name, mcp_pins.c.definition, mcp_pins.c.new_definition).where(
    mcp_pins.c.server == bindparam("of_server")
)
IS_PINNED = select(mcp_pins.c.name).where(*THIS_PIN)
ADD = insert(mcp_pins)
SEE = update(mcp_pins).where(*THIS_PIN).values(new_definition=bindparam("of_definition"), updated_at=bindparam("now"))
ACCEPT = (
    update(mcp_pins)
    .where(*THIS_PIN, mcp_pins.c.new_definition == bindparam("of_definition"))
    .values(definition=mcp_pins.c.new_definition, new_definition=None, updated_at=bindparam("now"))
)


class SqlPins:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def read(self, server: str) -> Mapping[str, Pin]:
        return await self._database.query(read, server)

    async def add(self, server: str, definitions: Mapping[str, str]) -> None:
        for name, definition in definitions.items():
            try:
                await self._database.write(add, server, name, definition)
            except IntegrityError:
                continue  # another server pins it at the same moment

    async def see(self, server: str, seen: Mapping[str, str | None]) -> None:
        await self._database.write(see, server, seen)

    async def accept(self, server: str, name: str, seen: str) -> bool:
        return await self._database.write(accept, server, name, seen)


def read(connection: Connection, server: str) -> dict[str, Pin]:
    found = connection.execute(READ, {"of_server": server})
    return {row.name: Pin(row.definition, row.new_definition) for row in found}


def add(connection: Connection, server: str, name: str, definition: str) -> None:
    if connection.execute(IS_PINNED, {"of_server": server, "of_name": name}).first() is None:
        row = {"server": server, "name": name, "definition": definition, "updated_at": rows.now()}
        connection.execute(ADD, row)


def see(connection: Connection, server: str, seen: Mapping[str, str | None]) -> None:
    for name, one in sorted(seen.items()):  # sorted, so that two servers never deadlock
        row = {"of_server": server, "of_name": name, "of_definition": one, "now": rows.now()}
        connection.execute(SEE, row)


def accept(connection: Connection, server: str, name: str, seen: str) -> bool:
    row = {"of_server": server, "of_name": name, "of_definition": seen, "now": rows.now()}
    return bool(connection.execute(ACCEPT, row).rowcount)
