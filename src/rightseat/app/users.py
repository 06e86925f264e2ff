"""All that is kept of one user: exported, or deleted. Works beside servers that use the same databases and files."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from rightseat.config import Config
from rightseat.core.engine import Engine
from rightseat.core.errors import ConfigError
from rightseat.core.lasting import whole
from rightseat.core.log import Entry, Log
from rightseat.core.users import FileRecord, ThreadRecord, UserRecords, UserStore
from rightseat.core.values import JsonValue


@dataclass(slots=True)
class Forgotten:
    """How many of each were deleted."""

    threads: int = 0
    runs: int = 0
    files: int = 0
    records: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserData:
    """What the parts of a configuration keep of users."""

    store: UserStore
    log: Log
    engine: Engine
    records: Sequence[UserRecords]

    async def threads(self, user: str) -> AsyncIterator[tuple[ThreadRecord, dict[str, Sequence[Entry]]]]:
        """Each with the events of its runs, as far as the log still has them."""
        for id in await self.store.thread_ids(user):
            if record := await self.store.thread_record(id, user):
                yield record, {run.id: await whole(self.log, run.id) for run in record.thread.runs}

    def files(self, user: str) -> AsyncIterator[FileRecord]:
        return self.store.file_records(user)

    async def others(self, user: str) -> dict[str, Sequence[JsonValue]]:
        return {one.name: await one.read_user(user) for one in self.records}

    async def forget(self, user: str) -> Forgotten:
        """A run that goes on for the user in a server keeps nothing more from then on, and fails."""
        done = Forgotten()
        async for _ in self.store.file_records(user):
            done.files += 1
        while ids := await self.store.thread_ids(user):  # another may begin meanwhile
            run_ids = await self.store.delete_threads(ids, user)
            await self.log.forget(run_ids)
            await self.engine.forget(run_ids)
            done.threads += len(ids)
            done.runs += len(run_ids)
        await self.store.delete_files(user)
        for one in self.records:
            done.records[one.name] = done.records.get(one.name, 0) + await one.forget_user(user)
        return done


@asynccontextmanager
async def opened(config: Config) -> AsyncIterator[UserData]:
    build = getattr(config.threads.module, "build_beside", None)
    if build is None:
        raise ConfigError(
            f"Threads of type {config.threads.type!r} are in the memory of the server alone. They go when it stops."
        )
    async with AsyncExitStack() as stack:
        log: Any = config.log.module.build(config.log.options)
        store: Any = build(config.threads.options)
        for part in (log, store):
            if isinstance(part, AbstractAsyncContextManager):
                await stack.enter_async_context(part)
        yield UserData(store, log, config.engine.module.build(config.engine.options), records_of(config))


def records_of(config: Config) -> list[UserRecords]:
    offers = ((getattr(face.module, "user_records", None), face.options) for face in config.faces)
    return [found for offer, options in offers if offer is not None and (found := offer(options)) is not None]
