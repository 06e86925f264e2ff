"""Exports or deletes all stored data of one user, while servers use the same databases and files."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from rightseat.config import Config
from rightseat.core.engine import Engine
from rightseat.core.errors import ConfigError
from rightseat.core.log import Entry, Log
from rightseat.core.run.durable import read_all_entries
from rightseat.core.types import JsonValue
from rightseat.limits.report import describe_rows
from rightseat.limits.store import USAGE_COLUMNS, LimitStore, UsageQuery
from rightseat.operations.annotations import UserAnnotations
from rightseat.operations.changes import CarriesChanges, announce_from_command
from rightseat.operations.feedback import UserFeedback
from rightseat.operations.memories import UserMemories
from rightseat.operations.model_calls import UserModelCalls
from rightseat.operations.recordings import UserRecordings
from rightseat.operations.users import FileRecord, ThreadRecord, UserRecords, UserStore

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class DeletedCounts:
    """How many items of each kind were deleted."""

    threads: int = 0
    runs: int = 0
    files: int = 0
    records: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserData:
    """The user data that the parts of a configuration store."""

    store: UserStore
    log: Log
    engine: Engine
    records: Sequence[UserRecords]

    async def threads(self, user: str) -> AsyncIterator[tuple[ThreadRecord, dict[str, Sequence[Entry]]]]:
        """Each thread with the events of its runs, as far as the log still has them."""
        for id in await self.store.thread_ids(user):
            if record := await self.store.thread_record(id, user):
                yield record, {run.id: await read_all_entries(self.log, run.id) for run in record.thread.runs}

    def files(self, user: str) -> AsyncIterator[FileRecord]:
        return self.store.file_records(user)

    async def others(self, user: str) -> Mapping[str, Sequence[JsonValue]]:
        """Of each kind, whichever parts store it."""
        found = dict[str, list[JsonValue]]()
        for part in self.records:
            found.setdefault(part.name, []).extend(await part.read_user(user))
        return found

    async def delete_threads(self, ids: Sequence[str], user: str) -> int:
        """Delete the threads of a user with all data of their runs. Returns the number of these runs."""
        run_ids = await self.store.delete_threads(ids, user)
        await self.log.delete(run_ids)
        await self.engine.delete_runs(run_ids)
        return len(run_ids)

    async def forget(self, user: str) -> DeletedCounts:
        """An active run of the user in a server can store nothing more from then on, and fails."""
        deleted = DeletedCounts()
        await self._forget_records(user, deleted)  # before threads take some with them, which are counted so
        async for _ in self.store.file_records(user):
            deleted.files += 1
        while ids := await self.store.thread_ids(user):  # a thread may be created meanwhile
            deleted.threads += len(ids)
            deleted.runs += await self.delete_threads(ids, user)
        await self.store.delete_files(user)
        await self._forget_records(user, deleted)  # what was stored meanwhile
        await self._announce(user)
        return deleted

    async def _announce(self, user: str) -> None:
        """Open lists of the user become empty. Without it they do when they are loaded again."""
        bus = self.log.changes(is_command=True) if isinstance(self.log, CarriesChanges) else None
        if bus is None:
            return
        try:
            await announce_from_command(bus, user)
        except Exception as error:
            logger.warning(
                "open lists of %r are stale until they are loaded again: %s", user, str(error) or type(error).__name__
            )

    async def _forget_records(self, user: str, deleted: DeletedCounts) -> None:
        for part in self.records:
            deleted.records[part.name] = deleted.records.get(part.name, 0) + await part.forget_user(user)


class UsageRecords:
    """A `UserRecords`: the usage report stays complete, without the user."""

    name = "usage rows"

    def __init__(self, limits: LimitStore) -> None:
        self._limits = limits

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        query = UsageQuery(USAGE_COLUMNS, user=user)
        return describe_rows(query, await self._limits.usage(query))

    async def forget_user(self, user: str) -> int:
        return await self._limits.forget_user(user)


@asynccontextmanager
async def opened(config: Config) -> AsyncIterator[UserData]:
    """Raises `ConfigError` if the threads are in the memory of a server."""
    async with opened_store(config) as store, opened_log(config) as log:
        records = [*records_of(config), UserFeedback(store.feedback), UserMemories(store.memories)]
        records += [UserAnnotations(store.annotations)]
        records += [UserRecordings(store.recordings), UserModelCalls(store.model_calls), UsageRecords(store.limits)]
        yield UserData(store, log, config.engine.module.build(config.engine.options), records)


def opened_store(config: Config) -> AbstractAsyncContextManager[UserStore]:
    build = getattr(config.threads.module, "build_beside", None)
    if build is None:
        raise ConfigError(
            f"Threads of type {config.threads.type!r} are only in the memory of the server, and are gone when it stops."
        )
    return _open_part(build(config.threads.options))


def opened_log(config: Config) -> AbstractAsyncContextManager[Log]:
    return _open_part(config.log.module.build(config.log.options))


@asynccontextmanager
async def _open_part(part: Any) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        if isinstance(part, AbstractAsyncContextManager):
            await stack.enter_async_context(part)
        yield part


def records_of(config: Config) -> list[UserRecords]:
    offers = ((getattr(face.module, "user_records", None), face.options) for face in config.faces)
    return [found for offer, options in offers if offer is not None and (found := offer(options)) is not None]
