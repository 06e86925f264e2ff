"""What is stored of runs so that they can be replayed, beside their events and messages."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from rightseat.core.ask import Ask, Context, Parameters, ToolOffer
from rightseat.core.events import Event
from rightseat.core.messages import Message
from rightseat.core.types import JsonValue

CREDENTIAL_NAME = re.compile(r"key|token|secret|passw|credential|auth|cookie", re.IGNORECASE)
REMOVED = "[removed]"


class RecordedAsk(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an ask has beside its messages. Headers are left out, and so are the values of `properties` whose names are
    those of credentials. `parameters` are those that are set."""

    tools: tuple[ToolOffer, ...] = ()
    parameters: Mapping[str, JsonValue] = {}
    context: tuple[Context, ...] = ()
    state: JsonValue = None
    properties: Mapping[str, JsonValue] = {}


class RunRecording(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run, as its case is made of it. `messages` are all that a transient ask brought, and the new ones of another.

    `payloads` are those of the answers that it brought, by the ids of their questions. `ask` is None for a run of an
    earlier version, which did not store it.
    """

    run: str
    thread: str
    owner: str
    agent: str
    face: str | None = None
    ask: RecordedAsk | None = None
    messages: tuple[Message, ...] = ()
    payloads: Mapping[str, JsonValue] = {}
    events: tuple[Event, ...] = ()
    is_transient: bool = False


class Recordings(Protocol):
    """Recordings of transient runs are rows of their own, until `expires_at`. Of stored runs this reads what neither
    their threads nor their logs have."""

    async def add(self, recording: RunRecording, expires_at: str) -> None: ...

    async def keep(self, run: str, until: str) -> None:
        """Keep the recording of a transient run for longer, if there is one, and what the models of a run were sent."""
        ...

    async def find(self, run: str) -> RunRecording | None:
        """The recording of a transient run."""
        ...

    async def list_thread(self, thread: str, owner: str) -> Sequence[RunRecording]:
        """The transient runs of a thread, in the order in which they started."""
        ...

    async def read_asks(self, thread: str) -> Mapping[str, RecordedAsk]:
        """The asks of the stored runs of a thread, by run."""
        ...

    async def read_payloads(self, thread: str) -> Mapping[str, JsonValue]:
        """The payloads of the answers in a thread, by the ids of their questions."""
        ...

    async def read_user(self, user: str) -> Sequence[JsonValue]: ...

    async def forget_user(self, user: str) -> int:
        """Returns how many recordings of transient runs were deleted."""
        ...


class UserRecordings:
    """A `UserRecords`: the recordings of one user's transient runs."""

    name = "recordings"

    def __init__(self, store: Recordings) -> None:
        self._store = store

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return await self._store.read_user(user)

    async def forget_user(self, user: str) -> int:
        return await self._store.forget_user(user)


def record_ask(ask: Ask) -> RecordedAsk:
    properties = {name: remove_credentials(value, name) for name, value in ask.properties.items()}
    return RecordedAsk(ask.tools, list_parameters(ask.parameters), ask.context, ask.state, properties)


def list_parameters(parameters: Parameters) -> Mapping[str, JsonValue]:
    """Those that are set."""
    values = {name: getattr(parameters, name) for name in parameters.__struct_fields__}
    return {name: msgspec.to_builtins(value) for name, value in values.items() if value is not None}


def remove_credentials(value: JsonValue, name: str = "") -> JsonValue:
    match value:
        case dict():
            return {key: remove_credentials(item, key) for key, item in value.items()}
        case list():
            return [remove_credentials(item, name) for item in value]
        case str() if CREDENTIAL_NAME.search(name):
            return REMOVED
    return value
