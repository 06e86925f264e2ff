"""The results and problems of flow steps. The engine stores them, so they serialize to JSON."""

from typing import Literal

import msgspec

from rightseat.core.errors import RightseatError
from rightseat.core.types import JsonValue

ValueOrigin = Literal["question", "context", "data", "default", "args", "user", "ungrounded"]
"""Where the value of an argument comes from. `ungrounded`: only the model, from no known source."""

StepErrorCode = Literal[
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

MAX_OUTPUT_DEPTH = 100  # levels


class Artifact(msgspec.Struct, frozen=True, omit_defaults=True):
    """A chart, file or table beside the text of an answer.

    A chart has its ECharts `option`. A file has base64 content in `data` until it is stored and has an `id`.
    """

    kind: Literal["chart", "file", "table"]
    name: str
    media_type: str = ""
    id: str = ""
    size: int = 0
    data: str = ""
    option: JsonValue = None


class StepUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    input_tokens: int = 0
    output_tokens: int = 0
    milliseconds: int = 0


class StepResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """`message` is a short sentence for people. `next` is the step that a choice selected.

    `record` holds details for the run record: the request without secrets, the SQL statement, the origins of
    arguments, warnings. Models never receive it.
    """

    output: JsonValue = None
    message: str = ""
    artifacts: tuple[Artifact, ...] = ()
    usage: StepUsage = StepUsage()
    next: str | None = None
    record: dict[str, JsonValue] = msgspec.field(default_factory=dict)


class StepFailed(RightseatError):
    """A step failed. The message may be shown to people; `details` only go to the run record."""

    status = 502

    def __init__(
        self, code: StepErrorCode, message: str, *, status: int | None = None, details: JsonValue = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.upstream_status = status
        self.details = details

    def problem(self, step: str = "") -> "StepProblem":
        return StepProblem(self.code, self.message, step, self.upstream_status, self.details)


class SchemaMismatch(StepFailed):
    """The response of a model does not fit the schema of its step."""


class StepProblem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A failure in serializable form. `details` are not shown to people."""

    code: str
    message: str
    step: str = ""
    status: int | None = None
    details: JsonValue = None


def check_depth(value: JsonValue) -> None:
    """Raises `StepFailed` if the value is nested too deeply to be stored."""
    level: list[JsonValue] = [value]
    for _ in range(MAX_OUTPUT_DEPTH):
        inner = [one for one in level if isinstance(one, dict | list)]
        if not inner:
            return
        level = [part for one in inner for part in (one.values() if isinstance(one, dict) else one)]
    raise StepFailed("response_too_large", f"The response is nested more than {MAX_OUTPUT_DEPTH} levels deep.")
