"""The interface of limits: what decides whether an ask may start now, for every face.

An ask is admitted before anything is claimed or stored for its run. `rightseat.limits.admission` implements this for
the configured limits; a runtime without it admits every ask.
"""

from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import Protocol

from rightseat.core.ask import Ask, Principal
from rightseat.core.model import Model


class RunSlot(Protocol):
    """What an ask holds while it runs. A second release has no effect."""

    def mark(self, ask: Ask) -> Ask:
        """The ask, with the model that a limit has downgraded it to."""
        ...

    def needs_check(self, ask: Ask) -> bool:
        """Whether the claim of the run must look for the slot in the store, which may have given it back."""
        ...

    def activate(self) -> None:
        """Count the model calls of this task, and of the tasks that it starts."""
        ...

    def release(self) -> None: ...

    async def close(self) -> None:
        """Release it, and wait until that is stored: the user may ask again at once."""
        ...

    def give_back(self) -> None:
        """Release the slot of an ask whose run did not start: the ask is not counted."""
        ...


class Admission(Protocol):
    """Counts asks and requests, and refuses what is beyond a limit."""

    @property
    def has_queues(self) -> bool:
        """Whether an ask may wait in `admit`."""
        ...

    def identify(self, ask: Ask) -> Ask:
        """Add the credential and the address of the current request, if limits may count by them."""
        ...

    def open(self) -> None:
        """Let asks wait again, after `close`."""
        ...

    def close(self) -> None:
        """Refuse the asks that wait."""
        ...

    async def admit(self, ask: Ask, model: Model | None = None, continues: str = "") -> RunSlot:
        """Raises a `LimitExceeded`, or `StoreUnreachable` if a limit cannot be checked.

        `model` is that of the agent, if it has one. `continues` is the run whose open question the ask answers: it goes
        before others that wait for a slot. The caller must release the slot in every case.
        """
        ...

    async def take(self, ask: Ask) -> RunSlot:
        """A slot for a run that was admitted before: it is counted, and never refused."""
        ...

    def admit_request(self, principal: Principal, agent: str, purpose: str) -> AbstractAsyncContextManager[None]:
        """Count a request that starts no run, and the model calls of this block.

        Raises a `LimitExceeded`, or `StoreUnreachable` if a limit cannot be checked.
        """
        ...

    def meter_calls(self, principal: Principal, purpose: str) -> AbstractContextManager[None]:
        """Count the model calls of this block and of the tasks that it starts, for a request that is not counted."""
        ...


class FreeSlot:
    """The slot of an ask that nothing limits."""

    def mark(self, ask: Ask) -> Ask:
        return ask

    def needs_check(self, ask: Ask) -> bool:
        return False

    def activate(self) -> None: ...

    def release(self) -> None: ...

    async def close(self) -> None: ...

    def give_back(self) -> None: ...


FREE_SLOT = FreeSlot()


class OpenAdmission:
    """Admits every ask and counts none."""

    has_queues = False

    def identify(self, ask: Ask) -> Ask:
        return ask

    def open(self) -> None: ...

    def close(self) -> None: ...

    async def admit(self, ask: Ask, model: Model | None = None, continues: str = "") -> RunSlot:
        return FREE_SLOT

    async def take(self, ask: Ask) -> RunSlot:
        return FREE_SLOT

    def admit_request(self, principal: Principal, agent: str, purpose: str) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def meter_calls(self, principal: Principal, purpose: str) -> AbstractContextManager[None]:
        return nullcontext()
