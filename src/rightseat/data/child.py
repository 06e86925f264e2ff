"""A child process with limits for risky work: it can be killed, and its memory is freed when it ends.

SQL written by a model and files from strangers can use up memory, run forever or crash a parser. A thread cannot be
stopped; a process can. It gets no environment, hence no secrets, and it cannot write files.
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

from rightseat.core.errors import BadQuery, NotConfigured, RightseatError, UnreadableFile
from rightseat.data.frames import LENGTH, REQUEST_HEADER, ChildReply

logger = logging.getLogger(__name__)

T = TypeVar("T")

REPLY_GRACE_S = 1.0  # for the child to report a timeout itself
MAX_REPLY_BYTES = 64 * 2**20
MAX_IDLE_CHILDREN = 4  # per pool
CPU_SIGNAL = getattr(signal, "SIGPROF", 0)  # ends a child whose processor time is used up
CHUNK_BYTES = 64 * 1024  # or characters of a payload, written at once


class ChildFailed(Exception):
    """The child was killed, or died. The message completes a sentence that starts with "it"."""


ERRORS: dict[str, type[RightseatError]] = {error.code: error for error in (BadQuery, NotConfigured, UnreadableFile)}


class Child:
    """Handles one request at a time with the function that `module` builds. It starts with the first request.

    After `ChildFailed`, the next request starts a new process without earlier state. `memory` is in bytes of address
    space, `cpu_seconds` limits the processor time of one request; 0: only the timeout applies.
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

    async def ask(self, request: msgspec.Struct, kind: type[T], timeout_s: float, payload: str | bytes = b"") -> T:
        """Raise the child's `RightseatError`, or `ChildFailed` if it did not reply."""
        async with self._busy:
            process = self._process = self._process or await self._start()
            try:
                async with asyncio.timeout(timeout_s + REPLY_GRACE_S):
                    content = await send_request(process, msgspec.msgpack.encode(request), payload, timeout_s)
            except TimeoutError:
                await self._end(process)
                raise ChildFailed(f"took longer than {timeout_s:g} s") from None
            except (asyncio.IncompleteReadError, ConnectionError):
                await self._end(process)
                if self._cpu_seconds and process.returncode == -CPU_SIGNAL:
                    raise ChildFailed(f"took more than {self._cpu_seconds:g} s of processor time") from None
                logger.warning("child process of %s exited with code %s", self._module, process.returncode)
                raise ChildFailed(f"exited unexpectedly (code {process.returncode})") from None
            except BaseException:
                await self._end(process)  # else its late reply would be read as the next one
                raise
            reply = msgspec.msgpack.decode(content, type=ChildReply)
            if reply.needs_restart:
                await self._end(process)
        return read_reply(reply, kind)

    async def aclose(self) -> None:
        """Kill the process, even during a request."""
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
        await asyncio.shield(wait_for_exit(process))


class ChildPool:
    """Children of one module: at most `size` run at once, and few stay idle."""

    def __init__(self, module: str, memory: int, size: int, cpu_seconds: float = 0) -> None:
        self._make_child = partial(Child, module, memory, cpu_seconds)
        self._idle: list[Child] = []
        self._busy: set[Child] = set()
        self._slots = asyncio.Semaphore(size)

    @contextlib.asynccontextmanager
    async def child(self) -> AsyncIterator[Child]:
        """Borrow a child exclusively."""
        async with self._slots:
            child = self._idle.pop() if self._idle else self._make_child()
            self._busy.add(child)
            try:
                yield child
            finally:  # a child that cannot be reused has already ended its process
                self._busy.discard(child)
                if len(self._idle) < MAX_IDLE_CHILDREN:
                    self._idle.append(child)
                else:
                    await child.aclose()

    async def aclose(self) -> None:
        """Running requests end with `ChildFailed`."""
        for child in (*self._busy, *self._idle):
            await child.aclose()
        self._idle.clear()


async def send_request(process: Process, request: bytes, payload: str | bytes, timeout_s: float) -> bytes:
    requests, replies = pipes(process)
    requests.write(REQUEST_HEADER.pack(len(request), timeout_s) + request)
    for chunk in split_payload(payload):
        requests.write(LENGTH.pack(len(chunk)))
        requests.write(chunk)
        await requests.drain()
    requests.write(LENGTH.pack(0))
    await requests.drain()
    (length,) = LENGTH.unpack(await replies.readexactly(LENGTH.size))
    if length > MAX_REPLY_BYTES:
        raise ConnectionError("the reply is too long")
    return await replies.readexactly(length)


def split_payload(payload: str | bytes) -> Iterator[bytes]:
    for start in range(0, len(payload), CHUNK_BYTES):
        chunk = payload[start : start + CHUNK_BYTES]
        yield chunk.encode("utf-8", "replace") if isinstance(chunk, str) else chunk


def kill(process: Process) -> None:
    """Not `process.kill()`, which would reap a dead process and lose its exit code."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))  # Windows has no SIGKILL


def read_reply(reply: ChildReply, kind: type[T]) -> T:
    if not reply.error:
        return msgspec.msgpack.decode(reply.value, type=kind)
    if reply.error in ERRORS:
        raise ERRORS[reply.error](reply.message)
    logger.error("child process failed: %s", reply.message)
    raise ChildFailed("failed with an internal error")


async def wait_for_exit(process: Process) -> None:
    """Wait for the exit and close the pipes, which would leak otherwise."""
    requests, replies = pipes(process)
    requests.close()
    with contextlib.suppress(ConnectionError):
        while await replies.read(65536):
            pass
    await process.wait()


def pipes(process: Process) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    return cast(asyncio.StreamWriter, process.stdin), cast(asyncio.StreamReader, process.stdout)
