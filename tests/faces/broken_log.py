"""A log in memory whose followers lose it in mid-stream: after the first word of a response they receive an error."""

import sqlite3
from collections.abc import AsyncGenerator, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from rightseat.concurrency import aclosing
from rightseat.core.errors import LogUnreachable, RunNotFound
from rightseat.core.events import TextDelta
from rightseat.core.log import Entry, ImmediateSink, Log
from rightseat.logs.memory import MemoryLog

Failure = Literal["expired", "unreachable", "locked", "ended", "unread end"]


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    failure: Failure


def build(options: Options) -> Log:
    return BrokenLog(options.failure)


class BrokenLog(MemoryLog):
    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self._failure = failure

    async def _follow(self, run_id: str, after: str | None) -> AsyncGenerator[Sequence[Entry], None]:
        async with aclosing(super().follow(run_id, after)) as batches:
            async for entries in batches:
                words = [place for place, entry in enumerate(entries, 1) if isinstance(entry.event, TextDelta)]
                yield entries[: words[0]] if words else entries
                if words:
                    break
        match self._failure:
            case "expired":
                await self.delete((run_id,))
                raise RunNotFound(run_id)
            case "unreachable":
                raise LogUnreachable("connection refused")
            case "locked":
                raise sqlite3.OperationalError("database is locked")
            case "ended":
                return

    def follow(
        self, run_id: str, after: str | None = None, tap: ImmediateSink | None = None
    ) -> AsyncGenerator[Sequence[Entry], None]:
        self.find(run_id)
        return super().follow(run_id, after, tap) if self._failure == "unread end" else self._follow(run_id, after)

    async def read(self, run_id: str, after: str | None = None) -> Sequence[Entry]:
        entries = await super().read(run_id, after)
        return entries[:-1] if self._failure == "unread end" else entries
