"""The seam to files and charts that runs have made: what is too big, or of no use, in the text of an answer.

Each belongs to whoever asked. What is not yours does not exist: it is answered as something that was never there.
"""

from typing import Protocol

import msgspec

from rightseat.core.ask import Ask, Principal

PRIVATE = "application/vnd.rightseat.private"
"""The type of what is kept for ourselves: nobody is given it as a file."""


class Stored(msgspec.Struct, frozen=True):
    """`agent` is the one whose run has made it."""

    id: str
    agent: str
    name: str
    media_type: str
    content: bytes


class Artifacts(Protocol):
    async def put(self, ask: Ask, name: str, media_type: str, content: bytes, id: str | None = None) -> str:
        """Keep it for the ask's principal, for as long as the ask's thread is kept. Returns its id.

        It replaces what the principal has under the same `id`. An id that is given must be unique among all principals.
        What a transient ask has made belongs to no thread, and need not be kept for longer than a day.
        """
        ...

    async def get(self, id: str, principal: Principal) -> Stored | None: ...

    async def take(self, id: str, principal: Principal, media_type: str) -> Stored | None:
        """What was kept, to one who asks; from then on it is gone. Only of this type."""
        ...
