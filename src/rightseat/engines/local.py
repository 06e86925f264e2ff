"""Runs as tasks of this process. When the process ends, so do they."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from rightseat.core.ask import Ask
from rightseat.core.engine import Engine, Perform, Resumed
from rightseat.core.events import Event

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def build(options: Options) -> Engine:
    return LocalEngine()


class LocalEngine:
    is_lasting = False

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}

    async def open(self, perform: Perform) -> None:
        """There is nothing to go on with."""

    async def resume(self, asks: Sequence[Ask]) -> Resumed:
        return Resumed()

    async def start(self, ask: Ask, perform: Perform) -> bool:
        self._running[ask.run_id] = asyncio.create_task(self._run(ask, perform))
        return True

    async def cancel(self, run_id: str) -> bool:
        task = self._running.get(run_id)
        if task is None:
            return False
        await asyncio.sleep(0)  # a task that is cancelled before its first step never takes it, and could not say so
        if not task.cancelling():  # once is enough: a second one would cut short what the run does to end
            task.cancel()
        await asyncio.wait((task,))
        return True

    async def forget(self, run_ids: Sequence[str]) -> None:
        """Nothing is kept."""

    async def unsettled(self) -> Sequence[str]:
        return ()

    async def close(self) -> None:
        await asyncio.gather(*map(self.cancel, self._running))

    async def _run(self, ask: Ask, perform: Perform) -> None:
        try:
            await perform(ask, _once)
        except Exception:
            logger.exception("run %s broke off", ask.run_id)
        finally:
            del self._running[ask.run_id]


class _Once:
    """Steps that are simply done: a run of this process is never taken over by another."""

    is_leaving = False
    resumed = None

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        return await work()

    def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        return source()


_once = _Once()
