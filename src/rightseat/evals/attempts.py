"""What a replay of a case did, and how it was scored. Stored as JSON."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from rightseat.core.types import JsonValue
from rightseat.evals.cases import Case

Outcome = Literal["passed", "failed", "diverged", "error", "unscored"]
Served = Literal["recorded", "stub", "live", "anew", "none"]


class AttemptCall(msgspec.Struct, frozen=True):
    """A call that the model made. `served` says where its result came from: `anew` from a sub-agent or a flow.

    `none` is that of a call that was not answered, or refused before any tool received it.
    """

    name: str
    arguments: Mapping[str, JsonValue]
    served: Served
    result: str | None = None
    error: str | None = None


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One replay, before it is scored. `diverged` and `error` are the reason why it has no outcome of its own.

    `run_outcome` is that of the last turn's run: `done`, `waiting`, `failed` ….
    """

    case: str
    number: int
    text: str = ""
    """The answer of the last turn."""
    run_outcome: str = "done"
    tool_calls: Sequence[AttemptCall] = ()
    citations: Sequence[JsonValue] = ()
    denied_by: str | None = None
    """The guard that denied a text."""
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """None if a model has no price."""
    seconds: float = 0.0
    diverged: str | None = None
    error: str | None = None
    cached: bool = False


class Score(msgspec.Struct, frozen=True):
    """`passed` is None if it could not be judged: neither passed nor failed, `reason` says why."""

    scorer: str
    passed: bool | None
    reason: str = ""


class Scorer(Protocol):
    """A scorer of one's own: `async def score(attempt, case, options) -> Score`."""

    async def __call__(self, attempt: Attempt, case: Case, options: JsonValue) -> Score: ...
