"""The seam to what is kept of threads. Every row has an owner, and is read only on the owner's behalf.

What is not yours does not exist: it is answered as something that was never there.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec

from rightseat.core.ask import Ask, Principal
from rightseat.core.events import Interrupt, RunFailed, RunFinished
from rightseat.core.messages import Call, Message
from rightseat.core.values import JsonValue


class Summary(msgspec.Struct, frozen=True):
    """A thread in a list. Times are ISO 8601, in UTC."""

    id: str
    agent: str
    name: str | None
    archived: bool
    created_at: str
    updated_at: str


class RunRow(msgspec.Struct, frozen=True):
    """A run of a thread. `outcome` is None while it runs, else that of its last event, or `failed`.

    `epoch` is the last under which it was written: higher than that of any run before it in the thread.
    """

    id: str
    agent: str
    client_run_id: str | None = None
    outcome: str | None = None
    epoch: int = 1


class Pending(msgspec.Struct, frozen=True):
    """A question that waits for a person, with the call that waits for the answer."""

    interrupt: Interrupt
    thread_id: str
    run_id: str
    agent: str
    call: Call | None = None


class Expired(NamedTuple):
    """A question that was not answered in time, and the id of the principal that it was for."""

    owner: str
    question: Pending


class Thread(msgspec.Struct, frozen=True):
    """`runs` are in the order in which they began."""

    id: str
    messages: tuple[Message, ...]
    state: JsonValue = None
    runs: tuple[RunRow, ...] = ()
    summary: Summary | None = None


class Beginning(msgspec.Struct, frozen=True):
    """A run that may begin: the epoch under which it writes, and what of its ask is new.

    `pending` are the thread's open questions, to which the ask may have answers.
    """

    epoch: int
    said: tuple[Message, ...] = ()
    state: JsonValue = None
    pending: tuple[Pending, ...] = ()


class Threads(Protocol):
    async def begin(self, ask: Ask, *, again: bool = False) -> Beginning:
        """Claim the ask's thread for its run. A run that is begun again (elsewhere) gets a higher epoch, and so has
        every run a higher one than those before it in its thread.

        Raises `ThreadBusy` while another run has the thread, `ThreadNotFound` where it belongs to another user; with
        `again` also where the thread does not exist: it was deleted since the run was first begun.
        """
        ...

    async def finish(
        self, ask: Ask, said: tuple[Message, ...], state: JsonValue, last: RunFinished | RunFailed
    ) -> None:
        """Keep what the thread looks like after the run, its open questions, and let the thread go.

        Raises `StaleWriter`, and keeps nothing, once another process has begun this run again.
        Answers of the ask close their questions; a run without answers leaves earlier questions as they are.
        """
        ...

    async def advance(self, ask: Ask, epoch: int) -> int:
        """The next epoch, for whoever still has the run under this one. Raises `StaleWriter` to anybody else."""
        ...

    def leave(self, run_id: str, epoch: int) -> None:
        """Whoever had the run under this epoch does nothing more for it: if it is not finished, it is an orphan."""
        ...

    async def load(self, thread_id: str, principal: Principal) -> Thread | None: ...

    async def list(
        self, principal: Principal, *, agent: str | None = None, archived: bool = False, limit: int = 50
    ) -> Sequence[Summary]:
        """The principal's threads, the latest first; with `archived` those in the archive too."""
        ...

    async def change(
        self, thread_id: str, principal: Principal, *, name: str | None = None, archived: bool | None = None
    ) -> Summary:
        """Rename it, put it into the archive or take it out. Raises `ThreadNotFound`."""
        ...

    async def delete(self, thread_id: str, principal: Principal) -> Sequence[str]:
        """Forget the thread. Returns the ids of its runs, whose logs can go too. Raises `ThreadNotFound`."""
        ...

    async def pending(self, principal: Principal, thread_id: str | None = None) -> Sequence[Pending]:
        """Questions that wait for an answer and have not expired."""
        ...

    async def unfinished(self, principal: Principal, thread_id: str | None = None) -> Sequence[str]:
        """The ids of the principal's runs that are not finished, of one thread or of all."""
        ...

    @property
    def reap_every(self) -> float | None:
        """Seconds between two looks for orphans; None where no other process can have left some since the first."""
        ...

    async def orphans(self) -> Sequence[Ask]:
        """Asks whose runs were cut off when another process died, each given once, to one who asks."""
        ...

    async def expire_questions(self) -> Sequence[Expired]:
        """Close the questions that have expired, a second ago or earlier. Each is given once, to one process."""
        ...

    async def ended(self, run_ids: Sequence[str]) -> Sequence[str]:
        """Those of these runs that are not going on: they have ended, or their thread was deleted."""
        ...

    async def expire(self) -> Sequence[str]:
        """Delete the threads that were left alone for too long. Returns the ids of their runs, as `delete` does."""
        ...
