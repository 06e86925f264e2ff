"""One step of a flow: its arguments found, allowed where that takes a person, made once, and its outcome taken in."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial

import msgspec

from rightseat.core.closing import closing
from rightseat.core.events import Custom, Event
from rightseat.core.ids import new_id
from rightseat.core.values import JsonValue
from rightseat.plugins.call_types import Armed, Plain
from rightseat.plugins.definition import Step
from rightseat.plugins.flows import attempting, pausing, telling
from rightseat.plugins.flows.calls import call_of, llm
from rightseat.plugins.flows.course import Course
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.flows.progress import Outcome, Pause, added, gives_the_answer
from rightseat.plugins.results import Problem, Result, Usage
from rightseat.plugins.slots import Filled


class Prepared(msgspec.Struct, frozen=True, omit_defaults=True):
    filled: Filled | None = None
    problem: Problem | None = None
    usage: Usage = Usage()


async def do(course: Course, step: Step) -> AsyncIterator[Event]:
    """What the step says. The last event is `RunFinished` where a person is asked."""
    turn, call = course.turn(step), call_of(step)
    pause, course.progress.pause = course.progress.pause, None
    is_allowed = pause is not None and pause.allows
    filled = pause.filled if pause is not None and is_allowed else None
    if isinstance(call, Armed) and filled is None:
        prepared = await prepare(course, turn, call, pause)
        if prepared.problem is not None:
            yield course.fail(turn, prepared.problem)
            return
        filled = prepared.filled
        if filled is not None and filled.missing is not None:
            for event in pausing.ask_for_values(course, turn, filled):
                yield event
            return
    what = shown(turn, call, filled)
    yield telling.taken_in(turn, what)
    is_dangerous = step.dangerous or (isinstance(call, Armed) and call.is_dangerous(turn))
    if is_dangerous and not is_allowed and not course.means.is_dry:
        for event in pausing.ask_to_allow(course, turn, what, filled):
            yield event
        return
    outcome = Outcome(is_unknown=True)
    async with closing(made(course, turn, call, filled)) as said:
        async for one in said:
            if isinstance(one, Outcome):
                outcome = one
            else:
                yield one
    for event in concluded(course, turn, outcome, filled):
        yield event


async def prepare(course: Course, turn: Turn, call: Armed, pause: Pause | None) -> Prepared:
    """The arguments, once: a model that was asked for them is not asked again when the run goes on elsewhere."""

    async def work() -> Prepared:
        began = time.monotonic()
        earlier = None if pause is None else pause.filled
        retry = attempting.retry_of(turn)
        found = await attempting.tried(turn, lambda turn: call.prepare(turn, course.given, earlier), retry)
        if isinstance(found, Problem):
            return Prepared(problem=found)
        labels = {label: replace(upload, data="") for label, upload in found.files.items()}
        spent = int((time.monotonic() - began) * 1000)
        usage = Usage(found.usage.input_tokens, found.usage.output_tokens, spent)
        return Prepared(msgspec.structs.replace(found, files=labels), usage=usage)

    prepared = await course.steps.do(f"{course.key(turn)}:fill", Prepared, work)
    course.progress.usage = added(course.progress.usage, prepared.usage)
    return prepared


def shown(turn: Turn, call: Plain | Armed, filled: Filled | None) -> dict[str, JsonValue]:
    """What a step is about to do, for people and for the record."""
    if not isinstance(call, Armed) or filled is None:
        return {}
    origins: dict[str, JsonValue] = dict(filled.origins)
    files: list[JsonValue] = list(filled.files)
    return {**call.described(turn), "arguments": dict(filled.arguments), "origins": origins, "files": files}


async def made(
    course: Course, turn: Turn, call: Plain | Armed, filled: Filled | None
) -> AsyncIterator[Event | Outcome]:
    """What the step says while it is done; last, what became of it."""
    if gives_the_answer(course.flow, turn.step):
        async with closing(heard(course, turn)) as said:
            async for one in said:
                yield one
        return
    work: Callable[[], Awaitable[Outcome]] = partial(attempt, turn, call, filled)
    has_effect = isinstance(call, Armed) and call.has_effect(turn) and not course.means.is_dry
    if has_effect and await was_tried(course, turn):
        work = nothing_known  # unless what became of it was kept
    yield await course.steps.do(f"{course.key(turn)}:run", Outcome, work)


async def heard(course: Course, turn: Turn) -> AsyncIterator[Event | Outcome]:
    """A text that the user reads while it is written; last, what became of the step."""
    source = partial(llm.hear, turn, attempting.retry_of(turn))
    async with closing(course.steps.stream(f"{course.key(turn)}:run", source)) as events:
        async for event in events:
            if isinstance(event, Custom) and event.name == llm.OUTCOME:
                yield msgspec.convert(event.value, Outcome)
            else:
                yield event


async def attempt(turn: Turn, call: Plain | Armed, filled: Filled | None) -> Outcome:
    async def perform(turn: Turn) -> Result:
        if isinstance(call, Armed):
            result = await call.perform(turn, filled or Filled({}, {}))
        else:
            result = await call.perform(turn)
        return result if turn.means.keep is None else await turn.means.keep(result)

    return await attempting.attempt(turn, perform, attempting.retry_of(turn))


async def was_tried(course: Course, turn: Turn) -> bool:
    """Did an earlier execution of this run begin the step?"""
    mine = new_id("attempt")

    async def note() -> str:
        return mine

    return await course.steps.do(f"{course.key(turn)}:try", str, note) != mine


async def nothing_known() -> Outcome:
    return Outcome(is_unknown=True)


def concluded(course: Course, turn: Turn, outcome: Outcome, filled: Filled | None) -> list[Event]:
    if outcome.is_unknown:
        return pausing.ask_what_became(course, turn, filled)
    if outcome.result is None:
        return [course.fail(turn, outcome.problem or Problem("internal", "The step gave nothing.", turn.name))]
    return course.go_on(turn, outcome.result)
