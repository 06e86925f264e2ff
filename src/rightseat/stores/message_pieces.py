"""Writes most messages of a long run in transactions of their own, before the one that ends the run.

A SQLite file has one writer: thousands of messages in one transaction would make all other users wait for a second.
The run has its thread until the last transaction, so no other run sees the pieces. Wherever a process is killed between
two of them, `run_queries.finish` completes what they began.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, select

from rightseat.core.ask import Ask
from rightseat.core.messages import Message
from rightseat.stores import rows
from rightseat.stores.run_queries import RUN_ID, add_messages, find_stored, truncate
from rightseat.stores.store_database import StoreDatabase
from rightseat.stores.tables import runs, threads

PIECE_MESSAGES = 1_000

HELD_EPOCH = (
    select(runs.c.epoch)
    .join(threads, threads.c.active_run_id == runs.c.id)
    .where(runs.c.id == RUN_ID)
    .with_for_update(of=threads)
)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The thread has `total` messages, of which it keeps `kept`, before it gets the `new` ones."""

    total: int = 0
    kept: int = 0
    new: Sequence[Message] = ()


def may_be_long(ask: Ask, new: Sequence[Message]) -> bool:
    """Whether the run's end may write or remove many messages: `new` are those that its claim found."""
    return ask.truncate_at is not None or len(new) > PIECE_MESSAGES


async def write_pieces(database: StoreDatabase, ask: Ask, epoch: int, run_messages: Sequence[Message]) -> Ask:
    """The ask for `run_queries.finish`, to which short threads are left whole."""
    sent = (*ask.messages, *run_messages)
    plan = await database.read_beside(_plan, ask, sent)
    if max(plan.total - plan.kept, len(plan.new)) <= PIECE_MESSAGES:
        return ask
    for start in reversed(range(plan.kept, plan.total, PIECE_MESSAGES)):
        await database.write(_remove, ask, epoch, start)
    written = dict.fromkeys(rows.reply_ids(run_messages), ask.run_id)
    for first in range(0, len(plan.new), PIECE_MESSAGES):
        piece = plan.new[first : first + PIECE_MESSAGES]
        await database.write(_add, ask, epoch, plan.kept + first, piece, written)
    return msgspec.structs.replace(ask, truncate_at=None)


def _plan(connection: Connection, ask: Ask, sent: Sequence[Message]) -> _Plan:
    stored = find_stored(connection, ask, sent)
    return _Plan(stored.kept + stored.removed, stored.kept, rows.new_messages(stored.ids, sent))


def _remove(connection: Connection, ask: Ask, epoch: int, start: int) -> None:
    if _holds_thread(connection, ask, epoch):
        truncate(connection, ask, start)


def _add(
    connection: Connection, ask: Ask, epoch: int, first: int, piece: Sequence[Message], written: Mapping[str, str]
) -> None:
    if _holds_thread(connection, ask, epoch):
        add_messages(connection, ask.thread_id, first, piece, written)


def _holds_thread(connection: Connection, ask: Ask, epoch: int) -> bool:
    """Where another process has taken the run, or its thread was deleted, `run_queries.finish` deals with it."""
    return bool(connection.execute(HELD_EPOCH, {"of_run": ask.run_id}).scalar() == epoch)
