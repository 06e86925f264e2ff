"""Logs of every kind, and what the tests that hold all of them to the same promises have in common."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr

from rightseat.core.events import (
    Event,
    TextDelta,
)
from rightseat.core.log import Entry, Log, Writer
from rightseat.logs import postgres, redis
from rightseat.logs.memory import MemoryLog
from rightseat.logs.shared.log import SharedLog
from rightseat.logs.sqlite.log import SqliteLog
from tests.conditions import Paced
from tests.databases import migrated_database
from tests.services import REDIS, keys

Fleet = Callable[..., Awaitable[Log]]

PLENTY = 3_000
"""More events than any log lets a writer be ahead of one who follows."""


@asynccontextmanager
async def one_log(kind: str, folder: Path) -> AsyncIterator[Log]:
    if kind == "memory":
        yield MemoryLog()
    elif kind == "sqlite":
        async with SqliteLog(folder / "log.db") as log:
            yield log
    else:
        async with sharing(kind) as fleet:
            yield await fleet()


@asynccontextmanager
async def sharing(kind: str, port: int | None = None) -> AsyncIterator[Fleet]:
    """`port` leads to the server too; processes take it unless they go the direct way."""
    async with AsyncExitStack() as stack:
        if kind == "sqlite":
            yield await stack.enter_async_context(sharing_file())
            return
        prefix = await stack.enter_async_context(keys()) if kind == "redis" else ""
        url = REDIS if kind == "redis" else await stack.enter_async_context(migrated_database())

        async def one_more(*, direct: bool = False) -> Log:
            there = url if direct or port is None else re.sub(r":\d{4}/", f":{port}/", url)
            if kind == "redis":
                log = redis.build(redis.Options(url=SecretStr(there), prefix=prefix))
            else:
                log = postgres.build(postgres.Options(url=SecretStr(there)))
            assert isinstance(log, SharedLog)
            return await stack.enter_async_context(log)

        yield one_more


@asynccontextmanager
async def sharing_file() -> AsyncIterator[Fleet]:
    """Workers of one server on one file."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))

        async def one_more(*, direct: bool = True) -> Log:
            log = SqliteLog(folder / "log.db")
            log.share_file()
            return await stack.enter_async_context(log)

        yield one_more


def deltas(count: int) -> list[Event]:
    return [TextDelta("m", str(number)) for number in range(count)]


async def write(log: Log, run_id: str, events: Sequence[Event], *, epoch: int = 1) -> list[str]:
    """Write a whole run, and say which ids its entries got."""
    await log.create(run_id)
    async with log.open(run_id, epoch) as writer:
        return [(await writer.append(event)).id for event in events]


async def read(log: Log, run_id: str, after: str | None = None) -> list[Entry]:
    return [entry for batch in [batch async for batch in log.follow(run_id, after)] for entry in batch]


async def events_of(log: Log, run_id: str, after: str | None = None) -> list[Event]:
    return [entry.event for entry in await read(log, run_id, after)]


class SharedRunWriter:
    """Writes on and on, and counts."""

    def __init__(self, writer: Writer, count: int = PLENTY) -> None:
        self.written = 0
        self.task = asyncio.create_task(self._write(writer, count))

    async def _write(self, writer: Writer, count: int) -> None:
        for event in deltas(count):
            await writer.append(event)
            self.written += 1

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait((self.task,))


@asynccontextmanager
async def following(log: Log, run_id: str) -> AsyncIterator[AsyncIterator[Sequence[Entry]]]:
    """Someone who follows, and reads only when told to."""
    async with aclosing(log.follow(run_id)) as batches:
        yield batches


async def write_on(writer: Writer) -> None:
    """Until it is told to stop."""
    async for _ in Paced(count(), 0.001):
        await writer.append(TextDelta("m", "not mine any more"))


async def is_known(log: Log, run_id: str = "r") -> bool:
    if isinstance(log, SqliteLog):
        return run_id in log._active_runs or (log._tail is not None and log._tail.find(run_id) is not None)
    assert isinstance(log, SharedLog)
    return run_id in log._runs
