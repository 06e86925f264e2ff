"""The steps of one run, each kept by DBOS when it is finished."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import Context
from typing import Any, TypeVar

import msgspec
from dbos import DBOS
from dbos import error as dbos_errors

from rightseat.core.closing import closing
from rightseat.core.compacting import compacted
from rightseat.core.errors import StaleWriter
from rightseat.core.events import Event

T = TypeVar("T")


class DbosSteps:
    """`finished_a_step` is called after the first one that was not finished before, outside of the workflow."""

    def __init__(self, run_id: str, finished_a_step: Callable[[], Awaitable[None]] | None = None) -> None:
        self.is_leaving = False
        self._run_id = run_id
        self._finished_a_step = finished_a_step

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        done: list[T] = []

        async def step() -> str:
            try:
                done.append(await work())
            except Exception as error:
                raise _NotKept(error) from error
            return written(done[0])

        kept = await self._keep(name, step)
        if not done:
            return msgspec.json.decode(kept, type=kind)
        await self._note_progress()
        return done[0]

    async def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        """The step waits while the source is read here: a piece of an answer takes no way through a task of its own."""
        begun = asyncio.Event()
        said: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def step() -> str:
            begun.set()
            return await said

        keeping = asyncio.create_task(self._keep(name, step))
        beginning = asyncio.create_task(begun.wait())
        try:
            await asyncio.wait((keeping, beginning), return_when=asyncio.FIRST_COMPLETED)
            if not begun.is_set():
                for event in msgspec.json.decode(await keeping, type=list[Event]):
                    yield event
                return
            events: list[Event] = []
            async with closing(source()) as live:
                async for event in live:
                    events.append(event)
                    yield event
            said.set_result(written(compacted(events)))
            await keeping
            await self._note_progress()
        finally:
            beginning.cancel()
            if not keeping.done():
                keeping.cancel()
                await asyncio.wait((keeping,))

    async def _note_progress(self) -> None:
        if self._finished_a_step:
            finished, self._finished_a_step = self._finished_a_step, None
            await asyncio.create_task(outside(finished), context=Context())

    async def _keep(self, name: str, step: Callable[[], Any]) -> str:
        try:
            return await DBOS.run_step_async({"name": name}, step)
        except _NotKept as failed:
            raise failed.error from None
        except (dbos_errors.DBOSWorkflowConflictIDError, dbos_errors.DBOSWorkflowCancelledError) as error:
            self.is_leaving = True
            raise StaleWriter(self._run_id, 0, 0) from error


class _NotKept(BaseException):
    """Carries what a step's work raised past DBOS, which would keep an `Exception` as the step's result."""

    def __init__(self, error: Exception) -> None:
        self.error = error


async def outside(work: Callable[[], Awaitable[None]]) -> None:
    await work()


def written(value: Any) -> str:
    return msgspec.json.encode(value).decode()
