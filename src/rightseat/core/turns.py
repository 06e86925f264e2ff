"""Lets the event loop serve other requests between the pieces of a large one.

A request of many megabytes is decoded, prepared and sent on in the event loop, in pieces that each take tens of
milliseconds. Before each piece it takes a turn: of all large requests only one piece is worked on at a time, and after
it the loop belongs to the others for as long as it took. So large requests use at most half of the loop's time, however
many there are. Whatever decodes a large body sets `TURNS`, and the run that the request starts inherits it.
"""

import asyncio
from contextvars import ContextVar

MAX_REST_S = 0.2
"""A piece that took longer was interrupted by another process."""


class Turns:
    """The turns of all large requests of a process."""

    __slots__ = ("_free_at", "_lock", "_loop")

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()
        self._free_at = 0.0

    async def take(self) -> None:
        """Wait until this task may work on one piece, which ends where the task next waits."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._lock, self._free_at = loop, asyncio.Lock(), 0.0
        async with self._lock:
            await asyncio.sleep(0)  # `_rest` of the piece before this one
            if (rest := self._free_at - loop.time()) > 0:
                await asyncio.sleep(rest)
            loop.call_soon(self._rest, loop, loop.time())

    def _rest(self, loop: asyncio.AbstractEventLoop, began: float) -> None:
        """Called as soon as the task waits."""
        now = loop.time()
        self._free_at = now + min(now - began, MAX_REST_S)


TURNS: ContextVar[Turns | None] = ContextVar("rightseat_turns", default=None)
"""Set for large requests, and for the runs that they start."""


async def take_turn() -> None:
    """Called before each piece of work that grows with the request. Ordinary requests do not wait, nor yield."""
    if (turns := TURNS.get()) is not None:
        await turns.take()
