"""What is asked of the database: functions that are called with a connection, inside a transaction.

Every statement is made once, because to make one anew costs more than to run it. Every one that finds something for a
person says whose it must be.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import BindParameter, Boolean, Connection, bindparam, delete, exists, func, insert, or_, select, update

from rightseat.core.artifacts import Stored
from rightseat.core.ask import Ask
from rightseat.core.errors import StaleWriter, ThreadBusy, ThreadNotFound
from rightseat.core.events import Interrupt, RunFailed, RunFinished
from rightseat.core.messages import Call, Message
from rightseat.core.threads import Beginning, Expired, Pending, RunRow, Summary, Thread
from rightseat.core.values import JsonValue
from rightseat.stores import keeping
from rightseat.stores.tables import files, interrupts, messages, processes, runs, threads

ID: BindParameter[str] = bindparam("of_thread")
OWNER: BindParameter[str] = bindparam("of_owner")
RUN: BindParameter[str] = bindparam("of_run")
NOW: BindParameter[str] = bindparam("now")
MINE = (threads.c.id == ID, threads.c.owner == OWNER)
SUMMARY = (
    threads.c.id,
    threads.c.agent,
    threads.c.name,
    threads.c.archived,
    threads.c.created_at,
    threads.c.updated_at,
)

# A run begins

FIND = select(threads.c.owner, threads.c.busy, threads.c.state).where(threads.c.id == ID).with_for_update()
ADD_THREAD = insert(threads)
CLAIM = (
    update(threads)
    .where(*MINE)
    .values(busy=RUN, updated_at=NOW, name=func.coalesce(threads.c.name, bindparam("words")))
)
ADD_RUN = insert(runs)
HIGHEST = select(func.coalesce(func.max(runs.c.epoch), 0)).where(runs.c.thread == ID)
RUN_AGAIN = update(runs).where(runs.c.id == RUN).values(epoch=runs.c.epoch + 1, process=bindparam("to_process"))
EPOCH = select(runs.c.epoch).where(runs.c.id == RUN)
KNOWN = select(messages.c.id).where(messages.c.thread == ID)


def begin(connection: Connection, ask: Ask, process: int, again: bool = False) -> Beginning:
    found = connection.execute(FIND, {"of_thread": ask.thread_id}).first()
    if found is None and again:
        raise ThreadNotFound(ask.thread_id)
    if found is None:
        return _begin_thread(connection, ask, process)
    if found.owner != ask.principal.id:
        raise ThreadNotFound(ask.thread_id)
    if found.busy is not None and found.busy != ask.run_id:
        raise ThreadBusy(ask.thread_id, found.busy)
    said = keeping.unknown(_known(connection, ask), ask.messages)
    mine = {"of_thread": ask.thread_id, "of_owner": ask.principal.id, "of_run": ask.run_id, "now": keeping.now()}
    connection.execute(CLAIM, {**mine, "words": keeping.name(said)})
    epoch = _add_run(connection, ask, said, process) if found.busy is None else _run_again(connection, ask, process)
    open_questions = pending(connection, ask.principal.id, ask.thread_id)
    return Beginning(epoch, said, read_json(found.state), tuple(open_questions))


def _begin_thread(connection: Connection, ask: Ask, process: int) -> Beginning:
    now, said = keeping.now(), keeping.unknown((), ask.messages)
    row = {
        "id": ask.thread_id,
        "owner": ask.principal.id,
        "agent": ask.agent,
        "name": keeping.name(said),
        "archived": False,
        "busy": ask.run_id,
        "created_at": now,
        "updated_at": now,
    }
    connection.execute(ADD_THREAD, row)
    return Beginning(_add_run(connection, ask, said, process), said)


def _known(connection: Connection, ask: Ask) -> Sequence[str]:
    return connection.execute(KNOWN, {"of_thread": ask.thread_id}).scalars().all()


def _add_run(connection: Connection, ask: Ask, said: tuple[Message, ...], process: int) -> int:
    epoch: int = connection.execute(HIGHEST, {"of_thread": ask.thread_id}).scalar_one() + 1
    row = {
        "id": ask.run_id,
        "thread": ask.thread_id,
        "owner": ask.principal.id,
        "agent": ask.agent,
        "client_run_id": ask.client_run_id,
        "epoch": epoch,
        "process": process,
        "ask": write_json(what_matters(ask, said)),
        "created_at": keeping.now(),
    }
    connection.execute(ADD_RUN, row)
    return epoch


def what_matters(ask: Ask, said: tuple[Message, ...]) -> Ask:
    """Of an ask, what its run needs to be ended by another process; if it is durable, to go on there.

    Headers may be secrets, and are not kept.
    """
    if ask.durable:
        return msgspec.structs.replace(ask, headers={})
    return msgspec.structs.replace(ask, messages=said, tools=(), context=(), properties={}, headers={})


def _run_again(connection: Connection, ask: Ask, process: int) -> int:
    connection.execute(RUN_AGAIN, {"of_run": ask.run_id, "to_process": process})
    epoch: int = connection.execute(EPOCH, {"of_run": ask.run_id}).scalar_one()
    return epoch


ADVANCE = update(runs).where(runs.c.id == RUN, runs.c.epoch == bindparam("under_epoch"), runs.c.outcome.is_(None))
ADVANCE = ADVANCE.values(epoch=runs.c.epoch + 1)


def advance(connection: Connection, run_id: str, epoch: int) -> int:
    if not connection.execute(ADVANCE, {"of_run": run_id, "under_epoch": epoch}).rowcount:
        raise StaleWriter(run_id, epoch, connection.execute(EPOCH, {"of_run": run_id}).scalar() or epoch)
    return epoch + 1


# A run ends

LET_GO = (
    update(threads)
    .where(*MINE, threads.c.busy == RUN)
    .where(exists().where(runs.c.id == RUN, runs.c.epoch == bindparam("under_epoch")))
    .values(busy=None, state=bindparam("to_state"), updated_at=NOW)
)
FINISH = update(runs).where(runs.c.id == RUN).values(outcome=bindparam("to_outcome"), finished_at=NOW, ask=None)
ADD_MESSAGES = insert(messages)
ANSWER = (
    update(interrupts)
    .where(interrupts.c.thread == ID, interrupts.c.owner == OWNER, interrupts.c.id == bindparam("of_interrupt"))
    .values(answered_at=NOW)
)
ASK_AGAIN = delete(interrupts).where(interrupts.c.thread == ID, interrupts.c.id == bindparam("of_interrupt"))
ADD_INTERRUPTS = insert(interrupts)


def finish(
    connection: Connection,
    ask: Ask,
    epoch: int,
    said: tuple[Message, ...],
    state: JsonValue,
    last: RunFinished | RunFailed,
) -> None:
    mine = {"of_thread": ask.thread_id, "of_owner": ask.principal.id, "of_run": ask.run_id, "now": keeping.now()}
    kept = connection.execute(LET_GO, {**mine, "under_epoch": epoch, "to_state": write_json(state)})
    if not kept.rowcount:
        return _check_epoch(connection, ask, epoch)
    connection.execute(FINISH, {"of_run": ask.run_id, "to_outcome": keeping.outcome(last), "now": mine["now"]})
    known = _known(connection, ask)
    if new := keeping.unknown(known, (*ask.messages, *said)):
        rows = [_message(ask.thread_id, position, one) for position, one in enumerate(new, len(known))]
        connection.execute(ADD_MESSAGES, rows)
    if ask.answers:
        connection.execute(ANSWER, [{**mine, "of_interrupt": answer.interrupt_id} for answer in ask.answers])
    if asked := keeping.asked(ask, (*ask.messages, *said), last):
        connection.execute(ASK_AGAIN, [{"of_thread": ask.thread_id, "of_interrupt": one.interrupt.id} for one in asked])
        connection.execute(ADD_INTERRUPTS, [_interrupt(ask, position, one) for position, one in enumerate(asked)])


def _check_epoch(connection: Connection, ask: Ask, epoch: int) -> None:
    """A thread that was deleted takes its runs with it; else another process has this one."""
    current = connection.execute(EPOCH, {"of_run": ask.run_id}).scalar()
    if current is not None and current != epoch:
        raise StaleWriter(ask.run_id, epoch, current)


def _message(thread_id: str, position: int, message: Message) -> dict[str, Any]:
    return {"thread": thread_id, "position": position, "id": message.id, "message": write_json(message)}


def _interrupt(ask: Ask, position: int, asked: Pending) -> dict[str, Any]:
    return {
        "thread": ask.thread_id,
        "id": asked.interrupt.id,
        "run": ask.run_id,
        "owner": ask.principal.id,
        "agent": ask.agent,
        "interrupt": write_json(asked.interrupt),
        "call": write_json(asked.call),
        "created_at": keeping.now(),
        "position": position,
        "expires_at": keeping.expiry(asked),
    }


# Reading

LOAD = select(*SUMMARY, threads.c.state).where(*MINE)
MESSAGES = select(messages.c.message).where(messages.c.thread == ID).order_by(messages.c.position)
RUNS = select(runs.c.id, runs.c.agent, runs.c.client_run_id, runs.c.outcome, runs.c.epoch).where(runs.c.thread == ID)
RUNS = RUNS.where(runs.c.owner == OWNER).order_by(runs.c.number)
LIST = (
    select(*SUMMARY)
    .where(threads.c.owner == OWNER)
    .where(or_(bindparam("any_agent", type_=Boolean), threads.c.agent == bindparam("of_agent")))
    .where(or_(bindparam("in_archive", type_=Boolean), threads.c.archived.is_(False)))
    .order_by(threads.c.updated_at.desc(), threads.c.id)
    .limit(bindparam("most"))
)
PENDING = (
    select(interrupts)
    .where(interrupts.c.owner == OWNER, interrupts.c.answered_at.is_(None))
    .where(or_(interrupts.c.expires_at.is_(None), interrupts.c.expires_at > NOW))
    .where(or_(bindparam("any_thread", type_=Boolean), interrupts.c.thread == ID))
    .order_by(interrupts.c.created_at, interrupts.c.position)
)

UNFINISHED_OF = (
    select(runs.c.id)
    .where(runs.c.owner == OWNER, runs.c.outcome.is_(None))
    .where(or_(bindparam("any_thread", type_=Boolean), runs.c.thread == ID))
)


def load(connection: Connection, thread_id: str, owner: str) -> Thread | None:
    mine = {"of_thread": thread_id, "of_owner": owner}
    found = connection.execute(LOAD, mine).first()
    if found is None:
        return None
    said = connection.execute(MESSAGES, {"of_thread": thread_id}).scalars()
    return Thread(
        thread_id,
        tuple(msgspec.json.decode(one, type=Message) for one in said),
        read_json(found.state),
        tuple(RunRow(*row) for row in connection.execute(RUNS, mine)),
        summary(found),
    )


def list_threads(connection: Connection, owner: str, agent: str | None, archived: bool, limit: int) -> list[Summary]:
    asked = {"of_owner": owner, "any_agent": agent is None, "of_agent": agent, "in_archive": archived, "most": limit}
    return [summary(row) for row in connection.execute(LIST, asked)]


def pending(connection: Connection, owner: str, thread_id: str | None) -> list[Pending]:
    asked = {"of_owner": owner, "of_thread": thread_id, "any_thread": thread_id is None, "now": keeping.now()}
    return [read_pending(row) for row in connection.execute(PENDING, asked)]


def unfinished_of(connection: Connection, owner: str, thread_id: str | None) -> list[str]:
    asked = {"of_owner": owner, "of_thread": thread_id, "any_thread": thread_id is None}
    return list(connection.execute(UNFINISHED_OF, asked).scalars())


def read_pending(row: Any) -> Pending:
    interrupt = msgspec.json.decode(row.interrupt, type=Interrupt)
    call = msgspec.json.decode(row.call, type=Call) if row.call else None
    return Pending(interrupt, row.thread, row.run, row.agent, call)


def summary(row: Any) -> Summary:
    return Summary(row.id, row.agent, row.name, row.archived, row.created_at, row.updated_at)


# Changing and forgetting

RENAME = update(threads).where(*MINE).values(name=bindparam("to_name"), updated_at=NOW)
ARCHIVE = update(threads).where(*MINE).values(archived=bindparam("to_archived"), updated_at=NOW)
RUN_IDS = select(runs.c.id).where(runs.c.thread == ID, runs.c.owner == OWNER)
DELETE = delete(threads).where(*MINE)
EXPIRED = (
    select(threads.c.id, threads.c.owner)
    .where(threads.c.busy.is_(None), threads.c.updated_at < bindparam("before"))
    .limit(bindparam("most"))
)


EXPIRED_QUESTION = (
    (interrupts.c.answered_at.is_(None))
    & (interrupts.c.expires_at < bindparam("before"))
    & exists().where(threads.c.id == interrupts.c.thread, threads.c.busy.is_(None))
)
HAS_EXPIRED_QUESTIONS = select(exists().where(EXPIRED_QUESTION))
EXPIRE_QUESTIONS = update(interrupts).where(EXPIRED_QUESTION).values(answered_at=NOW).returning(*interrupts.c)


def change(connection: Connection, thread_id: str, owner: str, name: str | None, archived: bool | None) -> Summary:
    mine = {"of_thread": thread_id, "of_owner": owner, "now": keeping.now()}
    if name is not None:
        connection.execute(RENAME, {**mine, "to_name": name.replace("\0", "")})
    if archived is not None:
        connection.execute(ARCHIVE, {**mine, "to_archived": archived})
    found = connection.execute(LOAD, {"of_thread": thread_id, "of_owner": owner}).first()
    if found is None:
        raise ThreadNotFound(thread_id)
    return summary(found)


def delete_thread(connection: Connection, thread_id: str, owner: str) -> list[str]:
    mine = {"of_thread": thread_id, "of_owner": owner}
    run_ids = connection.execute(RUN_IDS, mine).scalars().all()
    if not connection.execute(DELETE, mine).rowcount:
        raise ThreadNotFound(thread_id)
    return list(run_ids)


def expire(connection: Connection, before: str, most: int) -> tuple[int, list[str]]:
    """How many threads were deleted, and the ids of their runs."""
    found = connection.execute(EXPIRED, {"before": before, "most": most}).all()
    return len(found), [run_id for row in found for run_id in delete_thread(connection, row.id, row.owner)]


def has_expired_questions(connection: Connection, before: str) -> bool:
    return bool(connection.execute(HAS_EXPIRED_QUESTIONS, {"before": before}).scalar())


def expire_questions(connection: Connection, before: str) -> list[Expired]:
    found = connection.execute(EXPIRE_QUESTIONS, {"before": before, "now": keeping.now()}).all()
    return [Expired(row.owner, read_pending(row)) for row in found]


# Runs of processes that died

UNFINISHED = select(runs.c.process).distinct().where(runs.c.outcome.is_(None), runs.c.process != bindparam("me"))
ORPHANS = select(runs.c.id, runs.c.ask).where(runs.c.outcome.is_(None), runs.c.process == bindparam("dead"))
ORPHANS = ORPHANS.order_by(runs.c.number).with_for_update()
ADOPT = (
    update(runs).where(runs.c.outcome.is_(None), runs.c.process == bindparam("dead")).values(process=bindparam("me"))
)
MINE_UNFINISHED = select(runs.c.id, runs.c.ask).where(runs.c.outcome.is_(None), runs.c.process == bindparam("me"))
BURY = delete(processes).where(processes.c.id == bindparam("dead"))


def others(connection: Connection, me: int) -> list[int]:
    """The others that have runs which are not finished."""
    return list(connection.execute(UNFINISHED, {"me": me}).scalars())


def adopt(connection: Connection, dead: int, me: int) -> list[Ask]:
    found = connection.execute(ORPHANS, {"dead": dead}).all()
    connection.execute(ADOPT, {"dead": dead, "me": me})
    connection.execute(BURY, {"dead": dead})  # not before its runs are ours
    return [msgspec.json.decode(row.ask, type=Ask) for row in found if row.ask]


def unfinished(connection: Connection, me: int) -> dict[str, Ask]:
    """The asks of the runs that are ours."""
    found = connection.execute(MINE_UNFINISHED, {"me": me})
    return {row.id: msgspec.json.decode(row.ask, type=Ask) for row in found if row.ask}


GOING_ON = select(runs.c.id).where(runs.c.outcome.is_(None), runs.c.id.in_(bindparam("of_runs", expanding=True)))


def going_on(connection: Connection, run_ids: Sequence[str]) -> set[str]:
    return set(connection.execute(GOING_ON, {"of_runs": list(run_ids)}).scalars())


def write_json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def read_json(text: str | None) -> JsonValue:
    found: JsonValue = None if text is None else msgspec.json.decode(text)
    return found


# Files

ADD_FILE = insert(files)
FILE = select(files.c.id, files.c.agent, files.c.name, files.c.media_type, files.c.content)
FILE = FILE.where(files.c.id == bindparam("of_file"), files.c.owner == OWNER)
TAKE_FILE = delete(files).where(files.c.id == bindparam("of_file"), files.c.owner == OWNER)
DELETE_LOOSE = delete(files).where(files.c.thread.is_(None), files.c.created_at < bindparam("before"))


def add_file(connection: Connection, ask: Ask, stored: Stored) -> None:
    row = msgspec.to_builtins(stored, builtin_types=(bytes,))
    whose = {"owner": ask.principal.id, "thread": None if ask.transient else ask.thread_id}
    connection.execute(ADD_FILE, row | whose | {"created_at": keeping.now()})


def replace_file(connection: Connection, ask: Ask, stored: Stored) -> None:
    connection.execute(TAKE_FILE, {"of_file": stored.id, "of_owner": ask.principal.id})
    add_file(connection, ask, stored)


def find_file(connection: Connection, id: str, owner: str) -> Stored | None:
    found = connection.execute(FILE, {"of_file": id, "of_owner": owner}).first()
    return None if found is None else Stored(*found)


def take_file(connection: Connection, id: str, owner: str, media_type: str) -> Stored | None:
    """Of two that take it at once, the one whose delete finds it has it."""
    found = find_file(connection, id, owner)
    if found is None or found.media_type != media_type:
        return None
    return found if connection.execute(TAKE_FILE, {"of_file": id, "of_owner": owner}).rowcount else None


def expire_files(connection: Connection, before: str) -> int:
    return connection.execute(DELETE_LOOSE, {"before": before}).rowcount
