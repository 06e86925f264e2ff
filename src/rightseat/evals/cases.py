"""The types of a dataset, as its file has them."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from rightseat.core.types import JsonValue

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,80}$")]
ScorerSpec = Mapping[str, JsonValue]
"""One key, the name of the scorer, and its options: `{contains: "120"}`."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Stub(_Model):
    stub: str


MissingPolicy = Literal["fail", "stub", "live"] | Stub
"""What a call without a recording gets. A call whose effect is not `read` never runs, whatever the policy."""


class Turn(_Model):
    """What a person sent in one turn. `files` are paths of images beside the dataset."""

    text: str
    files: tuple[str, ...] = ()


class RecordedCall(_Model):
    """A call of a tool of the server or of the client's page, with its result or its error."""

    tool: str
    arguments: Mapping[str, JsonValue] = {}
    result: JsonValue = None
    error: str | None = None
    approval: Literal["approved", "denied"] | Mapping[str, JsonValue] | None = None


class RecordedRequest(_Model):
    """A request of a step of a flow. `flow` is `PLUGIN/FLOW`."""

    flow: str
    step: str
    request: Mapping[str, JsonValue]
    status: int | None = None
    result: JsonValue = None
    error: str | None = None


class Source(_Model):
    """Where a pinned case comes from. `user` is a keyed hash, see `users forget`."""

    run: str | None = None
    thread: str | None = None
    face: str | None = None
    user: str | None = None
    redacted: bool = True
    consent: str | None = None


class Case(_Model):
    name: Name
    source: Source | None = None
    agent: str | None = None
    ask: str | Turn | tuple[str | Turn, ...]
    history: tuple[Mapping[Literal["user", "assistant", "system"], str], ...] = ()
    tools: tuple[Mapping[str, JsonValue], ...] = ()
    """Those of the client: name, description, parameters."""
    context: tuple[Mapping[str, str], ...] = ()
    parameters: Mapping[str, JsonValue] = {}
    state: JsonValue = None
    recorded: tuple[RecordedCall | RecordedRequest, ...] = ()
    missing: MissingPolicy | None = None
    expected: str | None = None
    tags: tuple[str, ...] = ()
    scorers: tuple[ScorerSpec, ...] = ()

    @property
    def turns(self) -> tuple[Turn, ...]:
        asks = self.ask if isinstance(self.ask, tuple) else (self.ask,)
        return tuple(ask if isinstance(ask, Turn) else Turn(text=ask) for ask in asks)


class Dataset(_Model):
    version: Literal[1]
    name: str | None = None
    description: str | None = None
    agent: str | None = None
    missing: MissingPolicy = "fail"
    scorers: tuple[ScorerSpec, ...] = ()
    """Those of all cases."""
    cases: tuple[Case, ...]
