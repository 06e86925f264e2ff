"""Threads in a SQL database: a SQLite file, or PostgreSQL."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

import msgspec
from pydantic import BaseModel, ConfigDict, Field, SecretStr
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from rightseat.core.artifacts import StoredArtifact
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import BadRequest, RunExists, SlotLost, StaleWriter, ThreadNotFound
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.messages import Message
from rightseat.core.thread_parts import ThreadOutline
from rightseat.core.threads import Expired, Pending, RunClaim, Summary, Thread, ThreadCursor, Threads
from rightseat.core.types import JsonValue
from rightseat.core.usage import RunTotals
from rightseat.operations.database_metrics import ObserveOperation, PoolState
from rightseat.operations.leases import HeldLease
from rightseat.operations.records import FileRow, Page, Question, RunQuery, RunRecord, ThreadQuery, ThreadRow
from rightseat.operations.store import Store
from rightseat.operations.users import FileRecord, ThreadRecord
from rightseat.parts import StatePath
from rightseat.stores import (
    annotations,
    audit,
    deletions,
    ended_sessions,
    feedback,
    file_queries,
    limit_queries,
    memories,
    model_calls,
    process_queries,
    record_queries,
    recordings,
    rows,
    run_queries,
    thread_queries,
    thread_search,
    usage_months,
    user_queries,
)
from rightseat.stores.annotations import SqlAnnotations
from rightseat.stores.api_keys import SqlApiKeys
from rightseat.stores.artifacts import SqlArtifacts
from rightseat.stores.audit import SqlAudit
from rightseat.stores.databases import Sqlite, connect
from rightseat.stores.deletions import SqlDeletions
from rightseat.stores.ended_sessions import SqlEndedSessions
from rightseat.stores.feedback import SqlFeedback
from rightseat.stores.limits import SqlLimits
from rightseat.stores.memories import SqlMemories
from rightseat.stores.message_pieces import may_be_long, write_pieces
from rightseat.stores.model_calls import SqlModelCalls
from rightseat.stores.pins import SqlPins
from rightseat.stores.recordings import SqlRecordings
from rightseat.stores.secret_uses import SqlSecretUses
from rightseat.stores.stops import SqlStops
from rightseat.stores.store_database import StoreDatabase

logger = logging.getLogger(__name__)

BEGIN_ATTEMPTS = 3  # two processes may create the same thread at once; the second then finds it
RECONCILE_INTERVAL_S = 5.0  # between two searches for own runs that nothing executes
DELETE_BATCH_THREADS = 25  # per transaction, which takes about 20 ms
DELETE_BATCH_ROWS = 2000
FILE_RETENTION = timedelta(days=1)  # of files without a thread


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    path: StatePath = Path("rightseat.db")
    """The SQLite file; a relative path is one in the folder `server.state_dir`. One server at a time can use it."""
    url: SecretStr | None = None
    """A PostgreSQL database instead, such as `postgresql://user:password@host/name`."""
    lease_seconds: float = Field(default=5.0, ge=0.2)
    """With PostgreSQL: after how many seconds without a heartbeat a server counts as dead."""
    timeout: float = Field(default=10.0, ge=0)
    """With PostgreSQL: how many seconds a request waits for a database that cannot be reached, until it is refused."""
    retention_days: float | None = Field(default=None, gt=0)
    """Days without use after which a thread is deleted, with all its data. Default: never."""
    audit_retention_days: float | None = Field(default=400.0, gt=0)
    """Days after which a line of the audit log is deleted. `null`: never."""


def build(options: Options) -> Threads:
    where = options.url.get_secret_value() if options.url else options.path
    database = connect(where, options.lease_seconds, timeout=options.timeout)
    return SqlThreads(database, options.retention_days, options.audit_retention_days)


def build_beside(options: Options) -> "SqlThreads":
    """For commands that work on the store while servers use it."""
    where = options.url.get_secret_value() if options.url else options.path
    return SqlThreads(connect(where, options.lease_seconds, is_owner=False))


class SqlThreads:
    def __init__(
        self,
        database: StoreDatabase,
        retention_days: float | None = None,
        audit_retention_days: float | None = None,
    ) -> None:
        self._database = database
        self._retention_days = retention_days
        self._audit_retention_days = audit_retention_days
        self.artifacts = SqlArtifacts(database)
        self.records = SqlRecords(database)
        self.recordings = SqlRecordings(database)
        self.model_calls = SqlModelCalls(database)
        self.api_keys = SqlApiKeys(database)
        self.ended_sessions = SqlEndedSessions(database)
        self.limits = SqlLimits(database)
        self.audit = SqlAudit(database)
        self.feedback = SqlFeedback(database)
        self.memories = SqlMemories(database)
        self.annotations = SqlAnnotations(database)
        self.deletions = SqlDeletions(database)
        self.pins = SqlPins(database) if database.dialect != "sqlite" else None
        """Shared by all servers of the database; None for a SQLite file, whose server stores pins in files."""
        self.secret_uses = SqlSecretUses(database) if database.dialect != "sqlite" else None
        self._epochs: dict[str, int] = {}  # of the runs that this process executes
        self._long: set[str] = set()  # those that change many messages
        self._ended_slots: set[str] = set()  # own slots whose runs had ended at the last reconciliation
        self._idle: set[str] = set()  # own runs that nothing executed at the last reconciliation
        self._reconcile_at = 0.0

    def observe_operations(self, observe: ObserveOperation) -> None:
        self._database.observe_operation = observe

    def pool_states(self) -> Sequence[PoolState]:
        return self._database.pool_states()

    def share_file(self) -> None:
        if isinstance(self._database, Sqlite):
            self._database.share_file()

    def store(self) -> Store:
        return Store(
            threads=self,
            artifacts=self.artifacts,
            records=self.records,
            limits=self.limits,
            api_keys=self.api_keys,
            ended_sessions=self.ended_sessions,
            audit=self.audit,
            feedback=self.feedback,
            memories=self.memories,
            annotations=self.annotations,
            deletions=self.deletions,
            recordings=self.recordings,
            model_calls=self.model_calls,
            pins=self.pins,
            secret_uses=self.secret_uses,
            stops=self.stops,
            lease=self.lease,
        )

    async def __aenter__(self) -> Self:
        await self._database.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._database.close()

    async def claim(
        self, ask: Ask, *, again: bool = False, artifact: StoredArtifact | None = None, needs_slot: bool = False
    ) -> RunClaim:
        if ask.transient:
            if needs_slot and not await self._database.write(self.limits.has_slot, ask.run_id):
                raise SlotLost
            return RunClaim(1)
        if "\0" in f"{ask.thread_id}{ask.run_id}{ask.client_run_id}{ask.agent}":
            raise BadRequest("An id must not contain a NUL character.")
        for _ in range(BEGIN_ATTEMPTS):
            try:
                beginning = await self._database.write(self._claim, ask, again, artifact, needs_slot)
            except IntegrityError:
                continue
            self._epochs[ask.run_id] = beginning.epoch
            if may_be_long(ask, beginning.new_messages):
                self._long.add(ask.run_id)
            return beginning
        raise RunExists(ask.run_id)

    def _claim(
        self, connection: Connection, ask: Ask, again: bool, artifact: StoredArtifact | None, needs_slot: bool
    ) -> RunClaim:
        claim = run_queries.claim(connection, ask, self._database.process_id, again)
        if needs_slot and not self.limits.has_slot(connection, ask.run_id):
            raise SlotLost
        if artifact is None:
            return claim
        file_queries.add_file(connection, ask, artifact)
        return msgspec.structs.replace(claim, has_artifact=True)

    async def finish(
        self,
        ask: Ask,
        messages: tuple[Message, ...],
        state: JsonValue,
        last: RunFinished | RunFailed,
        totals: RunTotals | None = None,
    ) -> None:
        if ask.transient:
            return self.feedback.recent.remember(ask, messages, totals)
        epoch = self._epochs.get(ask.run_id)
        if epoch is None:
            return
        try:
            left = await write_pieces(self._database, ask, epoch, messages) if ask.run_id in self._long else ask
            await self._database.write_run_end(
                ask.run_id, run_queries.finish, left, epoch, messages, state, last, totals
            )
        except StaleWriter:
            self._forget(ask.run_id)
            raise
        self._forget(ask.run_id)
        if ask.truncate_at is not None:
            self._database.erase()

    async def advance_epoch(self, ask: Ask, epoch: int) -> int:
        self._epochs[ask.run_id] = await self._database.write(run_queries.advance_epoch, ask.run_id, epoch)
        return self._epochs[ask.run_id]

    async def append_messages(self, ask: Ask, quota: int | None = None) -> None:
        if "\0" in f"{ask.thread_id}{ask.agent}":
            raise BadRequest("An id must not contain a NUL character.")
        for _ in range(BEGIN_ATTEMPTS):
            try:
                return await self._database.write(run_queries.append_messages, ask, quota)
            except IntegrityError:
                continue
        raise ThreadNotFound(ask.thread_id)

    def release(self, run_id: str, epoch: int) -> None:
        if self._epochs.get(run_id) == epoch:
            self._forget(run_id)

    def _forget(self, run_id: str) -> None:
        del self._epochs[run_id]
        self._long.discard(run_id)

    async def load(self, thread_id: str, principal: Principal) -> Thread | None:
        if "\0" in thread_id or self._database.lacks_thread(thread_id):
            return None
        return await self._database.read_beside(thread_queries.load, thread_id, principal.id)

    async def outline(self, thread_id: str, principal: Principal) -> ThreadOutline | None:
        if "\0" in thread_id or self._database.lacks_thread(thread_id):
            return None
        return await self._database.read(thread_queries.outline, thread_id, principal.id)

    async def read_messages(self, thread_id: str, principal: Principal, start: int, stop: int) -> Sequence[Message]:
        if "\0" in thread_id:
            return ()
        return await self._database.query(thread_queries.read_messages, thread_id, principal.id, start, stop)

    async def list(
        self,
        principal: Principal,
        *,
        agent: str | None = None,
        archived: bool = False,
        limit: int = 50,
        after: ThreadCursor | None = None,
    ) -> Sequence[Summary]:
        return await self._database.query(thread_queries.list_threads, principal.id, agent, archived, limit, after)

    async def change(
        self, thread_id: str, principal: Principal, *, name: str | None = None, archived: bool | None = None
    ) -> Summary:
        if "\0" in thread_id:
            raise ThreadNotFound(thread_id)
        return await self._database.write(thread_queries.change, thread_id, principal.id, name, archived)

    async def delete(self, thread_id: str, principal: Principal) -> Sequence[str]:
        if "\0" in thread_id:
            raise ThreadNotFound(thread_id)
        run_ids = await self._database.write(thread_queries.delete_thread, thread_id, principal.id)
        self._database.erase()
        return run_ids

    async def pending(self, principal: Principal, thread_id: str | None = None) -> Sequence[Pending]:
        if thread_id is not None and "\0" in thread_id:
            return ()
        return await self._database.query(thread_queries.pending, principal.id, thread_id)

    async def unfinished(self, principal: Principal, thread_id: str | None = None) -> Sequence[str]:
        if thread_id is not None and "\0" in thread_id:
            return ()
        return await self._database.query(thread_queries.list_unfinished_runs, principal.id, thread_id)

    @property
    def reap_every(self) -> float | None:
        return self._database.reap_every

    async def orphans(self) -> Sequence[Ask]:
        processes = await self._find_suspects()
        found = [ask for process_id in processes for ask in await self._database.write(self._adopt, process_id)]
        return [*found, *await self._find_idle()]

    async def _find_suspects(self) -> Sequence[int]:
        """The other processes that have unfinished runs, or reservations of limits, and that may be dead."""
        own = {"own_process": self._database.process_id}
        found = await self._database.poll(process_queries.OTHER_PROCESSES, own)
        holding = await self._database.poll(limit_queries.HOLDING_PROCESSES, own) if self.limits.is_used else ()
        others = list(dict.fromkeys(process_id for (process_id,) in (*found, *holding)))
        return await self._database.find_suspects(others) if others else ()

    async def _find_idle(self) -> Sequence[Ask]:
        """Own runs that nothing executed for a while.

        The response that assigned them to this process was lost, the process that should have started them died, or
        the one that ended them could not report it.
        """
        now = asyncio.get_running_loop().time()
        if self.reap_every is None or now < self._reconcile_at:
            return ()
        self._reconcile_at = now + RECONCILE_INTERVAL_S
        if self.limits.is_used:
            await self._release_ended_slots()
        ours = await self._database.query(process_queries.find_unfinished, self._database.process_id)
        idle = {run_id: ask for run_id, ask in ours.items() if run_id not in self._epochs}
        again = [ask for run_id, ask in idle.items() if run_id in self._idle]
        self._idle = idle.keys() - {ask.run_id for ask in again}
        return again

    async def _release_ended_slots(self) -> None:
        """Give back slots that passed to this process with runs that their first process has ended after all.

        At the second sight: this process may be about to settle a slot of its own.
        """
        own, zone = self._database.process_id, self.limits.zone
        ended = set(await self._database.query(limit_queries.list_slots_of_ended_runs, own))
        again, self._ended_slots = sorted(ended & self._ended_slots), ended - self._ended_slots
        if again:
            await self._database.write(limit_queries.settle_slots, again, own, zone)

    def _adopt(self, connection: Connection, process_id: int) -> Sequence[Ask]:
        if not self._database.is_dead(connection, process_id):
            return ()
        own = self._database.process_id
        asks = process_queries.adopt(connection, process_id, own)
        if self.limits.is_used:
            durable = [ask.run_id for ask in asks if ask.durable]
            limit_queries.settle_dead(connection, process_id, own, durable, self.limits.zone)
        return asks

    @property
    def lease(self) -> HeldLease | None:
        return self._database.lease

    @property
    def stops(self) -> SqlStops | None:
        return SqlStops(self._database, self._epochs) if self.reap_every is not None else None

    async def expire_questions(self) -> Sequence[Expired]:
        before = rows.now(ago=rows.EXPIRY_GRACE)
        if not await self._database.poll(thread_queries.EXPIRED_INTERRUPT, {"before": before}):
            return ()
        return await self._database.write(thread_queries.expire_interrupts, before)

    async def ended(self, run_ids: Sequence[str]) -> Sequence[str]:
        live = await self._database.query(process_queries.find_running, run_ids)
        return [run_id for run_id in run_ids if run_id not in live]

    async def expire(self) -> AsyncGenerator[Sequence[str], None]:
        await self._delete_before(deletions.expire, deletions.RETENTION)
        await self._delete_before(file_queries.expire_files, FILE_RETENTION)
        while await self._database.write(ended_sessions.expire, time.time(), DELETE_BATCH_ROWS):
            pass
        if self.limits.is_used:
            await self._database.write(limit_queries.expire_counters, time.time())
            await self._merge_usage()
        if self._audit_retention_days is not None:
            await self._delete_before(audit.expire, timedelta(days=self._audit_retention_days))
        for expire in (recordings.expire, model_calls.expire_calls, model_calls.expire_contents, memories.expire):
            await self._delete_before(expire, timedelta())
        if self._retention_days is None:
            return
        for expire in (feedback.expire, annotations.expire):
            await self._delete_before(expire, timedelta(days=self._retention_days))
        before, threads = rows.now(ago=timedelta(days=self._retention_days)), 0
        while (found := await self._database.write(thread_queries.expire, before, DELETE_BATCH_THREADS))[0]:
            threads += found[0]
            yield found[1]
        if threads:
            self._database.erase()
            logger.info("deleted %d threads that were not used for %g days", threads, self._retention_days)

    async def _delete_before(self, work: Callable[[Connection, str, int], int], age: timedelta) -> None:
        """`work` deletes at most so many rows that are older, and returns how many."""
        before, deleted = rows.now(ago=age), 0
        while count := await self._database.write(work, before, DELETE_BATCH_ROWS):
            deleted += count
        if deleted:
            self._database.erase()

    async def _merge_usage(self) -> None:
        before, merged = usage_months.first_daily_day(datetime.now(UTC), self.limits.zone), 0
        while count := await self._database.write(usage_months.merge_months, before):
            merged += count
        if merged:
            text = "merged %d rows of usage by month, which are older than %d days"
            logger.info(text, merged, usage_months.DAILY_USAGE_DAYS)

    # The data of one user (`operations.users`)

    async def thread_ids(self, user: str) -> Sequence[str]:
        return await self._database.query(user_queries.thread_ids, user)

    async def thread_record(self, thread_id: str, user: str) -> ThreadRecord | None:
        return await self._database.read(user_queries.thread_record, thread_id, user)

    async def file_records(self, user: str) -> AsyncIterator[FileRecord]:
        for id in await self._database.query(user_queries.file_ids, user):
            if found := await self._database.query(user_queries.file_record, id, user):
                yield found

    async def delete_threads(self, thread_ids: Sequence[str], user: str) -> Sequence[str]:
        run_ids = list[str]()
        for start in range(0, len(thread_ids), DELETE_BATCH_THREADS):
            run_ids += await self._database.write(
                user_queries.delete_threads, thread_ids[start : start + DELETE_BATCH_THREADS], user
            )
        self._database.erase()
        return run_ids

    async def delete_files(self, user: str) -> int:
        deleted = await self._database.write(user_queries.delete_files, user)
        self._database.erase()
        return deleted


class SqlRecords:
    """Threads and runs of all users (`operations.records`)."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    async def threads(self, query: ThreadQuery) -> Page[ThreadRow]:
        list_or_search = record_queries.list_threads if query.words is None else thread_search.search_threads
        return await self._database.scan(list_or_search, query)

    async def runs(self, query: RunQuery) -> Page[RunRecord]:
        return await self._database.scan(record_queries.list_runs, query)

    async def visit_runs(self, query: RunQuery, visit: Callable[[RunRecord], object]) -> bool:
        return await self._database.scan(record_queries.visit_runs, query, visit)

    async def thread(self, id: str) -> ThreadRow | None:
        return None if "\0" in id else await self._database.query(record_queries.find_thread, id)

    async def run(self, id: str) -> RunRecord | None:
        return None if "\0" in id else await self._database.query(record_queries.find_run, id)

    async def files(self, thread_id: str) -> Sequence[FileRow]:
        return () if "\0" in thread_id else await self._database.query(record_queries.list_files, thread_id)

    async def file_owner(self, id: str) -> str | None:
        return None if "\0" in id else await self._database.query(record_queries.find_file_owner, id)

    async def questions(self, user: str | None = None) -> Sequence[Question]:
        return await self._database.query(record_queries.list_questions, user)
