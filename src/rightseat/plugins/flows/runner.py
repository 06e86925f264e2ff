"""Runs a flow step by step, as one generator of events.

1. Every step is a step of the engine, which stores its result or problem. After a crash the run repeats the same path
   from storage, up to the first step without an outcome.
2. A step that was interrupted and may have had an effect is not repeated: a person decides.
3. The first problem leads to `on_error`, once, and never back.
4. A question to a person ends the run as `waiting`; the memo of the question holds the checkpoint.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from rightseat.concurrency import aclosing
from rightseat.core.ask import Answer
from rightseat.core.engine import Steps
from rightseat.core.events import Custom, Event, RunFinished, StepEnded, StepStarted
from rightseat.core.types import JsonValue
from rightseat.plugins.definition import ON_ERROR, Flow, Plugin
from rightseat.plugins.flows import answer as answers
from rightseat.plugins.flows import events as flow_events
from rightseat.plugins.flows import pause
from rightseat.plugins.flows.checkpoint import FlowCheckpoint, StepOutcome, add_usage
from rightseat.plugins.flows.dependencies import Dependencies
from rightseat.plugins.flows.state_machine import FlowState
from rightseat.plugins.flows.step import run_step, stream_answer
from rightseat.plugins.results import StepProblem
from rightseat.plugins.scope import Scope

Suggest = Callable[[FlowCheckpoint, Scope], Awaitable[list[JsonValue]]]


async def run(
    plugin: Plugin,
    flow: Flow,
    scope: Scope,
    dependencies: Dependencies,
    steps: Steps,
    *,
    prefix: str = "flow",
    checkpoint: FlowCheckpoint | None = None,
    answer: Answer | None = None,
    suggest: Suggest | None = None,
    composes: bool = True,
    on_problem: Callable[[StepProblem], None] | None = None,
) -> AsyncIterator[Event]:
    """Run the flow from its start, or resume it from `checkpoint` with the person's `answer`.

    The last event is `RunFinished("waiting")`, or `Custom("flow.finished")` with the status. `prefix` starts the names
    of the engine's steps. Without `composes` no model writes an answer: the caller reads the data of the checkpoint.
    `on_problem` is called at the end with the first problem, even if `on_error` handled it.
    """
    if checkpoint is None:
        checkpoint = FlowCheckpoint(plugin.identity, flow.name, scope.question)
    state = FlowState(plugin, flow, scope, dependencies, steps, prefix, checkpoint)
    if answer is None:
        first_events: list[Event] = [flow_events.flow_started(checkpoint, scope.language)]
    else:
        first_events = [flow_events.flow_resumed(checkpoint), *pause.apply_answer(state, answer)]
    for event in first_events:
        yield event
    async with aclosing(run_steps(state)) as events:
        async for event in events:
            yield event
            if type(event) is RunFinished:
                return
    if not state.is_stopped:
        async with aclosing(finish(state, suggest, composes=composes)) as events:
            async for event in events:
                yield event
                if type(event) is RunFinished:
                    return
    if checkpoint.problem is not None and on_problem is not None:
        on_problem(checkpoint.problem)
    yield flow_events.flow_finished(checkpoint, state.status())


async def run_steps(state: FlowState) -> AsyncIterator[Event]:
    """Run steps until none is left or the flow pauses for a person."""
    while (step := state.current_step()) is not None:
        name, pausing = step.name or ON_ERROR, None
        yield StepStarted(name)
        context = state.build_context(step)
        with context.span:
            async with aclosing(run_step(state, context)) as events:
                async for event in events:
                    if type(event) is RunFinished:
                        pausing = event
                    else:
                        yield event
        yield StepEnded(name)
        if pausing is not None:
            yield pausing
            return


async def finish(state: FlowState, suggest: Suggest | None, *, composes: bool) -> AsyncIterator[Event]:
    """Yield the answer or the error message, and suggestions for the next question."""
    text = answers.find_answer(state.flow, state.checkpoint)
    if state.checkpoint.problem is None and text:
        async for event in send_text(state, text):
            yield event
    elif state.checkpoint.problem is None and text is None and composes:
        async with aclosing(compose_answer(state)) as events:
            async for event in events:
                yield event
    if state.checkpoint.problem is not None:
        async for event in report_failure(state, state.checkpoint.problem):
            yield event
    elif suggest is not None:
        work = partial(suggest, state.checkpoint, state.checkpoint.build_scope(state.base_scope))
        suggestions = await state.steps.do(f"{state.prefix}:suggestions", list[JsonValue], work)
        if suggestions:
            yield Custom("flow.suggestions", suggestions)


async def compose_answer(state: FlowState) -> AsyncIterator[Event]:
    """Let a model write the answer, in one call. If it fails, `on_error` follows."""
    context, outcome = state.build_context(answers.build_compose_step(state.flow)), StepOutcome()
    with context.span:
        async with aclosing(stream_answer(state, context)) as items:
            async for item in items:
                if isinstance(item, StepOutcome):
                    outcome = item
                else:
                    yield item
    if outcome.result is not None:
        state.checkpoint.usage = add_usage(state.checkpoint.usage, outcome.result.usage)
        return
    state.checkpoint.usage = add_usage(state.checkpoint.usage, outcome.usage)
    yield state.fail(context, outcome.problem or StepProblem("internal", "The model sent no answer.", context.name))
    async with aclosing(run_steps(state)) as events:
        async for event in events:
            yield event


async def report_failure(state: FlowState, problem: StepProblem) -> AsyncIterator[Event]:
    """Send the error message, unless `on_error` already sent a text."""
    if state.checkpoint.answered_by == ON_ERROR and not state.has_failed_twice:
        return
    async for event in send_text(state, answers.write_failure(problem, state.base_scope.language)):
        yield event


async def send_text(state: FlowState, text: str) -> AsyncIterator[Event]:
    name = f"{state.prefix}:{len(state.checkpoint.path)}:text"
    async with aclosing(state.steps.stream(name, partial(answers.stream_text, text))) as events:
        async for event in events:
            yield event
