"""Executes runs as tasks of this process, which end with it."""

import asyncio
import logging
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from rightseat.core.ask import Ask
from rightseat.core.engine import DirectSteps, Engine, Perform, Resumed
from rightseat.core.errors import StaleWriter

logger = logging.getLogger(__name__)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def build(options: Options) -> Engine:
    return LocalEngine()


class LocalEngine:
    supports_durable = False

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}

    async def open(self, perform: Perform) -> None:
        """Does nothing: there are no runs to resume."""

    async def resume(self, asks: Sequence[Ask]) -> Resumed:
        return Resumed()

    async def start(self, ask: Ask, perform: Perform) -> bool:
        self._running[ask.run_id] = asyncio.create_task(self._run(ask, perform))
        return True

    async def cancel(self, run_id: str) -> bool:
        task = self._running.get(run_id)
        if task is None:
            return False
        await asyncio.sleep(0)  # a task that is cancelled before its first step never starts, and would write no end
        if not task.cancelling():  # a second cancellation would interrupt the cleanup of the first
            task.cancel()
        await asyncio.wait((task,))
        return True

    async def delete_runs(self, run_ids: Sequence[str]) -> None:
        """Does nothing: nothing is stored."""

    async def unsettled(self) -> Sequence[str]:
        return ()

    async def close(self) -> None:
        await asyncio.gather(*map(self.cancel, self._running))

    async def _run(self, ask: Ask, perform: Perform) -> None:
        try:
            await perform(ask, DirectSteps())
        except StaleWriter as fenced:
            logger.warning("run %s ends here, because another process has taken it over: %s", ask.run_id, fenced)
        except Exception:
            logger.exception("run %s failed unexpectedly", ask.run_id)
        finally:
            del self._running[ask.run_id]
