"""Starting a durable run, going on with one, cancelling and leaving it."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from functools import partial
from random import SystemRandom

import msgspec

from rightseat.core.ask import Ask
from rightseat.core.engine import Perform, Resumed
from rightseat.core.errors import Misuse, StaleWriter
from rightseat.engines.dbos.steps import DbosSteps, written
from rightseat.engines.dbos.system import LIVE, Known, System
from rightseat.engines.local import LocalEngine

logger = logging.getLogger(__name__)

LOOK = 0.5  # seconds between two looks for runs that were cancelled elsewhere
NOTING_S = 5.0
"""For DBOS to write how runs ended: they are over then, and it is a moment later that it knows."""
CLEAN_UP_S = 60.0
"""About how often runs are looked for that ended long enough ago. Each process does so at times of its own."""
RECONCILE = 2.0  # seconds between two looks for runs that are ours, and that we do not execute


class DbosEngine:
    is_lasting = True

    def __init__(self, system: System, attempts: int = 5, retention_seconds: float = 3600.0) -> None:
        self._system = system
        self._attempts = attempts
        self._retention_seconds = retention_seconds
        self._local = LocalEngine()
        self._perform: Perform | None = None
        self._running: dict[str, _Execution] = {}
        self._workflows: dict[asyncio.Task[object], str] = {}  # of DBOS, until it has written how they ended
        self._left: set[str] = set()  # runs that we began and did not end: whoever adopts them counts that
        self._watching: list[asyncio.Task[None]] = []

    async def open(self, perform: Perform) -> None:
        self._perform = perform
        await self._system.launch(self._execute)
        self._watching = [
            asyncio.create_task(self._watch()),
            asyncio.create_task(self._reconcile()),
            asyncio.create_task(self._clean_up()),
        ]

    async def start(self, ask: Ask, perform: Perform) -> bool:
        if not ask.durable:
            return await self._local.start(ask, perform)
        if self._perform is None:
            raise Misuse("The engine is not open. To serve opens it.")
        self._running[ask.run_id] = _Execution(ask)
        is_ours = False
        try:
            is_ours = await self._system.start(ask.run_id, write(ask))
        finally:
            if not is_ours:
                self._running.pop(ask.run_id, None)
        return is_ours

    async def resume(self, asks: Sequence[Ask]) -> Resumed:
        known = await self._system.known([ask.run_id for ask in asks])
        for ask in asks:
            if ask.run_id not in known:  # its process died before DBOS knew of it
                await self._system.start(ask.run_id, write(ask))
        deaths = {run_id: one.deaths + 1 for run_id, one in known.items() if one.status == "PENDING"}
        await asyncio.gather(*(self._system.note_deaths(run_id, number) for run_id, number in deaths.items()))
        hopeless = [run_id for run_id, number in deaths.items() if number >= self._attempts]
        for run_id in hopeless:
            logger.error("run %s died %d times in one step, and is given up", run_id, deaths.pop(run_id))
            await self._system.cancel(run_id)
        await self._system.enqueue(list(deaths))
        over = {run_id for run_id, one in known.items() if one.status not in LIVE} | set(hopeless)
        cancelled = {run_id for run_id in over if self._was_cancelled(known[run_id])}
        return Resumed({ask.run_id for ask in asks} - over, cancelled)

    def _was_cancelled(self, known: Known) -> bool:
        """By a person: what is given up is cancelled, too, and has died too often."""
        return known.status == "CANCELLED" and known.deaths < self._attempts

    async def cancel(self, run_id: str) -> bool:
        if execution := self._running.get(run_id):
            await execution.cancel()
            return True
        if await self._local.cancel(run_id):
            return True
        return self._perform is not None and await self._system.cancel_elsewhere(run_id)

    async def forget(self, run_ids: Sequence[str]) -> None:
        await self._noted(run_ids)
        await self._system.delete(run_ids)

    async def unsettled(self) -> Sequence[str]:
        return await self._system.elsewhere() if self._perform is not None else ()

    async def _noted(self, run_ids: Collection[str]) -> None:
        """Returns when DBOS has written how these runs ended."""
        noting = [task for task, run_id in self._workflows.items() if run_id in run_ids]
        if noting:
            await asyncio.wait(noting, timeout=NOTING_S)

    async def close(self) -> None:
        """Durable runs are handed over to others at once; in a file they wait for the next start."""
        await self._local.close()
        if self._perform is None:
            return
        self._perform = None
        for task in self._watching:
            task.cancel()
        left = list(self._running.values())
        await asyncio.gather(*(execution.leave() for execution in left))
        await self._noted(set(self._workflows.values()))
        await self._system.shut_down()
        if left and self._system.is_shared:
            await self._system.hand_over([execution.run_id for execution in left])

    async def _execute(self, written_ask: str) -> None:
        """Called by DBOS. A run that is left, or cancelled from elsewhere, has no result that DBOS should keep."""
        ask = msgspec.json.decode(written_ask, type=Ask)
        if task := asyncio.current_task():
            self._workflows[task] = ask.run_id
            task.add_done_callback(self._workflows.pop)
        self._left.discard(ask.run_id)
        execution = self._running.get(ask.run_id)
        if execution is not None and execution.has_begun:
            await execution.leave()  # we were taken for dead, and have it once more: what the old one does is in vain
        if execution is None or execution.has_begun:
            before = partial(self._system.finished, ask.run_id)
            forget = partial(self._system.note_deaths, ask.run_id, 0)
            execution = self._running[ask.run_id] = _Execution(ask, DbosSteps(ask.run_id, before, forget))
        try:
            await execution.run(self._perform)
        finally:
            execution.end()
            if self._running.get(ask.run_id) is execution:
                del self._running[ask.run_id]
        if execution.was_cancelled or (execution.steps.is_leaving and not execution.has_ended):
            self._left.add(ask.run_id)
            raise asyncio.CancelledError

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            if not self._running:
                continue
            try:
                for run_id in await self._system.cancelled(list(self._running)):
                    if execution := self._running.get(run_id):
                        execution.was_cancelled = True
                        execution.stop()
            except Exception:
                logger.exception("could not look for runs that were cancelled elsewhere")

    async def _clean_up(self) -> None:
        while True:
            await asyncio.sleep(SystemRandom().uniform(0.5, 1.5) * CLEAN_UP_S)
            try:
                await self._system.delete_ended(self._retention_seconds)
            except Exception:
                logger.exception("could not delete the steps of runs that have ended, and try again")

    async def _reconcile(self) -> None:
        """DBOS gives a run to us, and its answer is lost: the run is ours, and nobody executes it. It waits anew."""
        idle = set[str]()
        while True:
            await asyncio.sleep(RECONCILE)
            try:
                ours = set(await self._system.ours())
                self._left &= ours
                again, idle = idle, ours - self._running.keys() - self._left
                if forgotten := again & idle:
                    logger.warning("runs were given to this server and not begun, and wait anew: %s", sorted(forgotten))
                    await self._system.enqueue(list(forgotten))
                    idle -= forgotten
            except Exception:
                logger.exception("could not look for runs that this server should execute")


class _Execution:
    """One run that this process has."""

    def __init__(self, ask: Ask, steps: DbosSteps | None = None) -> None:
        self.run_id = ask.run_id
        self.steps = steps or DbosSteps(ask.run_id)
        self._over = new_future()  # an `Event` takes five times as much memory
        self.was_cancelled = False
        self.has_ended = False  # its thread has all of it, also where this process was leaving by then
        self._ask = ask
        self._is_stopped = False
        self._task: asyncio.Task[object] | None = None

    @property
    def has_begun(self) -> bool:
        return self._task is not None

    async def run(self, perform: Perform | None) -> None:
        if perform is None or self.steps.is_leaving:
            self.steps.is_leaving = True
            return
        self._task = asyncio.create_task(perform(self._ask, self.steps))
        if self._is_stopped:
            await asyncio.sleep(0)  # a task that is cancelled before its first step never takes it
            self._task.cancel()
        await ended(self._task)
        try:
            self._task.result()
            self.has_ended = True
        except (StaleWriter, asyncio.CancelledError):
            self.steps.is_leaving = True
        except Exception:
            logger.exception("run %s broke off", self.run_id)
            self.steps.is_leaving = True  # as if its process had died: it is tried again, and given up in the end

    def stop(self) -> None:
        if self._task is not None and not self._is_stopped:
            self._task.cancel()
        self._is_stopped = True

    def end(self) -> None:
        settle(self._over)

    async def cancel(self) -> None:
        self.stop()
        await asyncio.wait((self._over,))

    async def leave(self) -> None:
        if not self._is_stopped:  # one that is being cancelled comes to its end here
            self.steps.is_leaving = True
        await self.cancel()


async def ended(task: asyncio.Task[object]) -> None:
    """Wait for it, whoever cancels us; in a quarter of the memory that `asyncio.wait` takes."""
    over = new_future()
    task.add_done_callback(lambda _: settle(over))
    await over


def new_future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


def settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def write(ask: Ask) -> str:
    """Headers may be secrets, and are not kept."""
    return written(msgspec.structs.replace(ask, headers={}))
