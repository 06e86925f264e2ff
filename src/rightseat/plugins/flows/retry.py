"""Runs one step with its timeout and retries, and turns exceptions into step problems."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import msgspec

from rightseat.core.errors import ContextTooLong, LimitExceeded, ModelError
from rightseat.plugins.call_types import call_types
from rightseat.plugins.definition import RetryPolicy, Step
from rightseat.plugins.flows import events
from rightseat.plugins.flows.checkpoint import StepOutcome
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.results import SchemaMismatch, StepFailed, StepProblem, StepResult, StepUsage, check_depth

logger = logging.getLogger(__name__)

T = TypeVar("T")

LIB_TIMEOUT_S = 60.0
MAX_RETRY_AFTER_S = 30.0  # upper bound for a server's `Retry-After`
DEFAULT_RETRY_CODES = frozenset(("timeout", "connect", "429", "5xx"))


async def run_with_retries(
    context: StepContext, call: Callable[[StepContext], Awaitable[StepResult]], policy: RetryPolicy
) -> StepOutcome:
    """Return the outcome of the last attempt. Raises on cancellation, and if a limit refuses a model call."""
    started = time.monotonic()

    async def work(context: StepContext) -> StepResult:
        result = await call(context)
        check_depth(result.output)
        return events.redact_result(add_duration(result, started), context.dependencies.redactor)

    result = await retry(context, work, policy)
    if isinstance(result, StepProblem):
        return StepOutcome(problem=result, usage=elapsed_since(started))
    return StepOutcome(result)


async def retry(
    context: StepContext, work: Callable[[StepContext], Awaitable[T]], policy: RetryPolicy
) -> T | StepProblem:
    until = time.monotonic() + context.seconds_left
    for attempt in range(policy.times + 1):
        with context.span.work() as span:
            try:
                async with asyncio.timeout(min(context.timeout, until - time.monotonic())):
                    return await work(context)
            except LimitExceeded:
                raise  # the run ends: no later step could call a model
            except Exception as error:
                context = replace(context, is_schema_retry=isinstance(error, SchemaMismatch))
                problem = events.redact_problem(to_problem(context, error), context.dependencies.redactor)
        delay = find_delay(problem, policy, attempt, until)
        if delay is None:
            break
        await context.dependencies.sleep(delay)
    span.note(error=problem.code)
    return problem


def to_problem(context: StepContext, error: Exception) -> StepProblem:
    """Unexpected exceptions go to the log with their traceback; the problem only states that there was one."""
    if isinstance(error, StepFailed):
        return error.problem(context.name)
    if isinstance(error, TimeoutError):
        message = f"The step {context.name} took longer than {context.timeout:g} s."
        return StepProblem("timeout", message, context.name)
    if isinstance(error, ContextTooLong):
        return StepProblem("llm_context", error.message, context.name)
    if isinstance(error, ModelError):
        return StepProblem("llm_failed", error.message, context.name)
    logger.error("plugin %s: the step %s failed", context.plugin.id, context.name, exc_info=error)
    return StepProblem("internal", f"An internal error occurred in the step {context.name}.", context.name)


def attempt_timeout(step: Step, seconds_left: float) -> float:
    """Seconds for one attempt of the step; at most those left for the flow."""
    default = LIB_TIMEOUT_S if step.is_lib else call_types()[step.call].timeout
    return min(step.timeout or default, seconds_left)


def find_policy(context: StepContext) -> RetryPolicy:
    """The author's policy; by default a safe API request is retried once."""
    step = context.step
    is_safe = not step.is_lib and step.call != "api"
    if step.call == "api" and not step.is_lib:
        operation = context.plugin.operation(context.text("endpoint"))
        is_safe = operation is not None and operation.is_safe
        if step.retry is None:
            return RetryPolicy(1, DEFAULT_RETRY_CODES) if is_safe else RetryPolicy()
    if step.retry is None:
        return RetryPolicy()
    if step.retry.on or not is_safe:
        return step.retry
    return RetryPolicy(step.retry.times, DEFAULT_RETRY_CODES | {"llm_failed"}, step.retry.backoff)


def find_delay(problem: StepProblem, policy: RetryPolicy, attempt: int, until: float) -> float | None:
    """Seconds until the next attempt; None if there is none, or only after the end of the flow's timeout."""
    if attempt == policy.times or not is_retryable(problem, policy):
        return None
    delay = retry_delay(problem, policy, attempt)
    return delay if time.monotonic() + delay < until else None


def is_retryable(problem: StepProblem, policy: RetryPolicy) -> bool:
    if problem.code == "http_status" and problem.status is not None:
        return str(problem.status) in policy.on or (500 <= problem.status < 600 and "5xx" in policy.on)
    return problem.code in policy.on


def retry_delay(problem: StepProblem, policy: RetryPolicy, attempt: int) -> float:
    """Seconds: the server's `Retry-After` if given, otherwise exponential backoff with jitter."""
    retry_after = problem.details.get("retry_after") if isinstance(problem.details, dict) else None
    if isinstance(retry_after, int | float) and not isinstance(retry_after, bool) and retry_after >= 0:
        return min(float(retry_after), MAX_RETRY_AFTER_S)
    return float(policy.backoff * 2**attempt * random.uniform(0.5, 1.0))  # noqa: S311  # not a secret


def elapsed_since(started: float) -> StepUsage:
    return StepUsage(milliseconds=int((time.monotonic() - started) * 1000))


def add_duration(result: StepResult, started: float) -> StepResult:
    milliseconds = elapsed_since(started).milliseconds
    usage = StepUsage(result.usage.input_tokens, result.usage.output_tokens, milliseconds)
    return msgspec.structs.replace(result, usage=usage)


async def read_until(deadline: float, source: AsyncIterator[T]) -> AsyncIterator[T]:
    """Yield items until the deadline, by the loop's clock. The consumer's own time does not count as a wait."""
    while True:
        async with asyncio.timeout_at(deadline):
            try:
                item = await anext(source)
            except StopAsyncIteration:
                return
        yield item
