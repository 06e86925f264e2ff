"""Recordings in a SQL database, and what the rows of runs and questions have for a replay."""

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from rightseat.core.types import JsonValue
from rightseat.operations.recordings import RecordedAsk, RunRecording
from rightseat.stores import model_calls, rows
from rightseat.stores.store_database import StoreDatabase
from rightseat.stores.tables import interrupts, recordings, runs

_decode = msgspec.json.Decoder(RunRecording).decode
_decode_ask = msgspec.json.Decoder(RecordedAsk).decode


class SqlRecordings:
    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def add(self, recording: RunRecording, expires_at: str) -> None:
        await self._database.write(add, recording, expires_at, self._database.dialect)

    async def keep(self, run: str, until: str) -> None:
        await self._database.write(keep, run, until)

    async def find(self, run: str) -> RunRecording | None:
        return None if "\0" in run else await self._database.scan(find, run)

    async def list_thread(self, thread: str, owner: str) -> Sequence[RunRecording]:
        return () if "\0" in thread else await self._database.scan(list_thread, thread, owner)

    async def read_asks(self, thread: str) -> Mapping[str, RecordedAsk]:
        return await self._database.scan(read_asks, thread)

    async def read_payloads(self, thread: str) -> Mapping[str, JsonValue]:
        return await self._database.scan(read_payloads, thread)

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return await self._database.scan(read_user, user)

    async def forget_user(self, user: str) -> int:
        deleted = await self._database.write(forget_user, user)
        self._database.erase()
        return deleted


def add(connection: Connection, recording: RunRecording, expires_at: str, dialect: str) -> None:
    """A run that is continued by another process is recorded again."""
    row = {
        "run_id": recording.run,
        "thread_id": recording.thread.replace("\0", ""),
        "owner": recording.owner,
        "recording": msgspec.json.encode(recording).decode(),
        "created_at": rows.now(),
        "expires_at": expires_at,
    }
    new = (postgresql if dialect == "postgresql" else sqlite).insert(recordings).values(row)
    connection.execute(new.on_conflict_do_update(index_elements=[recordings.c.run_id], set_=row))


def keep(connection: Connection, run: str, until: str) -> None:
    later = recordings.c.expires_at < until
    connection.execute(update(recordings).where(recordings.c.run_id == run, later).values(expires_at=until))
    model_calls.keep(connection, run, until)


def find(connection: Connection, run: str) -> RunRecording | None:
    text = connection.execute(select(recordings.c.recording).where(recordings.c.run_id == run)).scalar()
    return None if text is None else _decode(text)


def list_thread(connection: Connection, thread: str, owner: str) -> Sequence[RunRecording]:
    own = (recordings.c.thread_id == thread, recordings.c.owner == owner)
    found = select(recordings.c.recording).where(*own).order_by(recordings.c.created_at, recordings.c.run_id)
    return [_decode(text) for text in connection.execute(found).scalars()]


def read_asks(connection: Connection, thread: str) -> Mapping[str, RecordedAsk]:
    found = select(runs.c.id, runs.c.request).where(runs.c.thread_id == thread, runs.c.request.is_not(None))
    return {row.id: _decode_ask(row.request) for row in connection.execute(found)}


def read_payloads(connection: Connection, thread: str) -> Mapping[str, JsonValue]:
    own = (interrupts.c.thread_id == thread, interrupts.c.payload.is_not(None))
    found = connection.execute(select(interrupts.c.id, interrupts.c.payload).where(*own))
    return {row.id: msgspec.json.decode(row.payload) for row in found}


def read_user(connection: Connection, user: str) -> Sequence[JsonValue]:
    found = select(recordings.c.recording).where(recordings.c.owner == user).order_by(recordings.c.created_at)
    return [msgspec.json.decode(text) for text in connection.execute(found).scalars()]


def forget_user(connection: Connection, user: str) -> int:
    return connection.execute(delete(recordings).where(recordings.c.owner == user)).rowcount


def expire(connection: Connection, before: str, limit: int) -> int:
    """Delete recordings whose time has passed. Returns how many."""
    old = select(recordings.c.run_id).where(recordings.c.expires_at < before).limit(limit)
    return connection.execute(delete(recordings).where(recordings.c.run_id.in_(old))).rowcount
