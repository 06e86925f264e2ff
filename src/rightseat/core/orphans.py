"""Runs whose process died: durable ones go on, the others are ended where they stood."""

import logging
from contextlib import suppress

from rightseat.core.ask import Ask
from rightseat.core.engine import Engine, Resumed
from rightseat.core.errors import RunExists, ThreadNotFound
from rightseat.core.events import RunFailed, RunFinished, RunStarted
from rightseat.core.failing import Failures, Last
from rightseat.core.folding import Fold
from rightseat.core.lasting import whole
from rightseat.core.log import Log
from rightseat.core.performing import end
from rightseat.core.threads import Beginning, Threads

logger = logging.getLogger(__name__)

CUT_OFF = "The server was stopped in the middle of this answer. Ask again to get it whole."
GIVEN_UP = "The server broke off again and again in the middle of this answer, and has given it up."


class Orphanage:
    def __init__(self, log: Log, threads: Threads, engine: Engine) -> None:
        self._log = log
        self._threads = threads
        self._engine = engine

    async def settle(self) -> None:
        """What an earlier process left when it died, and logs that no run is known for: nobody waits for them."""
        going_on = await self.adopt()
        for run_id, epoch in await self._log.cut_off():
            if run_id not in going_on:
                await self._close_log(run_id, epoch + 1)

    async def adopt(self) -> set[str]:
        """Have durable runs go on, and close the others. Returns the ids of the former."""
        orphans = await self._threads.orphans()
        lasting = [ask for ask in orphans if ask.durable]
        resumed = Resumed()
        if lasting:
            await self._log.expect([ask.run_id for ask in lasting])
            resumed = await self._engine.resume(lasting)
        if going_on := set(resumed.going_on):
            logger.warning("go on with runs whose process died: %s", ", ".join(sorted(going_on)))
        for ask in orphans:
            if ask.run_id in going_on:
                continue
            failed = RunFailed("given_up", GIVEN_UP) if ask.durable else RunFailed("cut_off", CUT_OFF)
            try:
                await self._close(ask, RunFinished("cancelled") if ask.run_id in resumed.cancelled else failed)
            except Exception:
                logger.exception("run %s was cut off, and cannot be closed", ask.run_id)
        return going_on

    async def _close(self, ask: Ask, last: Last) -> None:
        """What was said of it stays, marked as not whole."""
        try:
            beginning = await self._threads.begin(ask, again=True)
        except ThreadNotFound:
            return  # it was deleted meanwhile
        try:
            await self._end(ask, beginning, last)
        finally:
            self._threads.leave(ask.run_id, beginning.epoch)

    async def _end(self, ask: Ask, beginning: Beginning, last: Last) -> None:
        with suppress(RunExists):
            await self._log.create(ask.run_id)
        fold = Fold(beginning.state if ask.state is None else ask.state)
        said = [entry.event for entry in await whole(self._log, ask.run_id)]
        for event in said:
            fold.add(event)
        if said and isinstance(said[-1], Last):  # only the store was not told
            await self._threads.finish(ask, fold.messages(), fold.state, said[-1])
            return
        async with self._log.open(ask.run_id, beginning.epoch) as writer:
            if not said:
                await writer.append(RunStarted(ask.run_id, ask.thread_id, ask.agent, ask.client_run_id, beginning.said))
            await end(self._threads, ask, writer, fold, last, Failures(ask, fold))
        logger.warning("run %s was cut off when the server stopped; it has been closed: %s", ask.run_id, reason(last))

    async def _close_log(self, run_id: str, epoch: int) -> None:
        """Of a run that nobody knows as begun: all that is missing is its end."""
        fold = Fold()
        said = [entry.event for entry in await self._log.read(run_id)]
        for event in said:
            fold.add(event)
        async with self._log.open(run_id, epoch) as writer:
            if said and not isinstance(said[-1], Last):
                for event in (*fold.endings(), RunFailed("cut_off", CUT_OFF)):
                    await writer.append(event)
        if not said:
            await self._log.forget((run_id,))  # it never began


def reason(last: Last) -> str:
    return last.code if isinstance(last, RunFailed) else last.outcome
