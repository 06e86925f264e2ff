"""Pauses a flow with a question to a person, and applies the answer when the flow resumes."""

import msgspec

from rightseat.core.approvals import APPROVAL, is_approved, read_decision
from rightseat.core.ask import Answer
from rightseat.core.events import Event, RunFinished
from rightseat.core.types import JsonValue
from rightseat.plugins.call_types import PreparedStepCall
from rightseat.plugins.flows import events, questions
from rightseat.plugins.flows.calls import find_call
from rightseat.plugins.flows.checkpoint import Pause
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.flows.state_machine import FlowState
from rightseat.plugins.results import StepProblem, StepResult
from rightseat.plugins.slots import FilledSlots

UNATTENDED = "This step needs a person's approval, and this client cannot ask for it."
OUTCOME_SCHEMA: JsonValue = {"type": "string", "enum": ["repeat", "skip", "stop"]}


def ask_for_values(state: FlowState, context: StepContext, filled: FilledSlots) -> list[Event]:
    text = questions.write_missing(context, filled, state.note)
    if not context.scope.is_attended:
        return [state.fail(context, StepProblem("slot_missing", text, context.name))]
    names: list[JsonValue] = list(questions.missing_names(filled))
    schema: JsonValue = dict(filled.missing or {})
    return pause_flow(state, context, questions.INPUT, text, schema, filled, {"missing": names, "schema": schema})


def ask_for_approval(
    state: FlowState, context: StepContext, request: dict[str, JsonValue], filled: FilledSlots | None
) -> list[Event]:
    if not context.scope.is_attended:
        return [state.fail(context, StepProblem("denied", UNATTENDED, context.name))]
    text = questions.write_approval(context, request, state.note)
    return pause_flow(state, context, APPROVAL, text, questions.approval_schema(filled), filled, request)


def ask_about_outcome(state: FlowState, context: StepContext, filled: FilledSlots | None) -> list[Event]:
    text = f"The step {context.name} was interrupted and may have taken effect. Repeat it, skip it, or stop?"
    return pause_flow(state, context, questions.UNKNOWN, text, OUTCOME_SCHEMA, filled, {})


def pause_flow(
    state: FlowState,
    context: StepContext,
    reason: str,
    text: str,
    schema: JsonValue,
    filled: FilledSlots | None,
    request: dict[str, JsonValue],
) -> list[Event]:
    state.checkpoint.pause = Pause(reason, filled)
    question = questions.build_interrupt(context, state.checkpoint, reason, text, schema)
    return [events.step_waiting(context, reason, request), RunFinished("waiting", (question,))]


def apply_answer(state: FlowState, answer: Answer) -> list[Event]:
    step, pause = state.current_step(), state.checkpoint.pause
    if step is None or pause is None:
        return []
    context = state.build_context(step)
    if pause.reason == questions.INPUT:
        apply_values(state, answer, pause)
    elif pause.reason == APPROVAL:
        return apply_decision(state, answer, context, pause)
    elif answer.status == "resolved" and answer.payload == "skip":
        return state.complete(context, StepResult(message="skipped, with an unknown outcome"))
    elif answer.status == "resolved" and answer.payload == "repeat":
        state.checkpoint.pause = msgspec.structs.replace(pause, is_approved=True)
    else:
        state.is_stopped = True
    return []


def apply_values(state: FlowState, answer: Answer, pause: Pause) -> None:
    """If the payload is not an object, the pause stays and the question is repeated with a note.

    If only one value is missing, the payload may be that value itself.
    """
    names = questions.missing_names(pause.filled) if pause.filled is not None else []
    if answer.status == "cancelled" or answer.payload is None:
        state.is_stopped = True
    elif isinstance(answer.payload, dict):
        state.form_values = answer.payload
    elif len(names) == 1:
        state.form_values = {names[0]: answer.payload}
    else:
        state.note = "- Please enter a value for each of them."


def apply_decision(state: FlowState, answer: Answer, context: StepContext, pause: Pause) -> list[Event]:
    """If edited arguments are invalid, the pause stays and the question is repeated with a note."""
    call, arguments = find_call(context.step), edited_arguments(answer)
    if is_approved(answer):
        state.checkpoint.pause = msgspec.structs.replace(pause, is_approved=True)
    elif arguments is not None and pause.filled is not None and isinstance(call, PreparedStepCall):
        changed = questions.replace_arguments(pause.filled, {**pause.filled.arguments, **arguments})
        problems = questions.check_fixed(pause.filled, arguments) | call.check(context, dict(changed.arguments))
        state.note = "\n".join(f"{name or 'This'} cannot be used: {text}" for name, text in problems.items())
        if not problems:
            state.checkpoint.pause = Pause(pause.reason, changed, is_approved=True)
    else:
        return [state.fail(context, StepProblem("denied", "The user did not allow this step.", context.name))]
    return []


def edited_arguments(answer: Answer) -> dict[str, JsonValue] | None:
    """The changed arguments if the decision is `edit`."""
    payload = answer.payload
    if answer.status == "cancelled" or not isinstance(payload, dict) or read_decision(payload) != "edit":
        return None
    arguments = payload["arguments"]
    return arguments if isinstance(arguments, dict) else None
