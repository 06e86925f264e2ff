"""The types of a dataset, as its file has them."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from rightseat.core.types import JsonValue

DATASET_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,80}$"
CaseName = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]{1,200}$")]
"""On one line. Reports show it, so it has no control characters."""
ScorerSpec = Mapping[str, JsonValue]
"""One key, the name of the scorer, and its options: `{contains: "120"}`."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Stub(_Model):
    stub: str


def _kind(value: object) -> str:
    """The branch of a union of text, a list and one model, by which an error concerns one branch only."""
    return "list" if isinstance(value, list | tuple) else "model" if isinstance(value, dict | BaseModel) else "text"


MissingPolicy = Annotated[
    Annotated[Literal["fail", "stub", "live"], Tag("text")] | Annotated[Stub, Tag("model")], Discriminator(_kind)
]
"""What a call without a recording gets. A call whose effect is not `read` never runs, whatever the policy."""


class Turn(_Model):
    """What a person sent in one turn. `files` are paths of images beside the dataset."""

    text: str
    files: tuple[str, ...] = ()


Entry = Annotated[Annotated[str, Tag("text")] | Annotated[Turn, Tag("model")], Discriminator(_kind)]
Asked = Annotated[
    Annotated[str, Tag("text")]
    | Annotated[Turn, Tag("model")]
    | Annotated[tuple[Entry, ...], Field(min_length=1), Tag("list")],
    Discriminator(_kind),
]


class RecordedCall(_Model):
    """A call of a tool of the server or of the client's page, with its result or its error.

    `waiting` is a call that nobody has answered: the replay ends there, too.
    A large result is in the file `result_file`, beside the dataset. Reading the dataset sets `result` to its content.
    """

    tool: str
    arguments: Mapping[str, JsonValue] = {}
    result: JsonValue = None
    result_file: str | None = None
    error: str | None = None
    approval: Literal["approved", "denied", "waiting"] | Mapping[str, JsonValue] | None = None


class RecordedRequest(_Model):
    """A request of a step of a flow. `flow` is `PLUGIN/FLOW`."""

    flow: str
    step: str
    request: Mapping[str, JsonValue]
    status: int | None = None
    result: JsonValue = None
    result_file: str | None = None
    error: str | None = None


def _recording(value: object) -> str:
    """The class whose name the schema's branch has."""
    is_request = isinstance(value, RecordedRequest) or (isinstance(value, dict) and "flow" in value)
    return RecordedRequest.__name__ if is_request else RecordedCall.__name__


Recording = Annotated[
    Annotated[RecordedCall, Tag("RecordedCall")] | Annotated[RecordedRequest, Tag("RecordedRequest")],
    Discriminator(_recording),
]


class Source(_Model):
    """Where a pinned case comes from. `user` is a keyed hash, see `users forget`."""

    run: str | None = None
    thread: str | None = None
    face: str | None = None
    user: str | None = None
    redacted: bool = True
    consent: str | None = None


class Case(_Model):
    name: CaseName
    source: Source | None = None
    agent: str | None = None
    ask: Asked
    history: tuple[Mapping[Literal["user", "assistant", "system"], str], ...] = ()
    tools: tuple[Mapping[str, JsonValue], ...] = ()
    """Those of the client: name, description, parameters."""
    context: tuple[Mapping[str, str], ...] = ()
    parameters: Mapping[str, JsonValue] = {}
    state: JsonValue = None
    recorded: tuple[Recording, ...] = ()
    missing: MissingPolicy | None = None
    expected: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, JsonValue] = {}
    """Of other programs."""
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
