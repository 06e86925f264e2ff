"""What models were sent, call by call. Texts are stored once for each thread, by a hash of their content."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from rightseat.core.events import Usage
from rightseat.core.messages import Call, Result, Role, Text
from rightseat.core.types import JsonValue


class SentFile(msgspec.Struct, frozen=True, tag_field="type", tag="file"):
    """A file without its data, which the thread has."""

    media_type: str
    bytes: int
    name: str = ""
    url: str = ""


class SentImage(SentFile, frozen=True, tag_field="type", tag="image"):
    """An image without its data."""


class SentMessage(msgspec.Struct, frozen=True):
    role: Role
    parts: tuple[Text | SentImage | SentFile | Call | Result, ...]


class SentTool(msgspec.Struct, frozen=True):
    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    strict: bool | None = None


class CallRun(msgspec.Struct, frozen=True):
    """The run of a call, and whose it is."""

    run: str
    thread: str
    owner: str
    agent: str


class SentCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`instructions` are the leading system messages, and `messages` the others: both, and `tools`, are hashes of
    contents. `parameters` are those that were set. `omitted` says why the three are empty.

    `model` is the name under `models`. `span` is that of the call in the log of the run: several calls have the same
    one if a fallback answers or a response is continued.
    """

    call: str
    at: str
    agent: str
    purpose: str
    model: str
    provider_model: str
    span: str | None = None
    instructions: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    parameters: Mapping[str, JsonValue] = {}
    omitted: str | None = None


class CallEnd(msgspec.Struct, frozen=True):
    """`error` is the code of an error, or `cancelled`."""

    at: str
    usage: Usage | None = None
    error: str | None = None


class StoredCall(msgspec.Struct, frozen=True):
    """Without an `end` the call is in progress, or its server was killed."""

    sent: SentCall
    end: CallEnd | None


class StoredCallPage(msgspec.Struct, frozen=True):
    """`contents` has the JSON of the messages and tools of these calls, by their hashes. `next` is the id of the last
    call, if there are more."""

    calls: Sequence[StoredCall]
    contents: Mapping[str, str]
    next: str | None = None


class ModelCallStore(Protocol):
    async def add(self, run: CallRun, call: SentCall, contents: Mapping[str, str], expires_at: str) -> None:
        """`contents` are those that calls of this run have not added before, by their hashes."""
        ...

    async def end(self, call: str, end: CallEnd) -> None: ...

    async def find(self, run: str) -> CallRun | None:
        """None if no call of the run is stored."""
        ...

    async def list(self, run: str, limit: int, after: str | None = None) -> StoredCallPage: ...

    async def read_user(self, user: str) -> Sequence[JsonValue]: ...

    async def forget_user(self, user: str) -> int:
        """Returns how many calls were deleted."""
        ...


class UserModelCalls:
    """A `UserRecords`: what models were sent in the runs of one user."""

    name = "model calls"

    def __init__(self, store: ModelCallStore) -> None:
        self._store = store

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return await self._store.read_user(user)

    async def forget_user(self, user: str) -> int:
        return await self._store.forget_user(user)
