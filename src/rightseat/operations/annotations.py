"""Annotations: what a user did in the page, stored with the thread, for operators.

A page sends them, and never reads them. The same `client_event_id` of one user is one annotation.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from rightseat.core.ask import AgentNames
from rightseat.core.errors import BadRequest, RightseatError
from rightseat.core.types import JsonValue
from rightseat.operations.records import Page, RecordReader

MAX_TYPE_CHARS = 100
MAX_EVENT_ID_CHARS = 200
MAX_PAYLOAD_BYTES = 16_384
MAX_ROWS = 2_000
"""Of one user. The oldest are deleted first."""
TRIMMED_ROWS = 100
"""So many rows above `MAX_ROWS` are deleted at once, with one line in the log."""


class AnnotationsNotSupported(RightseatError):
    code = "annotations_not_supported"
    status = 501

    def __init__(self) -> None:
        super().__init__("The configured store of threads stores no annotations. Use `threads: {type: sql}`.")


class AnnotationTooLong(BadRequest):
    code = "annotation_too_long"
    status = 413

    def __init__(self, bytes: int) -> None:
        super().__init__(f"The payload has {bytes:,} bytes of JSON; {MAX_PAYLOAD_BYTES:,} are stored at most.")


class NewAnnotation(msgspec.Struct, frozen=True, kw_only=True):
    """`payload` is JSON. `agents` are those that the owner may use: the thread must be one of theirs, if it exists."""

    owner: str
    thread: str
    type: str
    payload: str
    client_event_id: str | None = None
    occurred_at: str | None = None
    agents: AgentNames = None


class StoredAnnotation(msgspec.Struct, frozen=True):
    """`is_duplicate` says that the user had sent an annotation with this `client_event_id` before."""

    id: str
    is_duplicate: bool


class AnnotationRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored annotation. Times are ISO 8601, in UTC; `occurred_at` is what the page sent.

    `agent` is that of the thread, null if the thread is not stored.
    """

    id: str
    owner: str
    thread: str
    agent: str | None
    type: str
    payload: JsonValue
    client_event_id: str | None
    occurred_at: str | None
    created_at: str


class AnnotationQuery(msgspec.Struct, frozen=True, kw_only=True):
    """As `records.RunQuery`: fields that are None restrict nothing. `since` restricts `created_at`."""

    reader: RecordReader | None = None
    owner: str | None = None
    thread: str | None = None
    agent: str | None = None
    type: str | None = None
    since: str | None = None
    after: str | None = None
    limit: int = 50


class AnnotationStore(Protocol):
    async def add(self, annotation: NewAnnotation) -> StoredAnnotation:
        """Raises `ThreadNotFound` for a thread of another user, or of another agent. It need not exist yet."""
        ...

    async def list(self, query: AnnotationQuery) -> Page[AnnotationRow]:
        """The newest first. Raises `BadRequest` for a cursor that is none."""
        ...

    async def read_user(self, user: str) -> Sequence[JsonValue]: ...

    async def forget_user(self, user: str) -> int:
        """Returns how many annotations of the user were deleted."""
        ...


class UserAnnotations:
    """A `UserRecords`: the annotations of one user, for their export and their erasure."""

    name = "annotations"

    def __init__(self, store: AnnotationStore) -> None:
        self._store = store

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return await self._store.read_user(user)

    async def forget_user(self, user: str) -> int:
        return await self._store.forget_user(user)


def read_annotation_cursor(text: str) -> tuple[str, str]:
    """The time and the id of the last row of the page before. Raises `BadRequest`."""
    time, _, id = text.partition("/")
    if not id or "\0" in text:
        raise BadRequest(f"{text[:60]!r} is not the cursor of a page of annotations.")
    return time, id
