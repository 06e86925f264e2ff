"""Starts, resumes, cancels and hands over durable runs."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from functools import partial
from random import SystemRandom

import msgspec

from rightseat.core.ask import Ask
from rightseat.core.engine import Perform, Resumed
from rightseat.core.errors import NotConfigured, StaleWriter
from rightseat.engines.dbos.steps import DbosSteps, encode_json
from rightseat.engines.dbos.system import ACTIVE_STATUSES, DbosSystem, WorkflowInfo
from rightseat.engines.local import LocalEngine

logger = logging.getLogger(__name__)

CANCEL_POLL_INTERVAL_S = 0.5  # between two queries for runs that were cancelled in other processes
COMPLETION_TIMEOUT_S = 5.0
"""How long to wait for DBOS to write the result of runs that have just ended."""
CLEANUP_INTERVAL_S = 60.0
"""The average interval of deleting runs whose retention is over. Jitter keeps processes apart."""
RECONCILE_INTERVAL_S = 2.0  # between two queries for own runs that this process does not execute


class DbosEngine:
    supports_durable = True

    def __init__(self, system: DbosSystem, max_attempts: int = 5, retention_seconds: float = 3600.0) -> None:
        self._system = system
        self._max_attempts = max_attempts
        self._retention_seconds = retention_seconds
        self._local = LocalEngine()
        self._perform: Perform | None = None
        self._running: dict[str, _Execution] = {}
        self._workflows: dict[asyncio.Task[object], str] = {}  # until DBOS has written their results
        # Runs that were started and not ended here: the process that adopts them counts a death.
        self._abandoned: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def share_file(self) -> None:
        self._system.is_shared = True

    async def open(self, perform: Perform) -> None:
        self._perform = perform
        await self._system.launch(self._execute)
        self._tasks = [
            asyncio.create_task(self._poll_cancellations()),
            asyncio.create_task(self._reconcile()),
            asyncio.create_task(self._clean_up()),
        ]

    async def start(self, ask: Ask, perform: Perform) -> bool:
        if not ask.durable:
            return await self._local.start(ask, perform)
        if self._perform is None:
            raise NotConfigured("The engine is not open. A server opens it.")
        self._running[ask.run_id] = _Execution(ask)
        is_local = False
        try:
            is_local = await self._system.start(ask.run_id, encode_ask(ask))
        finally:
            if not is_local:
                self._running.pop(ask.run_id, None)
        return is_local

    async def resume(self, asks: Sequence[Ask]) -> Resumed:
        known = await self._system.find_workflows([ask.run_id for ask in asks])
        for ask in asks:
            if ask.run_id not in known:  # its process died before DBOS stored the run
                await self._system.start(ask.run_id, encode_ask(ask))
        deaths = {run_id: one.deaths + 1 for run_id, one in known.items() if one.status == "PENDING"}
        await asyncio.gather(*(self._system.set_deaths(run_id, number) for run_id, number in deaths.items()))
        failed = [run_id for run_id, number in deaths.items() if number >= self._max_attempts]
        for run_id in failed:
            logger.error("run %s fails: its process died %d times in one step", run_id, deaths.pop(run_id))
            await self._system.cancel(run_id)
        await self._system.enqueue(list(deaths))
        over = {run_id for run_id, one in known.items() if one.status not in ACTIVE_STATUSES} | set(failed)
        cancelled = {run_id for run_id in over if self._was_cancelled(known[run_id])}
        return Resumed({ask.run_id for ask in asks} - over, cancelled)

    def _was_cancelled(self, known: WorkflowInfo) -> bool:
        """Whether a user cancelled it. Runs that died too often are cancelled, too."""
        return known.status == "CANCELLED" and known.deaths < self._max_attempts

    async def cancel(self, run_id: str) -> bool:
        if execution := self._running.get(run_id):
            await execution.cancel()
            return True
        if await self._local.cancel(run_id):
            return True
        return self._perform is not None and await self._system.cancel_elsewhere(run_id)

    async def delete_runs(self, run_ids: Sequence[str]) -> None:
        await self._wait_for_completion(run_ids)
        await self._system.delete(run_ids)

    async def unsettled(self) -> Sequence[str]:
        return await self._system.list_elsewhere() if self._perform is not None else ()

    async def _wait_for_completion(self, run_ids: Collection[str]) -> None:
        """Return when DBOS has written the results of these runs."""
        tasks = [task for task, run_id in self._workflows.items() if run_id in run_ids]
        if tasks:
            await asyncio.wait(tasks, timeout=COMPLETION_TIMEOUT_S)

    async def close(self) -> None:
        """Hand durable runs over to other processes at once; without other processes they wait for the next start."""
        await self._local.close()
        if self._perform is None:
            return
        self._perform = None
        for task in self._tasks:
            task.cancel()
        left = list(self._running.values())
        await asyncio.gather(*(execution.leave() for execution in left))
        await self._wait_for_completion(set(self._workflows.values()))
        await self._system.shut_down()
        if left and self._system.is_shared:
            await self._system.hand_over([execution.run_id for execution in left])

    async def _execute(self, encoded_ask: str) -> None:
        """Called by DBOS. A run that is handed over, or cancelled by another process, has no result to store."""
        run_id = msgspec.json.decode(encoded_ask, type=_AskOfRun).run_id
        if task := asyncio.current_task():
            self._workflows[task] = run_id
            task.add_done_callback(self._forget_workflow)
        self._abandoned.discard(run_id)
        execution = self._running.get(run_id)
        if execution is not None and execution.has_begun:
            await execution.leave()  # this process was taken for dead and got the run back: the old execution is fenced
        if execution is None or execution.has_begun:
            before = partial(self._system.list_finished_steps, run_id)
            forget = partial(self._system.set_deaths, run_id, 0)
            ask = msgspec.json.decode(encoded_ask, type=Ask)
            execution = self._running[run_id] = _Execution(ask, DbosSteps(run_id, before, forget))
        try:
            await execution.run(self._perform)
        finally:
            execution.end()
            if self._running.get(run_id) is execution:
                del self._running[run_id]
        if execution.was_cancelled or (execution.steps.is_shutting_down and not execution.has_ended):
            self._abandoned.add(run_id)
            raise asyncio.CancelledError

    def _forget_workflow(self, task: asyncio.Task[object]) -> None:
        del self._workflows[task]
        if not task.cancelled():
            task.exception()  # DBOS has logged it

    async def _poll_cancellations(self) -> None:
        while True:
            await asyncio.sleep(CANCEL_POLL_INTERVAL_S)
            if not self._running:
                continue
            try:
                for run_id in await self._system.find_cancelled(list(self._running)):
                    if execution := self._running.get(run_id):
                        execution.was_cancelled = True
                        execution.stop()
            except Exception:
                logger.exception("cannot query runs that were cancelled in other processes")

    async def _clean_up(self) -> None:
        while True:
            await asyncio.sleep(SystemRandom().uniform(0.5, 1.5) * CLEANUP_INTERVAL_S)
            try:
                await self._system.delete_ended(self._retention_seconds)
            except Exception:
                logger.exception("cannot delete the steps of ended runs, retrying")

    async def _reconcile(self) -> None:
        """Enqueue own runs again that nothing executes: the response in which DBOS assigned them was lost."""
        idle = set[str]()
        while True:
            await asyncio.sleep(RECONCILE_INTERVAL_S)
            try:
                own = set(await self._system.list_own())
                self._abandoned &= own
                again, idle = idle, own - self._running.keys() - self._abandoned
                if lost := again & idle:
                    logger.warning(
                        "runs were assigned to this server but not started; enqueued again: %s", sorted(lost)
                    )
                    await self._system.enqueue(list(lost))
                    idle -= lost
            except Exception:
                logger.exception("cannot query the runs that this server should execute")


class _AskOfRun(msgspec.Struct):
    """The only field of an ask that is needed if its run was started here: a copy of all would take 1 KB."""

    run_id: str


class _Execution:
    """One run that this process executes."""

    def __init__(self, ask: Ask, steps: DbosSteps | None = None) -> None:
        self.run_id = ask.run_id
        self.steps = steps or DbosSteps(ask.run_id)
        self._done = new_future()  # an `Event` takes five times as much memory
        self.was_cancelled = False
        self.has_ended = False  # the thread has all of its messages, even if this process was shutting down
        self._ask = ask
        self._is_stopped = False
        self._task: asyncio.Task[object] | None = None

    @property
    def has_begun(self) -> bool:
        return self._task is not None

    async def run(self, perform: Perform | None) -> None:
        if perform is None or self.steps.is_shutting_down:
            self.steps.is_shutting_down = True
            return
        self._task = asyncio.create_task(perform(self._ask, self.steps))
        if self._is_stopped:
            await asyncio.sleep(0)  # a task that is cancelled before its first step never starts
            self._task.cancel()
        await wait_for(self._task)
        try:
            self._task.result()
            self.has_ended = True
        except (StaleWriter, asyncio.CancelledError):
            self.steps.is_shutting_down = True
        except Exception:
            logger.exception("run %s failed unexpectedly", self.run_id)
            self.steps.is_shutting_down = True  # as if its process had died: it is retried up to `max_attempts` times

    def stop(self) -> None:
        if self._task is not None and not self._is_stopped:
            self._task.cancel()
        self._is_stopped = True

    def end(self) -> None:
        complete(self._done)

    async def cancel(self) -> None:
        self.stop()
        await asyncio.wait((self._done,))

    async def leave(self) -> None:
        if not self._is_stopped:  # a run that is being cancelled ends here
            self.steps.is_shutting_down = True
        await self.cancel()


async def wait_for(task: asyncio.Task[object]) -> None:
    """Wait for the task without cancelling it; in a quarter of the memory that `asyncio.wait` takes."""
    done = new_future()
    task.add_done_callback(lambda _: complete(done))
    await done


def new_future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


def complete(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def encode_ask(ask: Ask) -> str:
    """Headers may be secrets, and are not stored."""
    return encode_json(msgspec.structs.replace(ask, headers={}))
