"""A process of our own for what may go wrong: it works within limits, and it can be killed.

SQL that a model wrote and files that a stranger sent can use up memory, run for ever, or crash the library that reads
them. A thread can be neither stopped nor survived; a process can. It gets no environment, so no secrets; it cannot
write files; and when it ends, all of its memory is back.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import TypeVar, cast

import msgspec

from rightseat.core.errors import BadQuery, Misuse, RightseatError, Unreadable
from rightseat.data.frames import HEAD, LENGTH, Reply

logger = logging.getLogger(__name__)

T = TypeVar("T")

GRACE = 1.0  # seconds that the child has to say itself that time is up
MOST = 64 * 2**20  # bytes of one reply
MAX_IDLE = 4  # children of one pool that are kept for the next request
CPU_SIGNAL = getattr(signal, "SIGPROF", 0)  # ends a child whose processor time is used up
PIECE = 64 * 1024  # characters or bytes of a payload that are sent at once


class Lost(Exception):
    """The child was killed, or died. The text says why, and follows "it"."""


ERRORS: dict[str, type[RightseatError]] = {error.code: error for error in (BadQuery, Misuse, Unreadable)}


class Child:
    """Answers one request at a time with the function that `module` builds. It is started with the first request.

    After `Lost` it is started anew with the next request, and knows nothing of the earlier ones. `memory` is bytes of
    address space, `cpu_seconds` the processor time of one request; 0 leaves it to the time that a request may take.
    """

    def __init__(self, module: str, memory: int, cpu_seconds: float = 0) -> None:
        self._module = module
        self._memory = memory
        self._cpu_seconds = cpu_seconds
        self._process: Process | None = None
        self._busy = asyncio.Lock()

    @property
    def is_running(self) -> bool:
        return self._process is not None

    async def ask(self, request: msgspec.Struct, kind: type[T], within: float, payload: str | bytes = b"") -> T:
        """Raises what the child raised of ours, and `Lost` where it did not come to an answer."""
        async with self._busy:
            process = self._process = self._process or await self._start()
            try:
                async with asyncio.timeout(within + GRACE):
                    reply = await exchange(process, msgspec.msgpack.encode(request), payload, within)
            except TimeoutError:
                await self._end(process)
                raise Lost(f"took longer than {within:g} s") from None
            except (asyncio.IncompleteReadError, ConnectionError):
                await self._end(process)
                if self._cpu_seconds and process.returncode == -CPU_SIGNAL:
                    raise Lost(f"took more than {self._cpu_seconds:g} s of processor time") from None
                logger.warning("a child for %s died with the code %s", self._module, process.returncode)
                raise Lost(f"ended before its time (code {process.returncode})") from None
            except BaseException:
                await self._end(process)  # an answer that nobody waits for would be taken for the next one
                raise
            said = msgspec.msgpack.decode(reply, type=Reply)
            if said.spent:
                await self._end(process)
        return read(said, kind)

    async def aclose(self) -> None:
        """Kills it, also in the midst of an answer."""
        process = self._process
        if process is not None:
            kill(process)
            async with self._busy:
                if self._process is process:
                    await self._end(process)

    async def _start(self) -> Process:
        start = f"import sys; sys.path[:] = {sys.path!r}; from rightseat.data.worker import main; main(*sys.argv[1:])"
        command = [sys.executable, "-I", "-X", "utf8", "-c", start, self._module, str(self._memory)]
        command += [str(self._cpu_seconds), str(os.getpid())]
        return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={})

    async def _end(self, process: Process) -> None:
        self._process = None
        kill(process)
        await asyncio.shield(ended(process))


class ChildPool:
    """Children of one kind, so that a slow request delays no other. At most `size` work at once, and few stay idle."""

    def __init__(self, module: str, memory: int, size: int, cpu_seconds: float = 0) -> None:
        self._new = partial(Child, module, memory, cpu_seconds)
        self._idle: list[Child] = []
        self._busy: set[Child] = set()
        self._free = asyncio.Semaphore(size)

    @contextlib.asynccontextmanager
    async def child(self) -> AsyncIterator[Child]:
        """One that does nothing else meanwhile."""
        async with self._free:
            child = self._idle.pop() if self._idle else self._new()
            self._busy.add(child)
            try:
                yield child
            finally:  # it has ended its process, where that could not be used again
                self._busy.discard(child)
                if len(self._idle) < MAX_IDLE:
                    self._idle.append(child)
                else:
                    await child.aclose()

    async def aclose(self) -> None:
        """Requests that are under way end with `Lost`."""
        for child in (*self._busy, *self._idle):
            await child.aclose()
        self._idle.clear()


async def exchange(process: Process, request: bytes, payload: str | bytes, within: float) -> bytes:
    requests, replies = pipes(process)
    requests.write(HEAD.pack(len(request), within) + request)
    for piece in pieces(payload):
        requests.write(LENGTH.pack(len(piece)))
        requests.write(piece)
        await requests.drain()
    requests.write(LENGTH.pack(0))
    await requests.drain()
    (length,) = LENGTH.unpack(await replies.readexactly(LENGTH.size))
    if length > MOST:
        raise ConnectionError("a reply that is no reply")
    return await replies.readexactly(length)


def pieces(payload: str | bytes) -> Iterator[bytes]:
    for start in range(0, len(payload), PIECE):
        piece = payload[start : start + PIECE]
        yield piece.encode("utf-8", "replace") if isinstance(piece, str) else piece


def kill(process: Process) -> None:
    """Not by `process.kill()`: that would take the code of one that is dead already from whoever waits for it."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def read(said: Reply, kind: type[T]) -> T:
    if not said.error:
        return msgspec.msgpack.decode(said.value, type=kind)
    if said.error in ERRORS:
        raise ERRORS[said.error](said.message)
    logger.error("a child failed: %s", said.message)
    raise Lost("failed inside")


async def ended(process: Process) -> None:
    """Until it is gone and its pipes are closed; a pipe that is left open is a leak."""
    requests, replies = pipes(process)
    requests.close()
    with contextlib.suppress(ConnectionError):
        while await replies.read(65536):
            pass
    await process.wait()


def pipes(process: Process) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    return cast(asyncio.StreamWriter, process.stdin), cast(asyncio.StreamReader, process.stdout)
