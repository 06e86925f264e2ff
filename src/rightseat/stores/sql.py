"""Threads in a SQL database: a SQLite file, or PostgreSQL."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from rightseat.core.artifacts import Stored
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import BadAsk, RunExists, StaleWriter, ThreadNotFound
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.ids import new_id
from rightseat.core.messages import Message
from rightseat.core.threads import Beginning, Expired, Pending, Summary, Thread, Threads
from rightseat.core.users import FileRecord, ThreadRecord
from rightseat.core.values import JsonValue
from rightseat.parts import StatePath
from rightseat.stores import keeping, queries, user_queries
from rightseat.stores.databases import Database, connect
from rightseat.stores.pins import SqlPins

logger = logging.getLogger(__name__)

ATTEMPTS = 3  # two processes may begin the same new thread at once; the second then finds it
RECONCILE = 5.0  # seconds between two looks at what is ours
AT_ONCE = 500  # threads that are deleted in one transaction
LOOSE = timedelta(days=1)  # for which a file is kept that belongs to no thread


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: StatePath = Path("rightseat.db")
    """The SQLite file; a relative path is one in the folder `server.state`. One server at a time can use it."""
    url: SecretStr | None = None
    """A PostgreSQL database instead, such as `postgresql://user:password@host/name`."""
    lease: float = Field(default=5.0, ge=0.2)
    """With PostgreSQL: how many seconds a server may be unheard before others take it for dead."""
    expire_days: float | None = Field(default=None, gt=0)
    """Delete threads, with all that was said in them, that nobody has touched for so many days. Left out: never."""


def build(options: Options) -> Threads:
    database = connect(options.url.get_secret_value() if options.url else options.path, options.lease)
    return SqlThreads(database, options.expire_days)


def build_beside(options: Options) -> "SqlThreads":
    """For a command that works on the store while servers use it."""
    where = options.url.get_secret_value() if options.url else options.path
    return SqlThreads(connect(where, options.lease, is_owner=False))


class SqlThreads:
    def __init__(self, database: Database, expire_days: float | None = None) -> None:
        self._database = database
        self._expire_days = expire_days
        self.artifacts = SqlArtifacts(database)
        self.pins = SqlPins(database) if database.reap_every is not None else None
        """Shared by all servers of the database; a server that has a database of its own keeps them in files."""
        self._epochs: dict[str, int] = {}  # of the runs that somebody here sees to
        self._idle: set[str] = set()  # runs that were ours, and nobody saw to them, at the last look
        self._look_at = 0.0

    async def __aenter__(self) -> Self:
        await self._database.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._database.close()

    async def begin(self, ask: Ask, *, again: bool = False) -> Beginning:
        if ask.transient:
            return Beginning(1)
        if "\0" in f"{ask.thread_id}{ask.run_id}{ask.client_run_id}{ask.agent}":
            raise BadAsk("An id cannot have a NUL character in it.")
        for _ in range(ATTEMPTS):
            try:
                beginning = await self._database.write(queries.begin, ask, self._database.process, again)
            except IntegrityError:
                continue
            self._epochs[ask.run_id] = beginning.epoch
            return beginning
        raise RunExists(ask.run_id)

    async def finish(
        self, ask: Ask, said: tuple[Message, ...], state: JsonValue, last: RunFinished | RunFailed
    ) -> None:
        epoch = self._epochs.get(ask.run_id)
        if epoch is None:
            return
        try:
            await self._database.write(queries.finish, ask, epoch, said, state, last)
        except StaleWriter:
            del self._epochs[ask.run_id]
            raise
        del self._epochs[ask.run_id]

    async def advance(self, ask: Ask, epoch: int) -> int:
        self._epochs[ask.run_id] = await self._database.write(queries.advance, ask.run_id, epoch)
        return self._epochs[ask.run_id]

    def leave(self, run_id: str, epoch: int) -> None:
        if self._epochs.get(run_id) == epoch:
            del self._epochs[run_id]

    async def load(self, thread_id: str, principal: Principal) -> Thread | None:
        if "\0" in thread_id:
            return None
        return await self._database.read(queries.load, thread_id, principal.id)

    async def list(
        self, principal: Principal, *, agent: str | None = None, archived: bool = False, limit: int = 50
    ) -> Sequence[Summary]:
        return await self._database.look(queries.list_threads, principal.id, agent, archived, limit)

    async def change(
        self, thread_id: str, principal: Principal, *, name: str | None = None, archived: bool | None = None
    ) -> Summary:
        if "\0" in thread_id:
            raise ThreadNotFound(thread_id)
        return await self._database.write(queries.change, thread_id, principal.id, name, archived)

    async def delete(self, thread_id: str, principal: Principal) -> Sequence[str]:
        if "\0" in thread_id:
            raise ThreadNotFound(thread_id)
        run_ids = await self._database.write(queries.delete_thread, thread_id, principal.id)
        self._database.erase()
        return run_ids

    async def pending(self, principal: Principal, thread_id: str | None = None) -> Sequence[Pending]:
        if thread_id is not None and "\0" in thread_id:
            return ()
        return await self._database.look(queries.pending, principal.id, thread_id)

    async def unfinished(self, principal: Principal, thread_id: str | None = None) -> Sequence[str]:
        if thread_id is not None and "\0" in thread_id:
            return ()
        return await self._database.look(queries.unfinished_of, principal.id, thread_id)

    @property
    def reap_every(self) -> float | None:
        return self._database.reap_every

    async def orphans(self) -> Sequence[Ask]:
        others = await self._database.look(queries.others, self._database.process)
        found = [ask for other in others for ask in await self._database.write(self._adopt, other)]
        return [*found, *await self._forgotten()]

    async def _forgotten(self) -> Sequence[Ask]:
        """Runs that are ours, and to which nobody here or elsewhere has seen for a while: the answer that gave them to
        us was lost, whoever should have begun them died, or whoever had them could not tell us that they are over."""
        now = asyncio.get_running_loop().time()
        if self.reap_every is None or now < self._look_at:
            return ()
        self._look_at = now + RECONCILE
        ours = await self._database.look(queries.unfinished, self._database.process)
        idle = {run_id: ask for run_id, ask in ours.items() if run_id not in self._epochs}
        again = [ask for run_id, ask in idle.items() if run_id in self._idle]
        self._idle = idle.keys() - {ask.run_id for ask in again}
        return again

    def _adopt(self, connection: Connection, other: int) -> Sequence[Ask]:
        is_gone = self._database.is_gone(connection, other)
        return queries.adopt(connection, other, self._database.process) if is_gone else ()

    async def expire_questions(self) -> Sequence[Expired]:
        before = keeping.now(ago=keeping.EXPIRY_GRACE)
        if not await self._database.look(queries.has_expired_questions, before):
            return ()
        return await self._database.write(queries.expire_questions, before)

    async def ended(self, run_ids: Sequence[str]) -> Sequence[str]:
        live = await self._database.look(queries.going_on, run_ids)
        return [run_id for run_id in run_ids if run_id not in live]

    async def expire(self) -> Sequence[str]:
        if await self._database.write(queries.expire_files, keeping.now(ago=LOOSE)):
            self._database.erase()
        if self._expire_days is None:
            return ()
        before, threads, run_ids = keeping.now(ago=timedelta(days=self._expire_days)), 0, list[str]()
        while (found := await self._database.write(queries.expire, before, AT_ONCE))[0]:
            threads, run_ids = threads + found[0], run_ids + found[1]
        if threads:
            self._database.erase()
            logger.info("deleted %d threads that nobody touched for %g days", threads, self._expire_days)
        return run_ids

    # All that is kept of one user (`core.users`)

    async def thread_ids(self, user: str) -> Sequence[str]:
        return await self._database.look(user_queries.thread_ids, user)

    async def thread_record(self, thread_id: str, user: str) -> ThreadRecord | None:
        return await self._database.read(user_queries.thread_record, thread_id, user)

    async def file_records(self, user: str) -> AsyncIterator[FileRecord]:
        for id in await self._database.look(user_queries.file_ids, user):
            if found := await self._database.look(user_queries.file_record, id, user):
                yield found

    async def delete_threads(self, thread_ids: Sequence[str], user: str) -> Sequence[str]:
        run_ids = list[str]()
        for start in range(0, len(thread_ids), AT_ONCE):
            run_ids += await self._database.write(
                user_queries.delete_threads, thread_ids[start : start + AT_ONCE], user
            )
        self._database.erase()
        return run_ids

    async def delete_files(self, user: str) -> int:
        deleted = await self._database.write(user_queries.delete_files, user)
        self._database.erase()
        return deleted


class SqlArtifacts:
    """Files beside the threads that they belong to. They go with them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, ask: Ask, name: str, media_type: str, content: bytes, id: str | None = None) -> str:
        if id is None:
            stored = Stored(new_id("file"), ask.agent, name, media_type, content)
            await self._database.write(queries.add_file, ask, stored)
            return stored.id
        with suppress(IntegrityError):  # another process has put it at the same moment
            await self._database.write(queries.replace_file, ask, Stored(id, ask.agent, name, media_type, content))
        return id

    async def get(self, id: str, principal: Principal) -> Stored | None:
        return None if "\0" in id else await self._database.read(queries.find_file, id, principal.id)

    async def take(self, id: str, principal: Principal, media_type: str) -> Stored | None:
        return None if "\0" in id else await self._database.write(queries.take_file, id, principal.id, media_type)
