"""Stores, finds and deletes files. Functions of a connection, like `run_queries`."""

import msgspec
from sqlalchemy import Connection, bindparam, delete, insert, select

from rightseat.core.artifacts import StoredArtifact
from rightseat.core.ask import Ask
from rightseat.stores import rows
from rightseat.stores.struct_rows import StructRows
from rightseat.stores.tables import files
from rightseat.stores.thread_queries import OWNER

ADD_FILE = insert(files)
FILE_ROWS = StructRows(
    StoredArtifact,
    {
        "id": files.c.id,
        "agent": files.c.agent,
        "name": files.c.name,
        "media_type": files.c.media_type,
        "content": files.c.content,
    },
)
FILE = select(*FILE_ROWS.columns).where(files.c.id == bindparam("of_file"), files.c.owner == OWNER)
TAKE_FILE = delete(files).where(files.c.id == bindparam("of_file"), files.c.owner == OWNER)
FILES_WITHOUT_THREAD = (
    select(files.c.id)
    .where(files.c.thread_id.is_(None), files.c.created_at < bindparam("before"))
    .limit(bindparam("limit"))
)
EXPIRE_FILES = delete(files).where(files.c.id.in_(FILES_WITHOUT_THREAD))


def add_file(connection: Connection, ask: Ask, stored: StoredArtifact) -> None:
    row = msgspec.to_builtins(stored, builtin_types=(bytes,))
    owner = {"owner": ask.principal.id, "thread_id": None if ask.transient else ask.thread_id}
    connection.execute(ADD_FILE, row | owner | {"created_at": rows.now()})


def replace_file(connection: Connection, ask: Ask, stored: StoredArtifact) -> None:
    connection.execute(TAKE_FILE, {"of_file": stored.id, "of_owner": ask.principal.id})
    add_file(connection, ask, stored)


def find_file(connection: Connection, id: str, owner: str) -> StoredArtifact | None:
    found = connection.execute(FILE, {"of_file": id, "of_owner": owner}).first()
    return None if found is None else FILE_ROWS.read(found)


def take_file(connection: Connection, id: str, owner: str, media_type: str) -> StoredArtifact | None:
    """If two callers take it at once, only one delete finds the row."""
    found = find_file(connection, id, owner)
    if found is None or found.media_type != media_type:
        return None
    return found if connection.execute(TAKE_FILE, {"of_file": id, "of_owner": owner}).rowcount else None


def expire_files(connection: Connection, before: str, limit: int) -> int:
    return connection.execute(EXPIRE_FILES, {"before": before, "limit": limit}).rowcount
