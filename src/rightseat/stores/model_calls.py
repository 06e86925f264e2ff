"""What models were sent, in a SQL database."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, delete, insert, or_, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from rightseat.core.types import JsonValue
from rightseat.operations.model_calls import CallEnd, CallRun, SentCall, StoredCall, StoredCallPage
from rightseat.stores import rows
from rightseat.stores.prepared import PreparedStatement
from rightseat.stores.store_database import StoreDatabase
from rightseat.stores.tables import model_calls, prompt_contents

MAX_VALUES = 500
"""Hashes in one statement."""
ADD_CALL = PreparedStatement(insert(model_calls))
END_CALL = PreparedStatement(
    update(model_calls).where(model_calls.c.id == bindparam("of_call")).values(ended=bindparam("to_end"))
)


def prepare_contents(new: postgresql.Insert | sqlite.Insert) -> PreparedStatement:
    """A content that is known is kept for as long as the new call."""
    columns, later = prompt_contents.c, new.excluded.expires_at
    key = [columns.thread_id, columns.owner, columns.hash]
    return PreparedStatement(
        new.on_conflict_do_update(index_elements=key, set_={"expires_at": later}, where=columns.expires_at < later)
    )


ADD_CONTENTS = {
    "sqlite": prepare_contents(sqlite.insert(prompt_contents)),
    "postgresql": prepare_contents(postgresql.insert(prompt_contents)),
}
_decode = msgspec.json.Decoder(SentCall).decode
_decode_end = msgspec.json.Decoder(CallEnd).decode


class SqlModelCalls:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def add(self, run: CallRun, call: SentCall, contents: Mapping[str, str], expires_at: str) -> None:
        await self._database.write(add, run, call, contents, expires_at, self._database.dialect)

    async def end(self, call: str, end: CallEnd) -> None:
        await self._database.write(end_call, call, end)

    async def find(self, run: str) -> CallRun | None:
        return None if "\0" in run else await self._database.scan(find, run)

    async def list(self, run: str, limit: int, after: str | None = None) -> StoredCallPage:
        return await self._database.scan(list_calls, run, limit, after)

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return await self._database.scan(read_user, user)

    async def forget_user(self, user: str) -> int:
        deleted = await self._database.write(forget_user, user)
        self._database.erase()
        return deleted


def add(
    connection: Connection, run: CallRun, call: SentCall, contents: Mapping[str, str], expires_at: str, dialect: str
) -> None:
    of_thread = {"thread_id": run.thread.replace("\0", ""), "owner": run.owner, "expires_at": expires_at}
    sent = msgspec.json.encode(call).decode()
    row = {"id": call.call, "run_id": run.run, "agent": run.agent, "sent": sent, "created_at": rows.now(), **of_thread}
    ADD_CALL.change(connection, row)
    if contents:
        ordered = sorted(contents.items())  # so that two servers never deadlock
        added = ({"hash": hash, "content": content, **of_thread} for hash, content in ordered)
        ADD_CONTENTS[dialect].change(connection, *added)


def end_call(connection: Connection, call: str, end: CallEnd) -> None:
    END_CALL.change(connection, {"of_call": call, "to_end": msgspec.json.encode(end).decode()})


def keep(connection: Connection, run: str, until: str) -> None:
    """All contents of the thread are kept as long."""
    found = find(connection, run)
    if found is None:
        return
    calls, contents = model_calls.c, prompt_contents.c
    connection.execute(
        update(model_calls).where(calls.run_id == run, calls.expires_at < until).values(expires_at=until)
    )
    own = (contents.thread_id == found.thread, contents.owner == found.owner, contents.expires_at < until)
    connection.execute(update(prompt_contents).where(*own).values(expires_at=until))


def find(connection: Connection, run: str) -> CallRun | None:
    columns = model_calls.c
    found = select(columns.run_id, columns.thread_id, columns.owner, columns.agent).where(columns.run_id == run)
    row = connection.execute(found.limit(1)).first()
    return None if row is None else CallRun(*row)


def list_calls(connection: Connection, run: str, limit: int, after: str | None) -> StoredCallPage:
    columns = model_calls.c
    wanted = select(model_calls).where(columns.run_id == run).order_by(columns.created_at, columns.id)
    if after is not None:
        time = select(columns.created_at).where(columns.id == after).scalar_subquery()
        wanted = wanted.where(or_(columns.created_at > time, (columns.created_at == time) & (columns.id > after)))
    found = connection.execute(wanted.limit(limit + 1)).all()
    calls = [StoredCall(_decode(row.sent), _decode_end(row.ended) if row.ended else None) for row in found[:limit]]
    if not calls:
        return StoredCallPage((), {})
    sent = [call.sent for call in calls]
    hashes = dict.fromkeys(chain.from_iterable((*one.instructions, *one.messages, *one.tools) for one in sent))
    contents = read_contents(connection, found[0].thread_id, found[0].owner, [*hashes])
    return StoredCallPage(calls, contents, sent[-1].call if len(found) > limit else None)


def read_contents(connection: Connection, thread: str, owner: str, hashes: Sequence[str]) -> Mapping[str, str]:
    columns = prompt_contents.c
    own = select(columns.hash, columns.content).where(columns.thread_id == thread, columns.owner == owner)
    contents = dict[str, str]()
    for start in range(0, len(hashes), MAX_VALUES):
        part = connection.execute(own.where(columns.hash.in_(hashes[start : start + MAX_VALUES])))
        contents.update((row.hash, row.content) for row in part)
    return contents


def read_user(connection: Connection, user: str) -> Sequence[JsonValue]:
    """The calls with their contents in place."""
    columns = model_calls.c
    found = select(model_calls).where(columns.owner == user).order_by(columns.created_at, columns.id)
    own = select(prompt_contents).where(prompt_contents.c.owner == user)
    contents = {(row.thread_id, row.hash): msgspec.json.decode(row.content) for row in connection.execute(own)}
    return [describe(row, contents) for row in connection.execute(found)]


def describe(row: Any, contents: Mapping[tuple[str, str], JsonValue]) -> JsonValue:
    sent = msgspec.json.decode(row.sent)
    for name in ("instructions", "messages", "tools"):
        sent[name] = [contents.get((row.thread_id, hash)) for hash in sent.get(name, ())]
    return {"run": row.run_id, "thread": row.thread_id, **sent, "ended": msgspec.json.decode(row.ended or "null")}


def forget_user(connection: Connection, user: str) -> int:
    connection.execute(delete(prompt_contents).where(prompt_contents.c.owner == user))
    return connection.execute(delete(model_calls).where(model_calls.c.owner == user)).rowcount


def expire_calls(connection: Connection, before: str, limit: int) -> int:
    """Delete calls whose time has passed. Returns how many."""
    old = select(model_calls.c.id).where(model_calls.c.expires_at < before).limit(limit)
    return connection.execute(delete(model_calls).where(model_calls.c.id.in_(old))).rowcount


def expire_contents(connection: Connection, before: str, limit: int) -> int:
    columns = prompt_contents.c
    key = tuple_(columns.thread_id, columns.owner, columns.hash)
    old = select(columns.thread_id, columns.owner, columns.hash).where(columns.expires_at < before).limit(limit)
    return connection.execute(delete(prompt_contents).where(key.in_(old))).rowcount
