"""Protocols to export and delete all stored data of a user, for commands that run alongside the servers."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

import msgspec

from rightseat.core.artifacts import StoredArtifact
from rightseat.core.ask import Principal
from rightseat.core.events import Interrupt
from rightseat.core.messages import Call
from rightseat.core.threads import Thread
from rightseat.core.types import JsonValue
from rightseat.limits.store import LimitStore
from rightseat.operations.annotations import AnnotationStore
from rightseat.operations.api_keys import ApiKeyStore
from rightseat.operations.audit import AuditStore
from rightseat.operations.feedback import FeedbackStore
from rightseat.operations.memories import MemoryStore
from rightseat.operations.model_calls import ModelCallStore
from rightseat.operations.recordings import RecordedAsk, Recordings
from rightseat.operations.records import Records


class ApprovalRecord(msgspec.Struct, frozen=True):
    """A question to a person, with the call that waited for the answer, and what the answer was. Times are ISO 8601, in
    UTC."""

    run_id: str
    interrupt: Interrupt
    call: Call | None
    created_at: str
    answered_at: str | None
    payload: JsonValue = None


class ThreadRecord(msgspec.Struct, frozen=True):
    """`requests` have what the clients sent beside their messages, by run."""

    thread: Thread
    approvals: tuple[ApprovalRecord, ...] = ()
    requests: Mapping[str, RecordedAsk] = {}


class FileRecord(msgspec.Struct, frozen=True):
    """A file that a run created. Without a `thread_id` it is from a transient run, of which nothing else is stored."""

    stored: StoredArtifact
    thread_id: str | None
    created_at: str


class UserStore(Protocol):
    """The threads and files of a user. Servers may use the same store at the same time.

    `records` lists the threads and runs of all users; the other properties are those of the store.
    """

    @property
    def records(self) -> Records: ...

    @property
    def api_keys(self) -> ApiKeyStore: ...

    @property
    def audit(self) -> AuditStore: ...

    @property
    def limits(self) -> LimitStore: ...

    @property
    def feedback(self) -> FeedbackStore: ...

    @property
    def memories(self) -> MemoryStore: ...

    @property
    def annotations(self) -> AnnotationStore: ...

    @property
    def recordings(self) -> Recordings: ...

    @property
    def model_calls(self) -> ModelCallStore: ...

    async def load(self, thread_id: str, principal: Principal) -> Thread | None: ...

    async def thread_ids(self, user: str) -> Sequence[str]: ...

    async def thread_record(self, thread_id: str, user: str) -> ThreadRecord | None: ...

    def file_records(self, user: str) -> AsyncIterator[FileRecord]: ...

    async def delete_threads(self, thread_ids: Sequence[str], user: str) -> Sequence[str]:
        """Returns the ids of their runs, whose logs and steps can be deleted too. Ignores threads that do not exist."""
        ...

    async def delete_files(self, user: str) -> int:
        """Delete the files that belong to no thread. Returns how many."""
        ...


class UserRecords(Protocol):
    """User data that another part stores. `name` is its display name, such as `feedback`."""

    name: str

    async def read_user(self, user: str) -> Sequence[JsonValue]: ...

    async def forget_user(self, user: str) -> int:
        """Returns how many records were deleted."""
        ...
