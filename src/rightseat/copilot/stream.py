"""A run in a program without a client: its events as they come, and its result at the end."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from typing import Any, Generic, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from rightseat.concurrency import aclosing
from rightseat.copilot.result import AskCancelled, AskFailed, AskResult, RunSummary
from rightseat.core.ask import Answer, Ask, Parameters, Principal
from rightseat.core.errors import ConfigError
from rightseat.core.events import Event, RunFailed, RunFinished
from rightseat.core.ids import new_id
from rightseat.core.messages import Message, user
from rightseat.core.runtime import Runtime
from rightseat.limits.prices import Prices

T = TypeVar("T")
STOP_TIMEOUT_S = 5.0
"""How long leaving a stream early waits until its run has ended and its thread is free."""

Open = Callable[[], Coroutine[Any, Any, tuple[Runtime, Prices]]]


class AskStream(Generic[T]):
    """The events of a run. `rightseat.Stream` is this class.

    It begins when it is iterated, once. Leaving it early cancels the run: at once inside of `async with`, otherwise
    when the iterator is collected. A failed run raises.

        async for event in copilot.stream("Tell me more"): ...
    """

    def __init__(
        self,
        open: Open,
        text: str,
        *,
        agent: str | None,
        principal: Principal,
        thread_id: str | None,
        output_type: type[T] | None,
        answers: tuple[Answer, ...] = (),
    ) -> None:
        self._open = open
        self._text = text
        self._agent = agent
        self._principal = principal
        self._thread_id = thread_id or new_id("thread")
        self._output_type = output_type
        self._answers = answers
        self._summary = RunSummary()
        self._result: AskResult[T] | None = None
        self._events: AsyncGenerator[Event, None] | None = None

    @property
    def result(self) -> AskResult[T]:
        """The result, once the last event was read."""
        if self._result is None:
            raise ConfigError("This stream has no result yet: read it to its end first.")
        return self._result

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._events is not None:
            await self._events.aclose()

    def __aiter__(self) -> AsyncIterator[Event]:
        if self._events is not None:
            raise ConfigError("This stream is read already. Ask again for another one.")
        self._events = self._run()
        return self._events

    async def _run(self) -> AsyncGenerator[Event, None]:
        runtime, prices = await self._open()
        ask = await runtime.start(await self._build(runtime))
        is_over = False
        try:
            async with aclosing(runtime.follow(ask.run_id)) as batches:
                async for entries in batches:
                    for entry in entries:
                        self._summary.add(entry.event)
                        is_over = isinstance(entry.event, RunFinished | RunFailed)
                        yield entry.event
        finally:
            if not is_over:
                await stop(runtime, ask.run_id)
        self._finish(ask, prices)

    async def _build(self, runtime: Runtime) -> Ask:
        thread = await runtime.settled(self._thread_id, self._principal)
        earlier: tuple[Message, ...] = thread.messages if thread else ()
        self._summary = RunSummary(earlier)
        agent = self._agent or choose_agent(runtime)
        asked = () if self._answers else (user(self._text),)
        return Ask(
            messages=(*earlier, *asked),
            agent=agent,
            thread_id=self._thread_id,
            principal=self._principal,
            answers=self._answers,
            parameters=describe_output(self._output_type),
        )

    def _finish(self, ask: Ask, prices: Prices) -> None:
        summary = self._summary
        match summary.last:
            case RunFailed(code=code, message=message):
                raise AskFailed(code, message)
            case RunFinished(outcome="cancelled", reason=reason):
                raise AskCancelled(reason or "The run was cancelled.")
            case RunFinished(outcome=outcome, interrupts=interrupts):
                self._result = AskResult(
                    text=summary.text,
                    status="waiting" if outcome == "waiting" else "done",
                    output=read_output(summary.text, self._output_type, is_done=outcome == "done"),
                    tool_calls=summary.tool_calls,
                    questions=interrupts,
                    usage=summary.usage,
                    cost=summary.cost(prices),
                    messages=summary.messages,
                    thread_id=ask.thread_id,
                    run_id=ask.run_id,
                    resume=self._resume,
                )
            case None:
                raise AskFailed("run_not_found", "The run has no end.")

    async def _resume(self, answers: tuple[Answer, ...]) -> AskResult[T]:
        stream = AskStream[T](
            self._open,
            "",
            agent=self._agent,
            principal=self._principal,
            thread_id=self._thread_id,
            output_type=self._output_type,
            answers=answers,
        )
        return await stream.read_all()

    async def read_all(self) -> AskResult[T]:
        """The result, without the events."""
        async with self as events:
            async for _ in events:
                pass
        return self.result


async def stop(runtime: Runtime, run_id: str) -> None:
    """Cancel a run and wait until it has ended, so that its thread is free."""

    async def end() -> None:
        await runtime.cancel(run_id)
        async with aclosing(runtime.follow(run_id)) as batches:
            async for entries in batches:
                if any(isinstance(entry.event, RunFinished | RunFailed) for entry in entries):
                    return

    await asyncio.wait((asyncio.create_task(end()),), timeout=STOP_TIMEOUT_S)


def choose_agent(runtime: Runtime) -> str:
    """`default`, or the only agent. Raises `ConfigError`."""
    if "default" in runtime.agents:
        return "default"
    if len(runtime.agents) == 1:
        return next(iter(runtime.agents))
    raise ConfigError(f"Which agent? Write `agent=` with one of {', '.join(runtime.agents)}.")


def describe_output(output_type: type[Any] | None) -> Parameters:
    """Parameters that make the model write JSON for the type."""
    if output_type is None or output_type is str:
        return Parameters()
    schema = TypeAdapter(output_type).json_schema()
    return Parameters(response_schema=schema, response_name=getattr(output_type, "__name__", "output"))


def read_output(text: str, output_type: type[Any] | None, *, is_done: bool) -> Any:
    """Raises `AskFailed` if the model wrote something else."""
    if output_type is None or output_type is str or not is_done:
        return text if is_done or output_type in (None, str) else None
    try:
        return TypeAdapter(output_type).validate_json(text)
    except ValidationError as error:
        name = getattr(output_type, "__name__", "output")
        raise AskFailed(
            "invalid_output", f"The model's answer is no {name}: {error.error_count()} problems."
        ) from error
