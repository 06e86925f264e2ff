"""The durable steps of one run: DBOS stores the result of each finished step."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextvars import Context
from typing import Any, TypeVar

import msgspec
from dbos import DBOS
from dbos import error as dbos_errors

from rightseat.concurrency import aclosing
from rightseat.core.errors import NotConfigured, StaleWriter
from rightseat.core.events import Event
from rightseat.core.stream.compaction import compact

T = TypeVar("T")


class DbosSteps:
    """`list_finished` returns the names of the steps that a resumed run has finished before; a new run has none.

    `on_progress` is called, outside of the workflow, after the first step that was not finished before.
    """

    def __init__(
        self,
        run_id: str,
        list_finished: Callable[[], Awaitable[Collection[str]]] | None = None,
        on_progress: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.is_shutting_down = False
        self.resumed = None
        self._run_id = run_id
        self._list_finished = list_finished
        self._finished: Collection[str] | None = None if list_finished else ()
        self._on_progress = on_progress
        self._streaming: str | None = None

    async def do(self, name: str, kind: type[T], work: Callable[[], Awaitable[T]]) -> T:
        self._refuse_while_streaming(name)
        done: list[T] = []

        async def step() -> str:
            try:
                done.append(await work())
            except Exception as error:
                raise _StepFailed(error) from error
            return encode_json(done[0])

        kept = await self._run_step(name, step)
        if not done:
            return msgspec.json.decode(kept, type=kind)
        await self._note_progress()
        return done[0]

    async def stream(self, name: str, source: Callable[[], AsyncIterator[Event]]) -> AsyncIterator[Event]:
        """Read the source first, and store it in one step at its end.

        A step that is open all the while would take 9 KB, and would query the database before the model is called.
        """
        self._refuse_while_streaming(name)
        if name in await self._finished_before():
            for event in msgspec.json.decode(await self._run_step(name, fail_missing_step), type=list[Event]):
                yield event
            return
        events: list[Event] = []
        self._streaming = name
        try:
            async with aclosing(source()) as live:
                async for event in live:
                    events.append(event)
                    yield event
        finally:
            self._streaming = None
        response = encode_json(compact(events))
        events.clear()  # frees memory before waiting for the database
        await self._store_response(name, response)

    async def _store_response(self, name: str, response: str) -> None:
        async def step() -> str:
            return response

        if (
            await self._run_step(name, step) != response
        ):  # another process has stored its own response and continues with that
            self.is_shutting_down = True
            raise StaleWriter(self._run_id, 0, 0)
        await self._note_progress()

    def _refuse_while_streaming(self, name: str) -> None:
        """DBOS numbers the steps of a run, and a streamed response gets its number at its end."""
        if self._streaming is not None:
            raise NotConfigured(
                f"The step {name!r} was started while {self._streaming!r} is being streamed. In a durable run, "
                "wait for the end of a response before you start another step."
            )

    async def _finished_before(self) -> Collection[str]:
        if self._finished is None and self._list_finished:
            self._finished = await asyncio.create_task(outside_workflow(self._list_finished), context=Context())
        return self._finished or ()

    async def _note_progress(self) -> None:
        if self._on_progress:
            finished, self._on_progress = self._on_progress, None
            await asyncio.create_task(outside_workflow(finished), context=Context())

    async def _run_step(self, name: str, step: Callable[[], Any]) -> str:
        try:
            return await DBOS.run_step_async({"name": name}, step)
        except _StepFailed as failed:
            raise failed.error from None
        except (dbos_errors.DBOSWorkflowConflictIDError, dbos_errors.DBOSWorkflowCancelledError) as error:
            self.is_shutting_down = True
            raise StaleWriter(self._run_id, 0, 0) from error


class _StepFailed(BaseException):
    """Carries the error of a step past DBOS, which would store an `Exception` as the result of the step."""

    def __init__(self, error: Exception) -> None:
        self.error = error


async def outside_workflow(work: Callable[[], Awaitable[T]]) -> T:
    """Run in a context without a workflow, where calls to DBOS are not steps."""
    return await work()


async def fail_missing_step() -> str:
    raise _StepFailed(NotConfigured("The database of the engine has lost a finished step."))


def encode_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
