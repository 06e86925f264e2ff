"""The statements that read, change and delete threads, as functions of a connection that is inside a transaction.

Every statement is built once, because building one costs more than executing it. Every statement that reads or changes
data for a user also checks the owner.
"""

from typing import Any

import msgspec
from sqlalchemy import (
    BindParameter,
    Boolean,
    Connection,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    tuple_,
    update,
)

from rightseat.core.errors import ThreadNotFound
from rightseat.core.events import Interrupt
from rightseat.core.messages import Call, Message
from rightseat.core.thread_parts import ThreadOutline
from rightseat.core.threads import Expired, Pending, RunRow, Summary, Thread, ThreadCursor
from rightseat.core.types import JsonValue
from rightseat.stores import deletions, rows
from rightseat.stores.prepared import PreparedStatement
from rightseat.stores.struct_rows import StructRows
from rightseat.stores.tables import (
    annotations,
    interrupts,
    messages,
    model_calls,
    prompt_contents,
    recordings,
    runs,
    threads,
)

THREAD_ID: BindParameter[str] = bindparam("of_thread")
OWNER: BindParameter[str] = bindparam("of_owner")
NOW: BindParameter[str] = bindparam("now")
OWN_THREAD = (threads.c.id == THREAD_ID, threads.c.owner == OWNER)
SUMMARY_ROWS = StructRows(
    Summary,
    {
        "id": threads.c.id,
        "agent": threads.c.agent,
        "name": threads.c.name,
        "archived": threads.c.archived,
        "created_at": threads.c.created_at,
        "updated_at": threads.c.updated_at,
    },
)
SUMMARY = SUMMARY_ROWS.columns

USE_ORDER = (threads.c.updated_at, threads.c.id)
NEWEST_FIRST = tuple(column.desc() for column in USE_ORDER)
# Reading

LOAD = select(*SUMMARY, threads.c.state).where(*OWN_THREAD)
MESSAGES = select(messages.c.message).where(messages.c.thread_id == THREAD_ID).order_by(messages.c.position)
OUTLINE = select(
    *SUMMARY,
    select(func.max(messages.c.position))
    .where(messages.c.thread_id == THREAD_ID)
    .scalar_subquery()
    .label("last_position"),
).where(*OWN_THREAD)
SOME_MESSAGES = (
    select(messages.c.message)
    .join(threads, threads.c.id == messages.c.thread_id)
    .where(*OWN_THREAD, messages.c.thread_id == THREAD_ID)
    .where(messages.c.position >= bindparam("start"), messages.c.position < bindparam("stop"))
    .order_by(messages.c.position)
)
RUN_ROWS = StructRows(
    RunRow,
    {
        "id": runs.c.id,
        "agent": runs.c.agent,
        "client_run_id": runs.c.client_run_id,
        "outcome": runs.c.outcome,
        "epoch": runs.c.epoch,
    },
)
RUNS = select(*RUN_ROWS.columns).where(runs.c.thread_id == THREAD_ID, runs.c.owner == OWNER).order_by(runs.c.number)
LIST = (
    select(*SUMMARY)
    .where(threads.c.owner == OWNER)
    .where(or_(bindparam("any_agent", type_=Boolean), threads.c.agent == bindparam("of_agent")))
    .where(or_(bindparam("in_archive", type_=Boolean), threads.c.archived.is_(False)))
    .order_by(*NEWEST_FIRST)
    .limit(bindparam("limit"))
)
LIST_AFTER = LIST.where(tuple_(*USE_ORDER) < tuple_(bindparam("after_time"), bindparam("after_id")))
PENDING = (
    select(interrupts)
    .where(interrupts.c.owner == OWNER, interrupts.c.answered_at.is_(None))
    .where(or_(interrupts.c.expires_at.is_(None), interrupts.c.expires_at > NOW))
    .where(or_(bindparam("any_thread", type_=Boolean), interrupts.c.thread_id == THREAD_ID))
    .order_by(interrupts.c.created_at, interrupts.c.position)
)

UNFINISHED_RUNS = (
    select(runs.c.id)
    .where(runs.c.owner == OWNER, runs.c.outcome.is_(None))
    .where(or_(bindparam("any_thread", type_=Boolean), runs.c.thread_id == THREAD_ID))
)


def load(connection: Connection, thread_id: str, owner: str) -> Thread | None:
    own = {"of_thread": thread_id, "of_owner": owner}
    found = connection.execute(LOAD, own).first()
    if found is None:
        return None
    stored = connection.execute(MESSAGES, {"of_thread": thread_id}).scalars()
    return Thread(
        thread_id,
        tuple(msgspec.json.decode(one, type=Message) for one in stored),
        read_json(found.state),
        tuple(RUN_ROWS.read(row) for row in connection.execute(RUNS, own)),
        summary(found),
    )


def outline(connection: Connection, thread_id: str, owner: str) -> ThreadOutline | None:
    own = {"of_thread": thread_id, "of_owner": owner}
    found = connection.execute(OUTLINE, own).first()
    if found is None:
        return None
    count = 0 if found.last_position is None else found.last_position + 1  # positions have no gaps
    of_thread = tuple(RUN_ROWS.read(row) for row in connection.execute(RUNS, own))
    return ThreadOutline(thread_id, count, of_thread, summary(found))


def read_messages(connection: Connection, thread_id: str, owner: str, start: int, stop: int) -> list[Message]:
    wanted = {"of_thread": thread_id, "of_owner": owner, "start": start, "stop": stop}
    stored = connection.execute(SOME_MESSAGES, wanted).scalars()
    return [msgspec.json.decode(one, type=Message) for one in stored]


def list_threads(
    connection: Connection, owner: str, agent: str | None, archived: bool, limit: int, after: ThreadCursor | None = None
) -> list[Summary]:
    parameters = {
        "of_owner": owner,
        "any_agent": agent is None,
        "of_agent": agent,
        "in_archive": archived,
        "limit": limit,
    }
    if after is None:
        return [summary(row) for row in connection.execute(LIST, parameters)]
    parameters |= {"after_time": after.updated_at, "after_id": after.id}
    return [summary(row) for row in connection.execute(LIST_AFTER, parameters)]


def pending(connection: Connection, owner: str, thread_id: str | None) -> list[Pending]:
    parameters = {"of_owner": owner, "of_thread": thread_id, "any_thread": thread_id is None, "now": rows.now()}
    return [read_pending(row) for row in connection.execute(PENDING, parameters)]


def list_unfinished_runs(connection: Connection, owner: str, thread_id: str | None) -> list[str]:
    parameters = {"of_owner": owner, "of_thread": thread_id, "any_thread": thread_id is None}
    return list(connection.execute(UNFINISHED_RUNS, parameters).scalars())


def read_pending(row: Any) -> Pending:
    interrupt = msgspec.json.decode(row.interrupt, type=Interrupt)
    call = msgspec.json.decode(row.tool_call, type=Call) if row.tool_call else None
    return Pending(interrupt, row.thread_id, row.run_id, row.agent, call)


def summary(row: Any) -> Summary:
    return SUMMARY_ROWS.read(row)


# Changing and deleting

RENAME = update(threads).where(*OWN_THREAD).values(name=bindparam("to_name"), updated_at=NOW)
ARCHIVE = update(threads).where(*OWN_THREAD).values(archived=bindparam("to_archived"), updated_at=NOW)
RUN_IDS = select(runs.c.id).where(runs.c.thread_id == THREAD_ID, runs.c.owner == OWNER)
DELETE = delete(threads).where(*OWN_THREAD)
DELETE_WITH_THREAD = [
    delete(table).where(table.c.thread_id == THREAD_ID, table.c.owner == OWNER)
    for table in (annotations, recordings, model_calls, prompt_contents)
]
EXPIRED = (
    select(threads.c.id, threads.c.owner)
    .where(threads.c.active_run_id.is_(None), threads.c.updated_at < bindparam("before"))
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)  # another replica deletes those, or a run begins; SQLite has one writer
)


IS_EXPIRED = (
    (interrupts.c.answered_at.is_(None))
    & (interrupts.c.expires_at < bindparam("before"))
    & exists().where(threads.c.id == interrupts.c.thread_id, threads.c.active_run_id.is_(None))
)
EXPIRED_INTERRUPT = PreparedStatement(select(interrupts.c.thread_id).where(IS_EXPIRED).limit(1))
EXPIRE_INTERRUPTS = update(interrupts).where(IS_EXPIRED).values(answered_at=NOW).returning(*interrupts.c)


def change(connection: Connection, thread_id: str, owner: str, name: str | None, archived: bool | None) -> Summary:
    own = {"of_thread": thread_id, "of_owner": owner, "now": rows.now()}
    if name is not None:
        connection.execute(RENAME, {**own, "to_name": name.replace("\0", "")})
    if archived is not None:
        connection.execute(ARCHIVE, {**own, "to_archived": archived})
    found = connection.execute(LOAD, {"of_thread": thread_id, "of_owner": owner}).first()
    if found is None:
        raise ThreadNotFound(thread_id)
    return summary(found)


def delete_thread(connection: Connection, thread_id: str, owner: str) -> list[str]:
    own = {"of_thread": thread_id, "of_owner": owner}
    run_ids = connection.execute(RUN_IDS, own).scalars().all()
    if not connection.execute(DELETE, own).rowcount:
        raise ThreadNotFound(thread_id)
    deletions.add(connection, "thread", owner, [thread_id])
    for statement in DELETE_WITH_THREAD:
        connection.execute(statement, own)
    return list(run_ids)


def expire(connection: Connection, before: str, limit: int) -> tuple[int, list[str]]:
    """Return how many threads were deleted, and the ids of their runs."""
    found = connection.execute(EXPIRED, {"before": before, "limit": limit}).all()
    return len(found), [run_id for row in found for run_id in delete_thread(connection, row.id, row.owner)]


def expire_interrupts(connection: Connection, before: str) -> list[Expired]:
    found = connection.execute(EXPIRE_INTERRUPTS, {"before": before, "now": rows.now()}).all()
    return [Expired(row.owner, read_pending(row)) for row in found]


def write_json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def read_json(text: str | None) -> JsonValue:
    found: JsonValue = None if text is None else msgspec.json.decode(text)
    return found
