"""The seam to what is kept of threads. Every row has an owner, and is read only on the owner's behalf."""

from typing import Protocol

import msgspec

from rightseat.core.ask import Ask, Principal
from rightseat.core.messages import Message
from rightseat.core.values import JsonValue


class Thread(msgspec.Struct, frozen=True):
    id: str
    messages: tuple[Message, ...]
    state: JsonValue = None


class Threads(Protocol):
    async def begin(self, ask: Ask) -> int:
        """Claim the ask's run for this process. Returns the epoch under which it may write, above every earlier one."""
        ...

    async def finish(self, ask: Ask, said: tuple[Message, ...], state: JsonValue) -> None:
        """Keep what the thread looks like after the run: what was asked, and what was said to it."""
        ...

    async def load(self, thread_id: str, principal: Principal) -> Thread | None:
        """The thread, if it exists and belongs to the principal."""
        ...
