"""The values that a step of a flow can read: the question, earlier results, the files of the conversation."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rightseat.core.ask import ANYONE, Principal
from rightseat.core.types import JsonValue
from rightseat.plugins.results import StepProblem, StepResult


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of this conversation, and only of this one. `data` is its content as base64."""

    id: str
    name: str
    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class Scope:
    """`data` is the last output, `data_from` the name of its step. `steps` are all earlier results in order.

    `calls` are the call types of the steps. `trusted` are the steps whose output has no text from outside; prompts mark
    the output of all others as data. `history` are the last messages as (role, text); `summary` shortens all
    messages before the question. `is_attended`: a person can be asked; otherwise a missing argument is an error.
    `context` is a model's summary of a context that was too long. `error` is set only in `on_error`. `window` is the
    model's context window in tokens. `response_notes` describe the outputs of steps, from the OpenAPI document.
    """

    question: str
    data: JsonValue = None
    data_from: str = ""
    steps: Mapping[str, StepResult] = field(default_factory=dict)
    calls: Mapping[str, str] = field(default_factory=dict)
    trusted: Collection[str] = ()
    files: tuple[Upload, ...] = ()
    summary: str = ""
    history: tuple[tuple[str, str], ...] = ()
    time: datetime = field(default_factory=lambda: datetime.now().astimezone())
    language: str = "en"
    user: Principal = ANYONE
    is_attended: bool = True
    context: str | None = None
    error: StepProblem | None = None
    window: int = 32_768
    response_notes: Mapping[str, str] = field(default_factory=dict)
