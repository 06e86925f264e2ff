"""Builds the events of a flow (`flow.started`, `flow.resumed`, `flow.step`, `flow.finished`, `artifact`), redacted."""

import msgspec

from rightseat.core.events import Custom
from rightseat.core.types import JsonValue
from rightseat.plugins.expressions import truncation
from rightseat.plugins.flows.checkpoint import FlowCheckpoint, to_json
from rightseat.plugins.flows.dependencies import StepContext, SupportsRedaction
from rightseat.plugins.results import Artifact, StepProblem, StepResult

MAX_OUTPUT_BYTES = 64_000  # in an event; the engine stores the full output


def flow_started(checkpoint: FlowCheckpoint, language: str) -> Custom:
    value: dict[str, JsonValue] = {"plugin": to_json(checkpoint.plugin), "flow": checkpoint.flow, "language": language}
    return Custom("flow.started", value)


def flow_resumed(checkpoint: FlowCheckpoint) -> Custom:
    """The first event of a flow that continues in another run, with the steps that it completed before."""
    path: list[JsonValue] = list(checkpoint.path)
    value: dict[str, JsonValue] = {"plugin": to_json(checkpoint.plugin), "flow": checkpoint.flow, "path": path}
    return Custom("flow.resumed", value)


def flow_finished(checkpoint: FlowCheckpoint, status: str) -> Custom:
    path: list[JsonValue] = list(checkpoint.path)
    value: dict[str, JsonValue] = {"flow": checkpoint.flow, "status": status, "path": path}
    value["usage"] = to_json(checkpoint.usage)
    if checkpoint.problem:
        value["error"] = problem_value(checkpoint.problem)
    return Custom("flow.finished", value)


def step_input(context: StepContext, request: dict[str, JsonValue]) -> Custom:
    return step_event("input", context, context.dependencies.redactor.redact_value(request))


def step_waiting(context: StepContext, reason: str, request: dict[str, JsonValue]) -> Custom:
    value = context.dependencies.redactor.redact_value({"reason": reason, **request})
    return step_event("waiting", context, value)


def step_output(context: StepContext, result: StepResult, next_step: str | None) -> Custom:
    """The record of a step in one event: output, artifacts, usage and the next step."""
    output, is_shortened = shorten_output(result.output)
    names: list[JsonValue] = [{"name": one.name, "kind": one.kind, "id": one.id} for one in result.artifacts]
    value: dict[str, JsonValue] = {
        "output": output,
        "message": result.message,
        "artifacts": names,
        "usage": to_json(result.usage),
        "record": dict(result.record),
        "next": next_step,
    }
    if is_shortened:
        value["shortened"] = True
    return step_event("output", context, value)


def step_failed(context: StepContext, problem: StepProblem) -> Custom:
    return step_event("failed", context, {"error": problem_value(problem), "details": problem.details})


def step_event(kind: str, context: StepContext, value: JsonValue) -> Custom:
    call = f"lib.{context.step.call}" if context.step.is_lib else context.step.call
    return Custom("flow.step", to_json({"event": kind, "step": context.name, "call": call, "value": value}))


def artifact_event(artifact: Artifact) -> Custom:
    return Custom("artifact", to_json(artifact))


def problem_value(problem: StepProblem) -> JsonValue:
    value: dict[str, JsonValue] = {"code": problem.code, "message": problem.message, "step": problem.step}
    return value if problem.status is None else {**value, "status": problem.status}


def shorten_output(value: JsonValue) -> tuple[JsonValue, bool]:
    """Return (value of at most `MAX_OUTPUT_BYTES`, whether it was shortened)."""
    text, is_shortened = truncation.truncate_value(value, MAX_OUTPUT_BYTES)
    if not is_shortened:
        return value, False
    return (text if isinstance(value, str) else msgspec.json.decode(text)), True


def redact_result(result: StepResult, redactor: SupportsRedaction) -> StepResult:
    record = redactor.redact_value(result.record)
    return msgspec.structs.replace(
        result,
        output=redactor.redact_value(result.output),
        message=redactor.redact_text(result.message),
        record=record if isinstance(record, dict) else {},
    )


def redact_problem(problem: StepProblem, redactor: SupportsRedaction) -> StepProblem:
    return msgspec.structs.replace(
        problem, message=redactor.redact_text(problem.message), details=redactor.redact_value(problem.details)
    )
