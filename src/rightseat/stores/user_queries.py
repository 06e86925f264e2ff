"""Finds and deletes all data of one user in the database. Functions of a connection, like `run_queries`."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, delete, select

from rightseat.core.errors import ThreadNotFound
from rightseat.operations.users import ApprovalRecord, FileRecord, ThreadRecord
from rightseat.stores import file_queries, recordings, thread_queries
from rightseat.stores.tables import files, interrupts, threads

THREAD_IDS = (
    select(threads.c.id).where(threads.c.owner == thread_queries.OWNER).order_by(threads.c.created_at, threads.c.id)
)
APPROVALS = (
    select(interrupts)
    .where(interrupts.c.thread_id == thread_queries.THREAD_ID, interrupts.c.owner == thread_queries.OWNER)
    .order_by(interrupts.c.created_at, interrupts.c.position)
)
FILE_IDS = select(files.c.id).where(files.c.owner == thread_queries.OWNER).order_by(files.c.created_at, files.c.id)
FILE_RECORD = file_queries.FILE.add_columns(files.c.thread_id, files.c.created_at)
DELETE_FILES = delete(files).where(files.c.owner == thread_queries.OWNER, files.c.thread_id.is_(None))


def thread_ids(connection: Connection, owner: str) -> list[str]:
    return list(connection.execute(THREAD_IDS, {"of_owner": owner}).scalars())


def thread_record(connection: Connection, thread_id: str, owner: str) -> ThreadRecord | None:
    thread = thread_queries.load(connection, thread_id, owner)
    if thread is None:
        return None
    found = connection.execute(APPROVALS, {"of_thread": thread_id, "of_owner": owner})
    return ThreadRecord(thread, tuple(map(_approval, found)), recordings.read_asks(connection, thread_id))


def _approval(row: Any) -> ApprovalRecord:
    pending = thread_queries.read_pending(row)
    payload = thread_queries.read_json(row.payload)
    return ApprovalRecord(pending.run_id, pending.interrupt, pending.call, row.created_at, row.answered_at, payload)


def file_ids(connection: Connection, owner: str) -> list[str]:
    return list(connection.execute(FILE_IDS, {"of_owner": owner}).scalars())


def file_record(connection: Connection, id: str, owner: str) -> FileRecord | None:
    found = connection.execute(FILE_RECORD, {"of_file": id, "of_owner": owner}).first()
    return None if found is None else FileRecord(file_queries.FILE_ROWS.read(found), found.thread_id, found.created_at)


def delete_threads(connection: Connection, thread_ids: Sequence[str], owner: str) -> list[str]:
    """Returns the ids of their runs. Threads that are deleted already are skipped."""
    run_ids = list[str]()
    for id in thread_ids:
        with suppress(ThreadNotFound):
            run_ids += thread_queries.delete_thread(connection, id, owner)
    return run_ids


def delete_files(connection: Connection, owner: str) -> int:
    return connection.execute(DELETE_FILES, {"of_owner": owner}).rowcount
