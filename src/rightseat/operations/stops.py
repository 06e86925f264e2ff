"""Stops runs that another process executes: the request is stored, and that process finds it within half a second."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from rightseat.concurrency import is_cancelled
from rightseat.core.ask import Ask
from rightseat.core.engine import Engine, Perform, Resumed
from rightseat.core.errors import StorageFull, StoreUnreachable

logger = logging.getLogger(__name__)

POLL_INTERVAL_S = 0.5


class Stops(Protocol):
    async def request(self, run_id: str) -> bool:
        """Ask the process that executes the run to cancel it. False if no other process executes it."""
        ...

    async def find_requested(self) -> Sequence[str]:
        """The runs of this process that another one wants cancelled."""
        ...


class FleetEngine:
    """Wraps the engine of one server of several: `cancel` also ends the runs of the others, a moment later."""

    def __init__(self, engine: Engine, stops: Stops) -> None:
        self.supports_durable = engine.supports_durable
        self._engine = engine
        self._stops = stops
        self._polling: asyncio.Task[None] | None = None

    async def open(self, perform: Perform) -> None:
        await self._engine.open(perform)
        self._polling = asyncio.create_task(self._poll())

    async def start(self, ask: Ask, perform: Perform) -> bool:
        return await self._engine.start(ask, perform)

    async def resume(self, asks: Sequence[Ask]) -> Resumed:
        return await self._engine.resume(asks)

    async def cancel(self, run_id: str) -> bool:
        return await self._engine.cancel(run_id) or await self._stops.request(run_id)

    async def delete_runs(self, run_ids: Sequence[str]) -> None:
        await self._engine.delete_runs(run_ids)

    async def unsettled(self) -> Sequence[str]:
        return await self._engine.unsettled()

    async def close(self) -> None:
        if self._polling is not None:
            self._polling.cancel()
            with suppress(asyncio.CancelledError):
                await self._polling
        await self._engine.close()

    async def _poll(self) -> None:
        while not is_cancelled():  # `run_to_completion` suppresses the CancelledError
            await asyncio.sleep(POLL_INTERVAL_S)
            try:
                for run_id in await self._stops.find_requested():
                    await self._engine.cancel(run_id)
            except (StoreUnreachable, StorageFull):
                pass  # logged where it was found, once for all
            except Exception:
                logger.exception("cannot cancel the runs that other servers want cancelled, retrying")
