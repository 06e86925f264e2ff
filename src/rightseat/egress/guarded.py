"""A connection to a stranger: whatever is sent or heard on it has a limit."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rightseat.egress.connection import AT_ONCE, Connection

LONGEST_HEAD = 64 * 1024  # bytes


class Guarded(Connection):
    """`size` is the most that the body of an answer may have; what is not the body has a limit too."""

    __slots__ = ("_heard", "_may_write", "_most", "was_silent")

    def __init__(self, loop: asyncio.AbstractEventLoop, size: int, silence: float) -> None:
        super().__init__(loop, memoryview(bytearray(AT_ONCE)), silence)
        self._heard = 0
        self._most = 2 * size + LONGEST_HEAD
        self._may_write = asyncio.Event()
        self._may_write.set()
        self.was_silent = False

    @contextmanager
    def sending(self, pieces: Iterable[bytes]) -> Iterator[None]:
        """Write `pieces` after the head of the request, as fast as the other side takes them, while it may answer."""
        writing = self._loop.create_task(self._write(pieces))
        try:
            yield
        finally:
            writing.cancel()

    async def _write(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            await self._may_write.wait()
            if not self.is_open():
                return
            self._transport.write(piece)
            await asyncio.sleep(0)

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._heard_at = self._loop.time()  # it listens, which is not silence
        self._may_write.set()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._may_write.set()

    def buffer_updated(self, nbytes: int) -> None:
        self._heard += nbytes
        super().buffer_updated(nbytes)
        if self._heard > self._most or (not self._status and self._heard > LONGEST_HEAD):
            self._end("Its answer is more frame than content.")
            self.abort()

    def _check_silence(self) -> None:
        super()._check_silence()
        self.was_silent = self._over and self._failure.startswith("It was silent")
