"""Files in the SQL database of the threads. Deleting a thread deletes its files."""

from contextlib import suppress

from sqlalchemy.exc import IntegrityError

from rightseat.core.artifacts import StoredArtifact
from rightseat.core.ask import Ask, Principal
from rightseat.core.ids import new_id
from rightseat.stores import file_queries
from rightseat.stores.store_database import StoreDatabase


class SqlArtifacts:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def put(self, ask: Ask, name: str, media_type: str, content: bytes, id: str | None = None) -> str:
        if id is None:
            stored = StoredArtifact(new_id("file"), ask.agent, name, media_type, content)
            await self._database.write(file_queries.add_file, ask, stored)
            return stored.id
        with suppress(IntegrityError):  # another process stores it at the same moment
            await self._database.write(
                file_queries.replace_file, ask, StoredArtifact(id, ask.agent, name, media_type, content)
            )
        return id

    async def get(self, id: str, principal: Principal) -> StoredArtifact | None:
        return None if "\0" in id else await self._database.read(file_queries.find_file, id, principal.id)

    async def take(self, id: str, principal: Principal, media_type: str) -> StoredArtifact | None:
        return None if "\0" in id else await self._database.write(file_queries.take_file, id, principal.id, media_type)
