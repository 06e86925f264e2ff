"""What a flow tells of itself while it runs: events with the names that faces and run records know."""

import msgspec

from rightseat.core.events import Custom
from rightseat.core.values import JsonValue
from rightseat.plugins import shortening
from rightseat.plugins.flows.means import Redacting, Turn
from rightseat.plugins.flows.progress import Progress, plain
from rightseat.plugins.results import Artifact, Problem, Result

LONGEST = 64_000  # bytes of an output in an event; the engine keeps all of it


def started(progress: Progress, language: str) -> Custom:
    return Custom("flow.started", {"plugin": plain(progress.plugin), "flow": progress.flow, "language": language})


def finished(progress: Progress, status: str) -> Custom:
    path: list[JsonValue] = list(progress.path)
    value: dict[str, JsonValue] = {"flow": progress.flow, "status": status, "path": path}
    value["usage"] = plain(progress.usage)
    if progress.problem:
        value["error"] = shown(progress.problem)
    return Custom("flow.finished", value)


def taken_in(turn: Turn, what: dict[str, JsonValue]) -> Custom:
    return step_event("input", turn, turn.means.redactor.value(what))


def waits(turn: Turn, reason: str, what: dict[str, JsonValue]) -> Custom:
    return step_event("waiting", turn, turn.means.redactor.value({"reason": reason, **what}))


def given(turn: Turn, result: Result, following: str | None) -> Custom:
    """The record of a step, in one piece: input, output, artifacts, usage, and what comes next."""
    output, was_cut = shortened(result.output)
    names: list[JsonValue] = [{"name": one.name, "kind": one.kind, "id": one.id} for one in result.artifacts]
    value: dict[str, JsonValue] = {
        "output": output,
        "message": result.message,
        "artifacts": names,
        "usage": plain(result.usage),
        "record": dict(result.record),
        "next": following,
    }
    if was_cut:
        value["shortened"] = True
    return step_event("output", turn, value)


def failed(turn: Turn, problem: Problem) -> Custom:
    return step_event("failed", turn, {"error": shown(problem), "details": problem.details})


def step_event(kind: str, turn: Turn, value: JsonValue) -> Custom:
    call = f"lib.{turn.step.call}" if turn.step.is_lib else turn.step.call
    return Custom("flow.step", plain({"event": kind, "step": turn.name, "call": call, "value": value}))


def artifact(one: Artifact) -> Custom:
    return Custom("artifact", plain(one))


def shown(problem: Problem) -> JsonValue:
    value: dict[str, JsonValue] = {"code": problem.code, "message": problem.message, "step": problem.step}
    return value if problem.status is None else {**value, "status": problem.status}


def shortened(value: JsonValue) -> tuple[JsonValue, bool]:
    """Small enough for an event."""
    text, was_cut = shortening.shorten(value, LONGEST)
    if not was_cut:
        return value, False
    return (text if isinstance(value, str) else msgspec.json.decode(text)), True


def redacted(result: Result, redactor: Redacting) -> Result:
    record = redactor.value(result.record)
    return msgspec.structs.replace(
        result,
        output=redactor.value(result.output),
        message=redactor.text(result.message),
        record=record if isinstance(record, dict) else {},
    )


def redacted_problem(problem: Problem, redactor: Redacting) -> Problem:
    return msgspec.structs.replace(
        problem, message=redactor.text(problem.message), details=redactor.value(problem.details)
    )
