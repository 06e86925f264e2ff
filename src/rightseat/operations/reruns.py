"""A stored run that is run again with changes, for faces. `evals.rerun` implements it.

Tools, flows, approvals and the client's page are answered from the recording, and nothing of a rerun is stored.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Protocol

import msgspec

from rightseat.core.errors import RightseatError
from rightseat.core.events import Event
from rightseat.core.types import JsonValue


class RerunBusy(RightseatError):
    code = "rerun_busy"
    status = 429


class TextChange(msgspec.Struct, frozen=True):
    """The new text at a place of a list of the form."""

    place: Annotated[int, msgspec.Meta(ge=0)]
    text: str


class AddedResult(msgspec.Struct, frozen=True):
    """The result of a call that the recording does not have."""

    tool: str
    arguments: Mapping[str, JsonValue]
    result: str


class RunChanges(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is different from the recorded run. `missing` is what a call without a result gets: `fail` ends the rerun
    there, `stub` tells the model that there is no result."""

    instructions: str | None = None
    model: str | None = None
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    messages: Sequence[TextChange] = ()
    results: Sequence[TextChange] = ()
    added: Sequence[AddedResult] = ()
    missing: Literal["fail", "stub"] = "fail"


class RerunMessage(msgspec.Struct, frozen=True):
    role: str
    text: str


class RecordedResult(msgspec.Struct, frozen=True):
    """`name` is that of a tool, or of a step of a flow as `PLUGIN/FLOW STEP`. `error` is a code. `approval` says how a
    person answered; None without a question."""

    name: str
    arguments: Mapping[str, JsonValue]
    result: str
    error: str | None
    approval: str | None


class RerunForm(msgspec.Struct, frozen=True, kw_only=True):
    """What can be changed. `messages` end with the question, and `results` are in the order of the calls.

    `instructions` and `model` are those of the configuration; both are null if the agent has none of its own. `runs`
    are those of the question: it and those that continue it. `thread` is null if they are not stored. `notes` say what
    the recording lacks.
    """

    agent: str
    thread: str | None
    instructions: str | None
    model: str | None
    models: Sequence[str]
    temperature: float | None
    messages: Sequence[RerunMessage]
    results: Sequence[RecordedResult]
    runs: Sequence[str]
    notes: Sequence[str]


class RerunCall(msgspec.Struct, frozen=True):
    """A call that the model made. `served` is `recorded`, `stub`, `anew` of a sub-agent or a flow, or `none`."""

    name: str
    arguments: Mapping[str, JsonValue]
    served: str
    result: str | None
    error: str | None


class RerunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a rerun ended. `outcome` is that of its last run; `diverged` names the call that the recording cannot answer,
    and `error` says why there is no answer. `cost` is null if a model has no price."""

    outcome: str
    text: str = ""
    calls: Sequence[RerunCall] = ()
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    diverged: str | None = None
    error: str | None = None


class Rerun(Protocol):
    """A rerun in progress. It ends by itself within a bound of time."""

    async def read(self) -> Event | RerunOutcome:
        """The next event; the outcome is the last. It may be cancelled, and called again."""
        ...

    async def aclose(self) -> None:
        """Stop it. The request to the model is closed."""
        ...
