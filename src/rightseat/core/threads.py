"""The thread store protocol: stores threads, runs and pending interrupts. Only the owner of a row can read it.

Threads of other users are reported as not found.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from rightseat.core.artifacts import StoredArtifact
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import BadRequest
from rightseat.core.events import Interrupt, RunFailed, RunFinished
from rightseat.core.messages import Call, Message
from rightseat.core.types import JsonValue
from rightseat.core.usage import RunTotals

MAX_THREAD_ID_CHARS = 512


class ThreadCursor(NamedTuple):
    """The last thread of a page. Lists are sorted by it, the latest first.

    It stays valid when threads are added, changed or deleted; the number of a row would not.
    """

    updated_at: str
    id: str

    def __str__(self) -> str:
        return f"{self.updated_at}/{self.id}"


def read_cursor(text: str) -> ThreadCursor:
    """Raises `BadRequest`."""
    time, _, id = text.partition("/")
    if not id or "\0" in text:
        raise BadRequest(f"{text[:60]!r} is not the cursor of a page of threads.")
    return ThreadCursor(time, id)


def check_thread_id(id: str) -> None:
    """Raises `BadRequest` for an id of a client that no URL of an operator could hold.

    Browsers resolve the segments `.` and `..`, and no path of a route matches a line break.
    """
    if len(id) > MAX_THREAD_ID_CHARS or id in (".", "..") or any(char < " " or char == "\x7f" for char in id):
        raise BadRequest(
            f"{id[:60]!r} cannot be the id of a thread: use up to {MAX_THREAD_ID_CHARS} characters, without control "
            "characters, and not `.` or `..`."
        )


class Summary(msgspec.Struct, frozen=True):
    """A thread in a list. Times are ISO 8601, in UTC."""

    id: str
    agent: str
    name: str | None
    archived: bool
    created_at: str
    updated_at: str

    @property
    def cursor(self) -> ThreadCursor:
        return ThreadCursor(self.updated_at, self.id)


class RunRow(msgspec.Struct, frozen=True):
    """A run of a thread. `outcome` is None while it runs, then the outcome of its last event, or `failed`.

    `epoch` is the last epoch of its writers: higher than that of every earlier run of the thread.
    """

    id: str
    agent: str
    client_run_id: str | None = None
    outcome: str | None = None
    epoch: int = 1


class Pending(msgspec.Struct, frozen=True):
    """An interrupt that waits for a person, with the call that waits for the answer."""

    interrupt: Interrupt
    thread_id: str
    run_id: str
    agent: str
    call: Call | None = None


class Expired(NamedTuple):
    """An interrupt that was not answered in time, and the id of its principal."""

    owner: str
    question: Pending


class Thread(msgspec.Struct, frozen=True):
    """`runs` are in the order in which they started."""

    id: str
    messages: tuple[Message, ...]
    state: JsonValue = None
    runs: tuple[RunRow, ...] = ()
    summary: Summary | None = None


class RunClaim(msgspec.Struct, frozen=True):
    """A run that may start, with the epoch of its writer.

    `new_messages` are the messages of its ask that the thread does not have. `pending` are the
    thread's pending interrupts, which the ask may answer. `has_artifact` says that the store has stored the artifact
    that it was given with the claim.
    """

    epoch: int
    new_messages: tuple[Message, ...] = ()
    state: JsonValue = None
    pending: tuple[Pending, ...] = ()
    has_artifact: bool = False


THREAD_BYTES = 1000
"""What a thread counts for a quota without its messages."""


class UserThreads(Protocol):
    """What a face may do with the threads of one user: each method names the principal, itself or in its ask."""

    async def append_messages(self, ask: Ask, quota: int | None = None) -> None:
        """Add the new messages of the ask to its thread without a run. Creates the thread if it does not exist.

        `quota` is how many bytes the ask's principal may store in this way, in all of its threads together, whatever
        process stores them; a new thread counts as `THREAD_BYTES` besides. Deleting a thread frees its bytes.

        Raises `ThreadBusy` while a run has the thread, `ThreadNotFound` if it belongs to another user, and
        `QuotaExceeded`.
        """
        ...

    async def load(self, thread_id: str, principal: Principal) -> Thread | None:
        """The thread with all of its messages and runs; None if it does not exist or belongs to another user."""
        ...

    async def list(
        self,
        principal: Principal,
        *,
        agent: str | None = None,
        archived: bool = False,
        limit: int = 50,
        after: ThreadCursor | None = None,
    ) -> Sequence[Summary]:
        """The principal's threads, the latest first; with `archived` also the archived ones.

        `after` is the cursor of the last thread of the page before.
        """
        ...

    async def change(
        self, thread_id: str, principal: Principal, *, name: str | None = None, archived: bool | None = None
    ) -> Summary:
        """Rename, archive or unarchive a thread. Raises `ThreadNotFound`."""
        ...

    async def delete(self, thread_id: str, principal: Principal) -> Sequence[str]:
        """Delete the thread. Returns the ids of its runs, whose logs can be deleted too. Raises `ThreadNotFound`."""
        ...

    async def pending(self, principal: Principal, thread_id: str | None = None) -> Sequence[Pending]:
        """Interrupts that wait for an answer and have not expired."""
        ...

    async def unfinished(self, principal: Principal, thread_id: str | None = None) -> Sequence[str]:
        """The ids of the principal's runs that are not finished, of one thread or of all."""
        ...


class Threads(UserThreads, Protocol):
    """Stores threads, their messages and their runs. A thread has one run at a time::

        async def claim_and_finish(threads: Threads, ask: Ask) -> Thread | None:
            await threads.claim(ask)  # from now on another ask for the thread raises `ThreadBusy`
            response = Message("assistant", (Text("Hello."),), id="m1")
            await threads.finish(ask, (response,), None, RunFinished("done"))
            return await threads.load(ask.thread_id, ask.principal)

    Each thread belongs to the principal of its first ask; for all others it does not exist. Nothing of a `transient`
    ask is stored. A store that is shared by processes keeps the runs of a dead one for `orphans`, and fences its
    writers by epoch. What is stored besides is in `operations.store`. `tests/stores` has the contract.
    """

    async def claim(
        self, ask: Ask, *, again: bool = False, artifact: StoredArtifact | None = None, needs_slot: bool = False
    ) -> RunClaim:
        """Claim the ask's thread for its run. Each claim of a run gets a higher epoch than the one before, and each run
        a higher one than all earlier runs of its thread.

        Raises `RunExists` for a durable ask that repeats the request of a run that has ended: the same `client_run_id`,
        and no new message. A client sends it again if it does not know that the first arrived, and can follow that run.

        Raises `ThreadBusy` while another run has the thread, and `ThreadNotFound` if it belongs to another user; with
        `again` also if the thread does not exist: it was deleted after the run was first claimed.

        A store that stores artifacts stores the `artifact` of a new run in the transaction of the claim, and says so
        with `has_artifact`. Any other store ignores it; the artifact is then stored beside it.

        With `needs_slot`, limits hold a slot for the run. Raises `SlotLost` if another process has given it back.
        """
        ...

    async def finish(
        self,
        ask: Ask,
        messages: tuple[Message, ...],
        state: JsonValue,
        last: RunFinished | RunFailed,
        totals: RunTotals | None = None,
    ) -> None:
        """Save the thread's messages, state and interrupts after the run, and release the thread.

        `totals` are the sums over the run's spans; None if they are unknown.

        Raises `StaleWriter` and saves nothing if another process has claimed this run again.
        Answers of the ask close their interrupts; a run without answers does not change earlier interrupts.
        """
        ...

    async def advance_epoch(self, ask: Ask, epoch: int) -> int:
        """Return the next epoch to the owner of this epoch. Raises `StaleWriter` for any other caller."""
        ...

    def release(self, run_id: str, epoch: int) -> None:
        """The owner of this epoch stops working on the run: if it is not finished, it becomes an orphan."""
        ...

    @property
    def reap_every(self) -> float | None:
        """Seconds between two searches for orphans; None if no other process can leave any after the first search."""
        ...

    async def orphans(self) -> Sequence[Ask]:
        """Asks whose runs were interrupted when another process died. Each is returned once, to one caller."""
        ...

    async def expire_questions(self) -> Sequence[Expired]:
        """Close the interrupts that expired at least a second ago. Each is returned once, to one process."""
        ...

    async def ended(self, run_ids: Sequence[str]) -> Sequence[str]:
        """Those of these runs that are not in progress: they have ended, or their thread was deleted."""
        ...

    def expire(self) -> AsyncGenerator[Sequence[str], None]:
        """Delete data whose retention has expired, in batches, so that other writes wait for one batch at most.

        Yields the ids of the runs of each batch of threads, as `delete` returns them.
        """
        ...
