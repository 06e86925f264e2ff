"""How far a flow has come. It is JSON, so that it can wait with a question and go on from there."""

from dataclasses import replace

import msgspec

from rightseat.core.values import JsonValue
from rightseat.plugins.call_types import call_types
from rightseat.plugins.definition import Flow, Identity, Step
from rightseat.plugins.flows.means import ON_ERROR
from rightseat.plugins.results import Problem, Result, Usage
from rightseat.plugins.scene import Scene
from rightseat.plugins.slots import Filled


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a step: a result, or a problem; or nobody knows, because it was cut off."""

    result: Result | None = None
    problem: Problem | None = None
    is_unknown: bool = False


class Pause(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a flow waits, and with which arguments. `allows`: a person said that they may be sent."""

    reason: str
    filled: Filled | None = None
    allows: bool = False


class Progress(msgspec.Struct, omit_defaults=True):
    """`step` is the one to be done next, `path` those that were done. `problem` is there once something went wrong."""

    plugin: Identity
    flow: str
    question: str
    key: str = ""
    """Of the run that it began in."""
    step: str | None = "start"
    path: list[str] = []
    results: dict[str, Result] = {}
    calls: dict[str, str] = {}
    data: JsonValue = None
    data_from: str = ""
    problem: Problem | None = None
    usage: Usage = Usage()
    pause: Pause | None = None
    answered_by: str = ""
    """The step whose text the user has read already."""

    def memo(self) -> JsonValue:
        return plain(self)

    def scene(self, base: Scene) -> Scene:
        """What the next step can see."""
        return replace(
            base,
            question=self.question,
            data=self.data,
            data_from=self.data_from,
            steps=dict(self.results),
            calls=dict(self.calls),
            error=self.problem,
        )

    def note(self, step: Step, result: Result) -> None:
        """The step is done."""
        name = step.name or ON_ERROR
        self.results.pop(name, None)  # a step that is done again counts as the last one
        self.results[name] = result
        self.calls[name] = f"lib.{step.call}" if step.is_lib else step.call
        self.path.append(name)
        self.usage = added(self.usage, result.usage)
        self.pause = None
        if step.is_lib or not call_types()[step.call].keeps_data:
            self.data, self.data_from = result.output, name

    def next_of(self, step: Step, result: Result) -> str | None:
        if step.name in ("end", ""):
            return None
        return result.next if step.call == "choice" and not step.is_lib else step.next


def plain(value: object) -> JsonValue:
    """As JSON reads it: what is said again after a crash is then equal to what the log has."""
    read: JsonValue = msgspec.json.decode(msgspec.json.encode(value))
    return read


def read(memo: JsonValue) -> Progress:
    """Raises `msgspec.ValidationError`: that is no memo of a flow."""
    return msgspec.convert(memo, Progress)


def added(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.milliseconds + other.milliseconds,
    )


def last_producer(progress: Progress) -> str:
    """The last step that gave data, which is the one that an answer is made from."""
    return progress.data_from


def gives_the_answer(flow: Flow, step: Step) -> bool:
    """Is the text of this step what the user reads? If so it is shown while it is written."""
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
