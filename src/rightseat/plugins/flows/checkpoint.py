"""The state of a flow as JSON, stored with a question to a person so that the flow can resume from there."""

from dataclasses import replace

import msgspec

from rightseat.core.types import JsonValue
from rightseat.plugins.call_types import call_types, is_external
from rightseat.plugins.definition import ON_ERROR, Flow, Identity, Step
from rightseat.plugins.results import StepProblem, StepResult, StepUsage
from rightseat.plugins.scope import Scope
from rightseat.plugins.slots import FilledSlots


class StepOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end of a step: a result, which has its usage, or a problem; `is_unknown` if the process died during it."""

    result: StepResult | None = None
    problem: StepProblem | None = None
    is_unknown: bool = False
    usage: StepUsage = StepUsage()
    """Of a step that failed."""


class Pause(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a flow waits, and with which arguments. `is_approved`: a person allowed them to be sent."""

    reason: str
    filled: FilledSlots | None = None
    is_approved: bool = False


class FlowCheckpoint(msgspec.Struct, omit_defaults=True):
    """`step` is the next one, `path` lists the completed ones. `problem` is set after the first failure."""

    plugin: Identity
    flow: str
    question: str
    key: str = ""
    """Identifies the run in which the flow started."""
    step: str | None = "start"
    path: list[str] = []
    results: dict[str, StepResult] = {}
    calls: dict[str, str] = {}
    data: JsonValue = None
    data_from: str = ""
    problem: StepProblem | None = None
    usage: StepUsage = StepUsage()
    pause: Pause | None = None
    answered_by: str = ""
    """The step whose text was already streamed to the user."""

    def to_json(self) -> JsonValue:
        return to_json(self)

    def build_scope(self, base: Scope) -> Scope:
        """Return the scope of the next step."""
        return replace(
            base,
            question=self.question,
            data=self.data,
            data_from=self.data_from,
            steps=dict(self.results),
            calls=dict(self.calls),
            trusted=frozenset(name for name, call in self.calls.items() if not is_external(call)),
            error=self.problem,
        )

    def add_result(self, step: Step, result: StepResult) -> None:
        name = step.name or ON_ERROR
        self.results.pop(name, None)  # a repeated step moves to the end
        self.results[name] = result
        self.calls[name] = f"lib.{step.call}" if step.is_lib else step.call
        self.path.append(name)
        self.usage = add_usage(self.usage, result.usage)
        self.pause = None
        if step.is_lib or not call_types()[step.call].keeps_data:
            self.data, self.data_from = result.output, name

    def find_next(self, step: Step, result: StepResult) -> str | None:
        if step.name in ("end", ""):
            return None
        return result.next if step.call == "choice" and not step.is_lib else step.next


def to_json(value: object) -> JsonValue:
    """Convert to JSON types: an event repeated after a crash must equal the one in the log."""
    decoded: JsonValue = msgspec.json.decode(msgspec.json.encode(value))
    return decoded


def read_checkpoint(memo: JsonValue) -> FlowCheckpoint:
    """Raises `msgspec.ValidationError` if the memo is not a flow's."""
    return msgspec.convert(memo, FlowCheckpoint)


def add_usage(one: StepUsage, other: StepUsage) -> StepUsage:
    return StepUsage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.milliseconds + other.milliseconds,
    )


def is_answer_step(flow: Flow, step: Step) -> bool:
    """Is the text of this step the answer? If so it is streamed to the user."""
    if step.call != "llm" or step.is_lib or "output_schema" in step.params:
        return False
    if not step.name:
        return True
    if flow.answer in ("compose", "none"):
        return False
    seen = {step.name}
    while step.name != "end" and step.next is not None and step.next not in seen:
        step = flow.steps[step.next]
        seen.add(step.name)
        if step.is_lib or step.call == "choice" or not call_types()[step.call].keeps_data:
            return False
    return step.name == "end" or step.next is None
