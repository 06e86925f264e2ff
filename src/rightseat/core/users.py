"""The seam to all that is kept of one user, for commands that run beside the servers."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec

from rightseat.core.artifacts import Stored
from rightseat.core.events import Interrupt
from rightseat.core.messages import Call
from rightseat.core.threads import Thread
from rightseat.core.values import JsonValue


class Approval(msgspec.Struct, frozen=True):
    """A question to a person, with the call that waited for the answer. Times are ISO 8601, in UTC."""

    run_id: str
    interrupt: Interrupt
    call: Call | None
    created_at: str
    answered_at: str | None


class ThreadRecord(msgspec.Struct, frozen=True):
    thread: Thread
    approvals: tuple[Approval, ...] = ()


class FileRecord(msgspec.Struct, frozen=True):
    """A file that a run has made; without a `thread_id`, one of a run of which nothing else is kept."""

    stored: Stored
    thread_id: str | None
    created_at: str


class UserStore(Protocol):
    """Threads and files of a user. Servers may use the same store meanwhile."""

    async def thread_ids(self, user: str) -> Sequence[str]: ...

    async def thread_record(self, thread_id: str, user: str) -> ThreadRecord | None: ...

    def file_records(self, user: str) -> AsyncIterator[FileRecord]: ...

    async def delete_threads(self, thread_ids: Sequence[str], user: str) -> Sequence[str]:
        """Returns the ids of their runs, whose logs and steps can go too. A thread that is not there is left out."""
        ...

    async def delete_files(self, user: str) -> int:
        """Those that belong to no thread. Returns how many."""
        ...


class UserRecords(Protocol):
    """What another part keeps of users. `name` is what it is called for people: `feedback`."""

    name: str

    async def read_user(self, user: str) -> Sequence[JsonValue]: ...

    async def forget_user(self, user: str) -> int:
        """Returns how many records were deleted."""
        ...
