"""What a call of a flow gives, and how it fails. Results are kept by the engine, so they can be written as JSON."""

from typing import Literal

import msgspec

from rightseat.core.errors import RightseatError
from rightseat.core.values import JsonValue

Origin = Literal["question", "context", "data", "default", "args", "user", "ungrounded"]
"""Where the value of an argument comes from. `ungrounded`: the model gave it, and nobody said it."""

Code = Literal[
    "http_status",
    "timeout",
    "connect",
    "redirect",
    "egress_blocked",
    "bad_path_value",
    "response_too_large",
    "slot_missing",
    "choice_failed",
    "extract_missing",
    "sql_refused",
    "sql_failed",
    "render_input",
    "llm_failed",
    "llm_context",
    "tool_failed",
    "secret_missing",
    "denied",
    "max_steps",
    "flow_timeout",
    "cancelled",
    "internal",
]

DEEPEST = 100  # levels of a result


class Artifact(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something to look at or to keep, beside the text of an answer.

    A chart has its ECharts `option`. A file has its content as base64 in `data`, until it is stored and has an `id`.
    """

    kind: Literal["chart", "file", "table"]
    name: str
    media_type: str = ""
    id: str = ""
    size: int = 0
    data: str = ""
    option: JsonValue = None


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: int = 0


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """`message` is a short sentence for people. `next` is the step that a choice took.

    `record` is what the run record keeps beside: the request that was sent (without secrets), the SQL statement, the
    origins of arguments, warnings. None of it is shown to a model.
    """

    output: JsonValue = None
    message: str = ""
    artifacts: tuple[Artifact, ...] = ()
    usage: Usage = Usage()
    next: str | None = None
    record: dict[str, JsonValue] = msgspec.field(default_factory=dict)


class StepFailed(RightseatError):
    """A step went wrong. The message may be shown to people; `details` go to the run record only."""

    status = 502

    def __init__(
        self, code: Code, message: str, *, status: int | None = None, details: JsonValue = None, step: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.upstream_status = status
        self.details = details
        self.step = step

    def problem(self, step: str = "") -> "Problem":
        return Problem(self.code, self.message, self.step or step, self.upstream_status, self.details)


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A failure as it is kept. `details` are not shown to people."""

    code: str
    message: str
    step: str = ""
    status: int | None = None
    details: JsonValue = None


def check_depth(value: JsonValue) -> None:
    """What is nested too deep could not be kept, and is of no use to anybody. Raises `StepFailed`."""
    level: list[JsonValue] = [value]
    for _ in range(DEEPEST):
        inner = [one for one in level if isinstance(one, dict | list)]
        if not inner:
            return
        level = [part for one in inner for part in (one.values() if isinstance(one, dict) else one)]
    raise StepFailed("response_too_large", f"What came back is nested more than {DEEPEST} levels deep.")
