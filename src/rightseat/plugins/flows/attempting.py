"""One step, tried once or several times: its time, its retries, and how each failure reads."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import msgspec

from rightseat.core.errors import ModelError, PromptTooLong
from rightseat.core.observing import observed
from rightseat.plugins.call_types import call_types
from rightseat.plugins.definition import Retry, Step
from rightseat.plugins.flows import telling
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.flows.progress import Outcome
from rightseat.plugins.results import Problem, Result, StepFailed, Usage, check_depth

logger = logging.getLogger(__name__)

T = TypeVar("T")

LIB_TIMEOUT = 60.0
LONGEST_PAUSE = 30.0  # seconds that a server may make us wait by `Retry-After`
USUAL = frozenset(("timeout", "connect", "429", "5xx"))


async def attempt(turn: Turn, call: Callable[[Turn], Awaitable[Result]], retry: Retry) -> Outcome:
    """What the call gives, in the end. It raises nothing but a cancel."""
    began = time.monotonic()

    async def work(turn: Turn) -> Result:
        result = await call(turn)
        check_depth(result.output)
        return telling.redacted(timed(result, began), turn.means.redactor)

    given = await tried(turn, work, retry)
    return Outcome(problem=given) if isinstance(given, Problem) else Outcome(given)


async def tried(turn: Turn, work: Callable[[Turn], Awaitable[T]], retry: Retry) -> T | Problem:
    for number in range(retry.times + 1):
        with observed("step", turn.name, flow=turn.flow.name, plugin=turn.plugin.id) as span:
            try:
                async with asyncio.timeout(turn.limit):
                    return await work(turn)
            except Exception as error:
                problem = telling.redacted_problem(read(turn, error), turn.means.redactor)
                span.note(error=problem.code)
        if number == retry.times or not is_worth_it(problem, retry):
            break
        await turn.means.sleep(pause(problem, retry, number))
    return problem


def read(turn: Turn, error: Exception) -> Problem:
    """The failure of a step as its flow sees it."""
    if isinstance(error, StepFailed):
        return error.problem(turn.name)
    if isinstance(error, TimeoutError):
        return Problem("timeout", f"The step {turn.name} took longer than {turn.limit:g} s.", turn.name)
    if isinstance(error, PromptTooLong):
        return Problem("llm_context", error.message, turn.name)
    if isinstance(error, ModelError):
        return Problem("llm_failed", error.message, turn.name)
    logger.error("plugin %s: the step %s failed", turn.plugin.id, turn.name, exc_info=error)
    return Problem("internal", f"Something went wrong inside the server, in the step {turn.name}.", turn.name)


def limit_of(step: Step, left: float) -> float:
    """The seconds that an attempt of the step has, of those that are left to its flow."""
    usual = LIB_TIMEOUT if step.is_lib else call_types()[step.call].timeout
    return min(step.timeout or usual, left)


def retry_of(turn: Turn) -> Retry:
    """As the author says; a request that only looks is repeated once by itself."""
    is_safe = not turn.step.is_lib and turn.step.call != "api"
    if turn.step.call == "api" and not turn.step.is_lib:
        operation = turn.plugin.operation(turn.text("endpoint"))
        is_safe = operation is not None and operation.is_safe
        if turn.step.retry is None:
            return Retry(1, USUAL) if is_safe else Retry()
    if turn.step.retry is None:
        return Retry()
    if turn.step.retry.on or not is_safe:
        return turn.step.retry
    return Retry(turn.step.retry.times, USUAL | {"llm_failed"}, turn.step.retry.backoff)


def is_worth_it(problem: Problem, retry: Retry) -> bool:
    if problem.code == "http_status" and problem.status is not None:
        return str(problem.status) in retry.on or (500 <= problem.status < 600 and "5xx" in retry.on)
    return problem.code in retry.on


def pause(problem: Problem, retry: Retry, number: int) -> float:
    """The seconds to wait: doubled each time, not all at the same moment, and what the server asks for."""
    asked = problem.details.get("retry_after") if isinstance(problem.details, dict) else None
    if isinstance(asked, int | float) and not isinstance(asked, bool) and asked >= 0:
        return min(float(asked), LONGEST_PAUSE)
    return float(retry.backoff * 2**number * random.uniform(0.5, 1.0))  # noqa: S311  # not a secret


def timed(result: Result, began: float) -> Result:
    spent = int((time.monotonic() - began) * 1000)
    usage = Usage(result.usage.input_tokens, result.usage.output_tokens, spent)
    return msgspec.structs.replace(result, usage=usage)


async def until(deadline: float, source: AsyncIterator[T]) -> AsyncIterator[T]:
    """What the source gives until then, by the loop's clock. Whoever reads may take its time."""
    while True:
        async with asyncio.timeout_at(deadline):
            try:
                item = await anext(source)
            except StopAsyncIteration:
                return
        yield item
