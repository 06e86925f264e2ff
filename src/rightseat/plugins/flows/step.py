"""Runs one step of a flow: prepares its arguments, asks for approval where needed, calls once, records the outcome."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial

import msgspec

from rightseat.concurrency import aclosing
from rightseat.core.events import Custom, Event
from rightseat.core.ids import new_id
from rightseat.core.types import JsonValue
from rightseat.plugins.call_types import PreparedStepCall, StepCall, calls_models_only
from rightseat.plugins.flows import events, pause, retry
from rightseat.plugins.flows.calls import find_call, llm
from rightseat.plugins.flows.checkpoint import Pause, StepOutcome, add_usage, is_answer_step
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.flows.state_machine import FlowState
from rightseat.plugins.results import StepProblem, StepResult, StepUsage
from rightseat.plugins.slots import FilledSlots


class Preparation(msgspec.Struct, frozen=True, omit_defaults=True):
    filled: FilledSlots | None = None
    problem: StepProblem | None = None
    usage: StepUsage = StepUsage()


async def run_step(state: FlowState, context: StepContext) -> AsyncIterator[Event]:
    """Yield the events of the step. The last one is `RunFinished` if the flow pauses for a person."""
    call = find_call(context.step)
    last_pause, state.checkpoint.pause = state.checkpoint.pause, None
    is_approved = last_pause is not None and last_pause.is_approved
    filled = last_pause.filled if last_pause is not None and is_approved else None
    if isinstance(call, PreparedStepCall) and filled is None:
        prepared = await prepare(state, context, call, last_pause)
        if prepared.problem is not None:
            yield state.fail(context, prepared.problem)
            return
        filled = prepared.filled
        if filled is not None and filled.missing is not None:
            for event in pause.ask_for_values(state, context, filled):
                yield event
            return
    request = describe_request(context, call, filled)
    yield events.step_input(context, request)
    if is_dangerous(context, call) and not is_approved and not state.dependencies.is_dry:
        for event in pause.ask_for_approval(state, context, request, filled):
            yield event
        return
    outcome = StepOutcome(is_unknown=True)
    async with aclosing(execute(state, context, call, filled)) as items:
        async for item in items:
            if isinstance(item, StepOutcome):
                outcome = item
            else:
                yield item
    for event in apply_outcome(state, context, outcome, filled):
        yield event


async def prepare(
    state: FlowState, context: StepContext, call: PreparedStepCall, last_pause: Pause | None
) -> Preparation:
    """Fill the arguments once: a resumed run does not call the model for them again."""

    async def work() -> Preparation:
        started = time.monotonic()
        previous = None if last_pause is None else last_pause.filled
        policy = retry.find_policy(context)
        filled = await retry.retry(context, lambda one: call.prepare(one, state.form_values, previous), policy)
        if isinstance(filled, StepProblem):
            return Preparation(problem=filled, usage=retry.elapsed_since(started))
        files = {label: replace(upload, data="") for label, upload in filled.files.items()}
        milliseconds = int((time.monotonic() - started) * 1000)
        usage = StepUsage(filled.usage.input_tokens, filled.usage.output_tokens, milliseconds)
        return Preparation(msgspec.structs.replace(filled, files=files), usage=usage)

    prepared = await state.steps.do(f"{state.engine_key(context)}:fill", Preparation, work)
    state.checkpoint.usage = add_usage(state.checkpoint.usage, prepared.usage)
    return prepared


def is_dangerous(context: StepContext, call: StepCall | PreparedStepCall) -> bool:
    """Whether a person has to approve the step."""
    return context.step.dangerous or (isinstance(call, PreparedStepCall) and call.is_dangerous(context))


def describe_request(
    context: StepContext, call: StepCall | PreparedStepCall, filled: FilledSlots | None
) -> dict[str, JsonValue]:
    """What the step is about to send, for the approval question and the run record."""
    if not isinstance(call, PreparedStepCall) or filled is None:
        return {}
    origins: dict[str, JsonValue] = dict(filled.origins)
    files: list[JsonValue] = list(filled.files)
    return {**call.describe(context), "arguments": dict(filled.arguments), "origins": origins, "files": files}


async def execute(
    state: FlowState, context: StepContext, call: StepCall | PreparedStepCall, filled: FilledSlots | None
) -> AsyncIterator[Event | StepOutcome]:
    """Yield the events of the call, then its outcome."""
    if is_answer_step(state.flow, context.step):
        async with aclosing(stream_answer(state, context)) as items:
            async for item in items:
                yield item
        return
    work: Callable[[], Awaitable[StepOutcome]] = partial(run_call, context, call, filled)
    has_effect = isinstance(call, PreparedStepCall) and call.has_effect(context) and not state.dependencies.is_dry
    if has_effect and await was_started(state, context):
        work = return_unknown  # used only if the engine has no stored outcome
    yield await state.steps.do(f"{state.engine_key(context)}:run", StepOutcome, work)


async def stream_answer(state: FlowState, context: StepContext) -> AsyncIterator[Event | StepOutcome]:
    """Yield the model's text as it is generated, then the outcome of the step."""
    source = partial(llm.stream, context, retry.find_policy(context))
    async with aclosing(state.steps.stream(f"{state.engine_key(context)}:run", source)) as received:
        async for event in received:
            if isinstance(event, Custom) and event.name == llm.OUTCOME:
                yield msgspec.convert(event.value, StepOutcome)
            else:
                yield event


async def run_call(context: StepContext, call: StepCall | PreparedStepCall, filled: FilledSlots | None) -> StepOutcome:
    store_artifacts, serve = context.dependencies.store_artifacts, context.dependencies.serve

    async def make_call(context: StepContext) -> StepResult:
        if isinstance(call, PreparedStepCall):
            return await call.perform(context, filled or FilledSlots({}, {}))
        return await call.perform(context)

    async def perform(context: StepContext) -> StepResult:
        if serve is None or calls_models_only(context.step):
            result = await make_call(context)
        else:
            is_safe = isinstance(call, PreparedStepCall) and not (
                call.has_effect(context) or is_dangerous(context, call)
            )
            request = describe_request(context, call, filled)
            result = await serve(context, request, partial(make_call, context), is_safe=is_safe)
        return result if store_artifacts is None else await store_artifacts(result)

    return await retry.run_with_retries(context, perform, retry.find_policy(context))


async def was_started(state: FlowState, context: StepContext) -> bool:
    """Did an earlier execution of this run start the step?"""
    attempt_id = new_id("attempt")

    async def record_attempt() -> str:
        return attempt_id

    return await state.steps.do(f"{state.engine_key(context)}:try", str, record_attempt) != attempt_id


async def return_unknown() -> StepOutcome:
    return StepOutcome(is_unknown=True)


def apply_outcome(
    state: FlowState, context: StepContext, outcome: StepOutcome, filled: FilledSlots | None
) -> list[Event]:
    if outcome.is_unknown:
        return pause.ask_about_outcome(state, context, filled)
    if outcome.result is None:
        state.checkpoint.usage = add_usage(state.checkpoint.usage, outcome.usage)
        problem = outcome.problem or StepProblem("internal", "The step returned no result.", context.name)
        return [state.fail(context, problem)]
    return state.complete(context, outcome.result)
