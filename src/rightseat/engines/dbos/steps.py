"""The steps of one run, each kept by DBOS when it is finished."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextvars import Context
from typing import Any, TypeVar

import msgspec
from dbos import DBOS
from dbos import error as dbos_errors

from rightseat.core.closing import closing
from rightseat.core.compacting import compacted
from rightseat.core.errors import Misuse, StaleWriter
from rightseat.core.events import Event

T = TypeVar("T")


class DbosSteps:
    """`before` are the names of the steps that were finished before, of a run that is gone on with; a new one has none.

    `finished_a_step` is called after the first one that was not finished before, outside of the workflow.
    """

    def __init__(
        self,
        run_id: str,
        before: Callable[[], Awaitable[Collection[str]]] | None = None,
        finished_a_step: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.is_leaving = False
        self.resumed = None
        self._run_id = run_id
        self._before = before
        self._known: Collection[str] | None = None if before else ()
        self._finished_a_step = finished_a_step
        self._streaming: str | None = None

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        self._refuse_beside_an_answer(name)
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
        """The source is read first, and kept in one step when it has come to its end: one that is open all the while
        would take 9 KB for so long, and ask the database before the model is asked."""
        self._refuse_beside_an_answer(name)
        if name in await self._finished_before():
            for event in msgspec.json.decode(await self._keep(name, nothing), type=list[Event]):
                yield event
            return
        events: list[Event] = []
        self._streaming = name
        try:
            async with closing(source()) as live:
                async for event in live:
                    events.append(event)
                    yield event
        finally:
            self._streaming = None
        answer = written(compacted(events))
        events.clear()  # the database may take its time
        await self._keep_answer(name, answer)

    async def _keep_answer(self, name: str, answer: str) -> None:
        async def step() -> str:
            return answer

        if await self._keep(name, step) != answer:  # another has kept its own answer, and goes on with that
            self.is_leaving = True
            raise StaleWriter(self._run_id, 0, 0)
        await self._note_progress()

    def _refuse_beside_an_answer(self, name: str) -> None:
        """DBOS counts the steps of a run, and an answer is counted at its end."""
        if self._streaming is not None:
            raise Misuse(
                f"The step {name!r} was begun while {self._streaming!r} is being streamed. In a durable run nothing "
                "else is done beside an answer: wait for its end."
            )

    async def _finished_before(self) -> Collection[str]:
        if self._known is None and self._before:
            self._known = await asyncio.create_task(outside(self._before), context=Context())
        return self._known or ()

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


async def outside(work: Callable[[], Awaitable[T]]) -> T:
    """Run in a context without a workflow, where what DBOS is asked is no step."""
    return await work()


async def nothing() -> str:
    raise _NotKept(Misuse("The database of the engine has lost a step that it had a moment ago."))


def written(value: Any) -> str:
    return msgspec.json.encode(value).decode()
