"""The statements that begin and end a run of a thread, as functions of a connection that is inside a transaction."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import BindParameter, Connection, Text, bindparam, delete, exists, func, insert, or_, select, update

from rightseat.core.ask import Ask
from rightseat.core.errors import QuotaExceeded, RunExists, StaleWriter, ThreadBusy, ThreadNotFound
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.messages import Message
from rightseat.core.threads import THREAD_BYTES, Pending, RunClaim
from rightseat.core.types import JsonValue
from rightseat.core.usage import RunTotals
from rightseat.operations.recordings import record_ask
from rightseat.operations.records import RunEnd, begin_record, describe_end
from rightseat.stores import rows
from rightseat.stores.prepared import PreparedStatement
from rightseat.stores.run_columns import BEGIN_COLUMNS, END_COLUMNS
from rightseat.stores.tables import interrupts, message_texts, messages, runs, threads
from rightseat.stores.thread_queries import NOW, OWN_THREAD, OWNER, THREAD_ID, pending, read_json, write_json

RUN_ID: BindParameter[str] = bindparam("of_run")

# A run begins

FIND_THREAD = PreparedStatement(
    select(threads.c.owner, threads.c.active_run_id, threads.c.state).where(threads.c.id == THREAD_ID).with_for_update()
)
ADD_THREAD = PreparedStatement(insert(threads))
CLAIM = PreparedStatement(
    update(threads)
    .where(*OWN_THREAD)
    .values(active_run_id=RUN_ID, updated_at=NOW, name=func.coalesce(threads.c.name, bindparam("first_words")))
)
ADD_RUN = PreparedStatement(insert(runs))
MAX_EPOCH = PreparedStatement(select(func.coalesce(func.max(runs.c.epoch), 0)).where(runs.c.thread_id == THREAD_ID))
RESTART_RUN = update(runs).where(runs.c.id == RUN_ID).values(epoch=runs.c.epoch + 1, process_id=bindparam("to_process"))
EPOCH = select(runs.c.epoch).where(runs.c.id == RUN_ID)
ASKED_AT = (
    select(func.max(runs.c.finished_at))
    .join(interrupts, interrupts.c.run_id == runs.c.id)
    .where(interrupts.c.thread_id == THREAD_ID, interrupts.c.id.in_(bindparam("of_interrupts", expanding=True)))
)
REPEATED_RUN = (
    select(runs.c.id)
    .where(
        runs.c.thread_id == THREAD_ID,
        runs.c.client_run_id == bindparam("of_client_run"),
        runs.c.agent == bindparam("of_agent"),
        runs.c.outcome != "cancelled",
    )
    .limit(1)
)
MESSAGE_IDS = select(messages.c.id, messages.c.position).where(messages.c.thread_id == THREAD_ID)
MESSAGE_IDS = MESSAGE_IDS.order_by(messages.c.position)
ALL_MESSAGE_IDS = PreparedStatement(MESSAGE_IDS)
FEW_IDS = [f"id{number}" for number in range(8)]
FEW_MESSAGE_IDS = PreparedStatement(
    MESSAGE_IDS.where(
        or_(
            messages.c.id.in_([bindparam(name, type_=Text) for name in FEW_IDS]),
            messages.c.position
            == select(func.max(messages.c.position)).where(messages.c.thread_id == THREAD_ID).scalar_subquery(),
        )
    )
)
"""Those of up to eight messages, and of the last one. Reading 1,000 ids takes four times as long."""


def claim(connection: Connection, ask: Ask, process_id: int, again: bool = False) -> RunClaim:
    found = FIND_THREAD.fetch_one(connection, {"of_thread": ask.thread_id})
    if found is None and again:
        raise ThreadNotFound(ask.thread_id)
    if found is None:
        return _begin_thread(connection, ask, process_id)
    owner, active_run_id, state = found
    if owner != ask.principal.id:
        raise ThreadNotFound(ask.thread_id)
    if active_run_id is not None and active_run_id != ask.run_id:
        raise ThreadBusy(ask.thread_id, active_run_id)
    new = rows.new_messages(find_stored(connection, ask, ask.messages).ids, ask.messages)
    if active_run_id is None and rows.may_repeat(ask, new):
        _refuse_repeated(connection, ask)
    own = {"of_thread": ask.thread_id, "of_owner": ask.principal.id, "of_run": ask.run_id, "now": rows.now()}
    CLAIM.change(connection, {**own, "first_words": rows.name(new)})
    if active_run_id is None:
        [[last_epoch]] = MAX_EPOCH.fetch(connection, {"of_thread": ask.thread_id})
        epoch = _add_run(connection, ask, new, process_id, last_epoch + 1)
    else:
        epoch = _restart_run(connection, ask, process_id)
    open_interrupts = pending(connection, ask.principal.id, ask.thread_id)
    return RunClaim(epoch, new, read_json(state), tuple(open_interrupts))


def _refuse_repeated(connection: Connection, ask: Ask) -> None:
    repeated = {"of_thread": ask.thread_id, "of_client_run": ask.client_run_id, "of_agent": ask.agent}
    if (run_id := connection.execute(REPEATED_RUN, repeated).scalar()) is not None:
        raise RunExists(run_id)


def _begin_thread(connection: Connection, ask: Ask, process_id: int) -> RunClaim:
    new = rows.new_messages((), ask.messages)
    _add_thread(connection, ask, new, ask.run_id)
    return RunClaim(_add_run(connection, ask, new, process_id, 1), new)


def _add_thread(connection: Connection, ask: Ask, new: tuple[Message, ...], active_run_id: str | None) -> None:
    now = rows.now()
    row = {
        "id": ask.thread_id,
        "owner": ask.principal.id,
        "agent": ask.agent,
        "name": rows.name(new),
        "archived": False,
        "active_run_id": active_run_id,
        "created_at": now,
        "updated_at": now,
    }
    ADD_THREAD.change(connection, row)


class _StoredMessages(NamedTuple):
    """The messages of a thread that an ask does not remove."""

    ids: Collection[str]
    """At least those of the messages in question."""
    kept: int
    """How many there are."""
    removed: int
    """How many the ask removes."""


def find_stored(connection: Connection, ask: Ask, sent: Iterable[Message]) -> _StoredMessages:
    """Which of the messages that were sent the thread has. Positions have no gaps."""
    wanted = {message.id for message in sent}
    if ask.truncate_at is not None:
        wanted.add(ask.truncate_at)
    if len(wanted) <= len(FEW_IDS):
        few = dict(zip_longest(FEW_IDS, wanted, fillvalue=""))
        found = FEW_MESSAGE_IDS.fetch(connection, {"of_thread": ask.thread_id, **few})
    else:
        found = ALL_MESSAGE_IDS.fetch(connection, {"of_thread": ask.thread_id})
    total = found[-1][1] + 1 if found else 0
    kept = next((position for id, position in found if id == ask.truncate_at), total)
    return _StoredMessages({id for id, position in found if position < kept}, kept, total - kept)


def _add_run(connection: Connection, ask: Ask, new: tuple[Message, ...], process_id: int, epoch: int) -> int:
    row = {
        "client_run_id": ask.client_run_id,
        "epoch": epoch,
        "process_id": process_id,
        "ask": write_json(storable_ask(ask, new)),
        "request": write_json(record_ask(ask)),
    }
    record = begin_record(ask, rows.now(), _find_question_time(connection, ask))
    ADD_RUN.change(connection, row | {column: getattr(record, field) for field, column in BEGIN_COLUMNS.items()})
    return epoch


def _find_question_time(connection: Connection, ask: Ask) -> str | None:
    answered = [answer.interrupt_id for answer in ask.answers]
    if not answered:
        return None
    return connection.execute(ASKED_AT, {"of_thread": ask.thread_id, "of_interrupts": answered}).scalar()


def storable_ask(ask: Ask, new: tuple[Message, ...]) -> Ask:
    """The part of an ask that another process needs to end the run; if it is durable, to resume it.

    Headers may be secrets, and are not stored.
    """
    if ask.durable:
        return msgspec.structs.replace(ask, headers={})
    return msgspec.structs.replace(ask, messages=new, tools=(), context=(), properties={}, headers={})


def _restart_run(connection: Connection, ask: Ask, process_id: int) -> int:
    connection.execute(RESTART_RUN, {"of_run": ask.run_id, "to_process": process_id})
    epoch: int = connection.execute(EPOCH, {"of_run": ask.run_id}).scalar_one()
    return epoch


ADVANCE = update(runs).where(runs.c.id == RUN_ID, runs.c.epoch == bindparam("under_epoch"), runs.c.outcome.is_(None))
ADVANCE = ADVANCE.values(epoch=runs.c.epoch + 1)


def advance_epoch(connection: Connection, run_id: str, epoch: int) -> int:
    if not connection.execute(ADVANCE, {"of_run": run_id, "under_epoch": epoch}).rowcount:
        raise StaleWriter(run_id, epoch, connection.execute(EPOCH, {"of_run": run_id}).scalar() or epoch)
    return epoch + 1


# A run ends

RELEASE_THREAD = PreparedStatement(
    update(threads)
    .where(*OWN_THREAD, threads.c.active_run_id == RUN_ID)
    .where(exists().where(runs.c.id == RUN_ID, runs.c.epoch == bindparam("under_epoch")))
    .values(active_run_id=None, state=bindparam("to_state"), updated_at=NOW)
)
FINISH = PreparedStatement(
    update(runs)
    .where(runs.c.id == RUN_ID)
    .values({column: bindparam(f"to_{field}") for field, column in END_COLUMNS.items()} | {runs.c.ask: None})
)
ADD_MESSAGES = PreparedStatement(insert(messages))
ADD_TEXTS = PreparedStatement(insert(message_texts))
ANSWER_INTERRUPT = (
    update(interrupts)
    .where(
        interrupts.c.thread_id == THREAD_ID, interrupts.c.owner == OWNER, interrupts.c.id == bindparam("of_interrupt")
    )
    .values(answered_at=NOW, payload=bindparam("to_payload"))
)
DELETE_INTERRUPT = delete(interrupts).where(
    interrupts.c.thread_id == THREAD_ID, interrupts.c.id == bindparam("of_interrupt")
)
ADD_INTERRUPTS = insert(interrupts)
FROM_POSITION: BindParameter[int] = bindparam("from_position")
REMOVED = (messages.c.thread_id == THREAD_ID, messages.c.position >= FROM_POSITION)
MESSAGES_FROM = select(messages.c.message).where(*REMOVED)
DELETE_MESSAGES_FROM = delete(messages).where(*REMOVED)
DELETE_TEXTS_FROM = delete(message_texts).where(
    message_texts.c.thread_id == THREAD_ID, message_texts.c.position >= FROM_POSITION
)


def finish(
    connection: Connection,
    ask: Ask,
    epoch: int,
    run_messages: tuple[Message, ...],
    state: JsonValue,
    last: RunFinished | RunFailed,
    totals: RunTotals | None,
) -> None:
    own: dict[str, Any] = {"of_thread": ask.thread_id, "of_owner": ask.principal.id, "of_run": ask.run_id}
    own["now"] = rows.now()
    if not RELEASE_THREAD.change(connection, {**own, "under_epoch": epoch, "to_state": write_json(state)}):
        return _check_epoch(connection, ask, epoch)
    FINISH.change(connection, {"of_run": ask.run_id, **_write_end(describe_end(last, totals, own["now"]))})
    sent = (*ask.messages, *run_messages)
    stored = find_stored(connection, ask, sent)
    if stored.removed:
        truncate(connection, ask, stored.kept)
    if new := rows.new_messages(stored.ids, sent):
        written = dict.fromkeys(rows.reply_ids(run_messages), ask.run_id)
        add_messages(connection, ask.thread_id, stored.kept, new, written)
    if ask.answers:
        answers = [(answer.interrupt_id, answer.payload) for answer in ask.answers]
        connection.execute(ANSWER_INTERRUPT, [own | _answer(id, payload) for id, payload in answers])
    if opened := rows.open_interrupts(ask, (*ask.messages, *run_messages), last):
        ids = [{"of_thread": ask.thread_id, "of_interrupt": one.interrupt.id} for one in opened]
        connection.execute(DELETE_INTERRUPT, ids)
        connection.execute(ADD_INTERRUPTS, [_interrupt_row(ask, position, one) for position, one in enumerate(opened)])


def truncate(connection: Connection, ask: Ask, kept: int) -> None:
    """Delete all messages but the first, and close the interrupts of their calls."""
    after = {"of_thread": ask.thread_id, "from_position": kept}
    if waiting := [one for one in pending(connection, ask.principal.id, ask.thread_id) if one.call]:
        stored = connection.execute(MESSAGES_FROM, after).scalars()
        calls = rows.call_ids(msgspec.json.decode(one, type=Message) for one in stored)
        waiting = [one for one in waiting if one.call and one.call.id in calls]
    if waiting:
        own: dict[str, Any] = {"of_thread": ask.thread_id, "of_owner": ask.principal.id, "now": rows.now()}
        connection.execute(ANSWER_INTERRUPT, [own | _answer(one.interrupt.id) for one in waiting])
    connection.execute(DELETE_TEXTS_FROM, after)
    connection.execute(DELETE_MESSAGES_FROM, after)


def _answer(id: str, payload: JsonValue = None) -> dict[str, str | None]:
    return {"of_interrupt": id, "to_payload": write_json(payload)}


def _write_end(end: RunEnd) -> dict[str, Any]:
    values = {f"to_{field}": getattr(end, field) for field in END_COLUMNS}
    return values | {"to_models": write_json(end.models) if end.models else None}


def _check_epoch(connection: Connection, ask: Ask, epoch: int) -> None:
    """Ignore a run whose thread was deleted. Raises `StaleWriter` if another process has claimed the run."""
    current = connection.execute(EPOCH, {"of_run": ask.run_id}).scalar()
    if current is not None and current != epoch:
        raise StaleWriter(ask.run_id, epoch, current)


def add_messages(
    connection: Connection, thread_id: str, first: int, new: Sequence[Message], written: Mapping[str, str]
) -> None:
    """`written` has the run of each message that a run wrote."""
    numbered = list(enumerate(new, first))
    ADD_MESSAGES.change(
        connection, *(_message_row(thread_id, position, one, written.get(one.id)) for position, one in numbered)
    )
    texts = ((position, rows.searchable_text(one)) for position, one in numbered)
    found = [{"thread_id": thread_id, "position": position, "text": text} for position, text in texts if text]
    if found:
        ADD_TEXTS.change(connection, *found)


def _message_row(thread_id: str, position: int, message: Message, run_id: str | None) -> dict[str, Any]:
    row = {"thread_id": thread_id, "position": position, "id": message.id, "message": write_json(message)}
    return row | {"run_id": run_id}


def _interrupt_row(ask: Ask, position: int, pending: Pending) -> dict[str, Any]:
    return {
        "thread_id": ask.thread_id,
        "id": pending.interrupt.id,
        "run_id": ask.run_id,
        "owner": ask.principal.id,
        "agent": ask.agent,
        "interrupt": write_json(pending.interrupt),
        "tool_call": write_json(pending.call),
        "created_at": rows.now(),
        "position": position,
        "expires_at": rows.expiry(pending),
    }


# Messages without a run

USE_THREAD = (
    update(threads)
    .where(*OWN_THREAD)
    .values(updated_at=NOW, name=func.coalesce(threads.c.name, bindparam("first_words")))
)


LOCK_OWNER = select(func.pg_advisory_xact_lock(func.hashtextextended(OWNER, 14)))
"""Two appends of one user to different threads would not see each other. SQLite has one writer."""
APPENDED_BYTES = select(func.coalesce(func.sum(threads.c.appended_bytes), 0)).where(
    threads.c.owner == OWNER, threads.c.appended_bytes.is_not(None)
)
ADD_APPENDED_BYTES = (
    update(threads)
    .where(threads.c.id == THREAD_ID, threads.c.owner == OWNER)
    .values(appended_bytes=func.coalesce(threads.c.appended_bytes, 0) + bindparam("added"))
)


def append_messages(connection: Connection, ask: Ask, quota: int | None) -> None:
    found = FIND_THREAD.fetch_one(connection, {"of_thread": ask.thread_id})
    owner, active_run_id, _ = found or (ask.principal.id, None, None)
    if owner != ask.principal.id:
        raise ThreadNotFound(ask.thread_id)
    if active_run_id is not None:
        raise ThreadBusy(ask.thread_id, active_run_id)
    stored = find_stored(connection, ask, ask.messages)
    new = rows.new_messages(stored.ids, ask.messages)
    added = rows.size_of_messages(new) + (THREAD_BYTES if found is None else 0)
    if quota is not None:
        _check_quota(connection, ask, added, quota)
    if found is None:
        _add_thread(connection, ask, new, None)
    else:
        own = {"of_thread": ask.thread_id, "of_owner": ask.principal.id, "now": rows.now()}
        connection.execute(USE_THREAD, {**own, "first_words": rows.name(new)})
    if new:
        add_messages(connection, ask.thread_id, stored.kept, new, {})
    connection.execute(ADD_APPENDED_BYTES, {"of_thread": ask.thread_id, "of_owner": ask.principal.id, "added": added})


def _check_quota(connection: Connection, ask: Ask, added: int, quota: int) -> None:
    own = {"of_owner": ask.principal.id}
    if connection.dialect.name == "postgresql":
        connection.execute(LOCK_OWNER, own)
    used = int(connection.execute(APPENDED_BYTES, own).scalar_one())
    if used + added > quota:
        raise QuotaExceeded(used, added, quota)
