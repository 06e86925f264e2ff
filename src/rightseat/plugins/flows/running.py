"""Running a flow: a loop over its steps.

1. Every step is a step of the engine. What it gave or how it failed is kept, and a run that goes on after its process
   died takes the same way again, up to the first step that has no end.
2. A step that may have had an effect and was cut off is not made again: a person is asked.
3. Something that goes wrong leads to `on_error`, once, and never back.
4. A question to a person ends the run as `waiting`, with all that is needed to go on in the question's memo.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from rightseat.core.ask import Answer
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.events import Custom, Event, RunFinished, StepEnded, StepStarted
from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Flow, Plugin
from rightseat.plugins.flows import answering, doing, pausing, telling
from rightseat.plugins.flows.course import Course
from rightseat.plugins.flows.means import ON_ERROR, Means
from rightseat.plugins.flows.progress import Outcome, Progress, added
from rightseat.plugins.results import Problem
from rightseat.plugins.scene import Scene

Suggest = Callable[[Progress, Scene], Awaitable[list[JsonValue]]]


async def run(
    plugin: Plugin,
    flow: Flow,
    scene: Scene,
    means: Means,
    steps: Steps,
    *,
    prefix: str = "flow",
    progress: Progress | None = None,
    answer: Answer | None = None,
    suggest: Suggest | None = None,
    composes: bool = True,
    failed: Callable[[Problem], None] | None = None,
) -> AsyncIterator[Event]:
    """The flow from its start, or from where it waited (`progress`) with the answer that it waited for.

    The last event is `RunFinished("waiting")`, or `Custom("flow.finished")` with how it ended. `prefix` begins the
    names of the engine's steps. Without `composes` no model is asked to word an answer: whoever runs the flow takes
    the data from its progress. `failed` hears at the end what went wrong, also where `on_error` has dealt with it.
    """
    if progress is None:
        progress = Progress(plugin.identity, flow.name, scene.question)
    course = Course(plugin, flow, scene, means, steps, prefix, progress)
    opening = [telling.started(progress, scene.language)] if answer is None else pausing.take(course, answer)
    for event in opening:
        yield event
    async with closing(walk(course)) as events:
        async for event in events:
            yield event
            if type(event) is RunFinished:
                return
    if not course.is_stopped:
        async with closing(conclude(course, suggest, composes=composes)) as events:
            async for event in events:
                yield event
                if type(event) is RunFinished:
                    return
    if progress.problem is not None and failed is not None:
        failed(progress.problem)
    yield telling.finished(progress, course.status())


async def walk(course: Course) -> AsyncIterator[Event]:
    """Step after step, until there is none, or a person is asked."""
    while (step := course.current()) is not None:
        name, waiting = step.name or ON_ERROR, None
        yield StepStarted(name)
        async with closing(doing.do(course, step)) as events:
            async for event in events:
                if type(event) is RunFinished:
                    waiting = event
                else:
                    yield event
        yield StepEnded(name)
        if waiting is not None:
            yield waiting
            return


async def conclude(course: Course, suggest: Suggest | None, *, composes: bool) -> AsyncIterator[Event]:
    """What the user reads at the end, and could ask next."""
    text = answering.ready_text(course.flow, course.progress)
    if course.progress.problem is None and text:
        async for event in say(course, text):
            yield event
    elif course.progress.problem is None and text is None and composes:
        async with closing(compose(course)) as events:
            async for event in events:
                yield event
    if course.progress.problem is not None:
        async for event in apologize(course, course.progress.problem):
            yield event
    elif suggest is not None:
        work = partial(suggest, course.progress, course.progress.scene(course.base))
        offered = await course.steps.do(f"{course.prefix}:suggestions", list[JsonValue], work)
        if offered:
            yield Custom("flow.suggestions", offered)


async def compose(course: Course) -> AsyncIterator[Event]:
    """One call of a model that words the answer. Where it fails, `on_error` follows."""
    turn, outcome = course.turn(answering.composing(course.flow)), Outcome()
    async with closing(doing.heard(course, turn)) as said:
        async for one in said:
            if isinstance(one, Outcome):
                outcome = one
            else:
                yield one
    if outcome.result is not None:
        course.progress.usage = added(course.progress.usage, outcome.result.usage)
        return
    yield course.fail(turn, outcome.problem or Problem("internal", "No answer came.", turn.name))
    async with closing(walk(course)) as events:
        async for event in events:
            yield event


async def apologize(course: Course, problem: Problem) -> AsyncIterator[Event]:
    """What is said of a failure, unless `on_error` has said it."""
    if course.progress.answered_by == ON_ERROR and not course.has_failed_twice:
        return
    async for event in say(course, answering.failure_text(problem, course.base.language)):
        yield event


async def say(course: Course, text: str) -> AsyncIterator[Event]:
    name = f"{course.prefix}:{len(course.progress.path)}:said"
    async with closing(course.steps.stream(name, partial(answering.said, text))) as events:
        async for event in events:
            yield event
