"""Waiting for a person: what is asked, and how the flow goes on with the answer."""

import msgspec

from rightseat.core.approvals import APPROVAL, is_approved, read_decision
from rightseat.core.ask import Answer
from rightseat.core.events import Event, RunFinished
from rightseat.core.values import JsonValue
from rightseat.plugins.call_types import Armed
from rightseat.plugins.flows import asking, telling
from rightseat.plugins.flows.calls import call_of
from rightseat.plugins.flows.course import Course
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.flows.progress import Pause
from rightseat.plugins.results import Problem, Result
from rightseat.plugins.slots import Filled

UNATTENDED = "A person would have to allow it, and this client cannot ask one."
UNKNOWN_SCHEMA: JsonValue = {"type": "string", "enum": ["repeat", "skip", "stop"]}


def ask_for_values(course: Course, turn: Turn, filled: Filled) -> list[Event]:
    text = asking.missing_text(turn, filled, course.note)
    if not turn.scene.is_attended:
        return [course.fail(turn, Problem("slot_missing", text, turn.name))]
    names: list[JsonValue] = list(asking.missing_names(filled))
    schema: JsonValue = dict(filled.missing or {})
    return wait(course, turn, asking.INPUT, text, schema, filled, {"missing": names, "schema": schema})


def ask_to_allow(course: Course, turn: Turn, what: dict[str, JsonValue], filled: Filled | None) -> list[Event]:
    if not turn.scene.is_attended:
        return [course.fail(turn, Problem("denied", UNATTENDED, turn.name))]
    text = asking.approval_text(turn, what, course.note)
    return wait(course, turn, APPROVAL, text, asking.approval_schema(filled), filled, what)


def ask_what_became(course: Course, turn: Turn, filled: Filled | None) -> list[Event]:
    text = f"{turn.name} was cut off: whether it had an effect is not known. Repeat it, skip it, or stop?"
    return wait(course, turn, asking.UNKNOWN, text, UNKNOWN_SCHEMA, filled, {})


def wait(
    course: Course,
    turn: Turn,
    reason: str,
    text: str,
    schema: JsonValue,
    filled: Filled | None,
    what: dict[str, JsonValue],
) -> list[Event]:
    course.progress.pause = Pause(reason, filled)
    question = asking.interrupt(turn, course.progress, reason, text, schema)
    return [telling.waits(turn, reason, what), RunFinished("waiting", (question,))]


def take(course: Course, answer: Answer) -> list[Event]:
    """What a person said, in the place where the flow waited for it."""
    step, pause = course.current(), course.progress.pause
    if step is None or pause is None:
        return []
    turn = course.turn(step)
    if pause.reason == asking.INPUT:
        take_values(course, answer, pause)
    elif pause.reason == APPROVAL:
        return take_decision(course, answer, turn, pause)
    elif answer.status == "resolved" and answer.payload == "skip":
        return course.go_on(turn, Result(message="skipped: what became of it is not known"))
    elif answer.status == "resolved" and answer.payload == "repeat":
        course.progress.pause = msgspec.structs.replace(pause, allows=True)
    else:
        course.is_stopped = True
    return []


def take_values(course: Course, answer: Answer, pause: Pause) -> None:
    """What is no form leaves the pause as it was, so that the same is asked again, with a note.

    Where one value is asked for, it may come by itself.
    """
    names = asking.missing_names(pause.filled) if pause.filled is not None else []
    if answer.status == "cancelled" or answer.payload is None:
        course.is_stopped = True
    elif isinstance(answer.payload, dict):
        course.given = answer.payload
    elif len(names) == 1:
        course.given = {names[0]: answer.payload}
    else:
        course.note = "- the answer was not understood: an object with a value for each name is wanted"


def take_decision(course: Course, answer: Answer, turn: Turn, pause: Pause) -> list[Event]:
    """Arguments that cannot be used leave the pause as it was, so that the same is asked again, with a note."""
    call, arguments = call_of(turn.step), edited_arguments(answer)
    if is_approved(answer):
        course.progress.pause = msgspec.structs.replace(pause, allows=True)
    elif arguments is not None and pause.filled is not None and isinstance(call, Armed):
        changed = asking.edited(pause.filled, {**pause.filled.arguments, **arguments})
        problems = asking.fixed(pause.filled, arguments) | call.check(turn, dict(changed.arguments))
        wrong = (f"{name or 'This'} cannot be used: {problem}" for name, problem in problems.items())
        course.note = "\n".join(wrong)
        if not problems:
            course.progress.pause = Pause(pause.reason, changed, allows=True)
    else:
        return [course.fail(turn, Problem("denied", "The person did not allow it.", turn.name))]
    return []


def edited_arguments(answer: Answer) -> dict[str, JsonValue] | None:
    """What the person changed, where the decision is `edit`."""
    payload = answer.payload
    if answer.status == "cancelled" or not isinstance(payload, dict) or read_decision(payload) != "edit":
        return None
    arguments = payload["arguments"]
    return arguments if isinstance(arguments, dict) else None
