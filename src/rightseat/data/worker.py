"""The main program of a child process: sets its own limits, then handles requests from standard input."""

import contextlib
import math
import os
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, BinaryIO

import msgspec

from rightseat.core.errors import RightseatError, UnreadableFile
from rightseat.data.frames import LENGTH, REQUEST_HEADER, ChildReply, OutOfMemory
from rightseat.parent_death import die_with_parent

ORPHAN_GRACE_S = 5  # after the timeout, a child that was not killed exits: its parent is gone

WorkerHandler = Callable[[bytes, bytes], Any]
"""The result of a module's `build()`: maps a request and its payload to a value, or raises `RightseatError`."""


def main(module: str, memory: str, cpu_seconds: str, parent: str) -> None:
    die_with_parent(int(parent))
    restrict(int(memory))
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # prints of libraries must not mix with replies
    load_handler = cache(lambda: import_module(module).build())
    while (reply := handle_request(requests, load_handler, float(cpu_seconds))) is not None:
        send(replies, msgspec.msgpack.encode(reply))
        set_timers(0, 0)


def handle_request(
    requests: BinaryIO, load_handler: Callable[[], WorkerHandler], cpu_seconds: float
) -> ChildReply | None:
    """None at the end of the input. A request of many megabytes is in memory no longer than this call."""
    received = receive(requests)
    if received is None:
        return None
    request, payload, timeout = received
    set_timers(math.ceil(timeout) + ORPHAN_GRACE_S, cpu_seconds)
    try:
        return ChildReply(msgspec.Raw(msgspec.msgpack.encode(load_handler()(request, payload))))
    except RightseatError as error:
        return ChildReply(error=error.code, message=error.message, needs_restart=isinstance(error, OutOfMemory))
    except MemoryError:
        message = "It needs more memory than one conversation may use."
        return ChildReply(error=UnreadableFile.code, message=message, needs_restart=True)
    except Exception:
        return ChildReply(error="fault", message=traceback.format_exc(limit=-8), needs_restart=True)


def restrict(memory: int) -> None:
    """Limit memory, forbid writing files and core dumps. If the system lacks a limit, the timeout remains."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for limit, maximum in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (maximum, maximum))


def set_timers(seconds: int, cpu_seconds: float) -> None:
    """Let the kernel end this process when either time is over. 0 removes a limit."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)


def receive(requests: BinaryIO) -> tuple[bytes, bytes, float] | None:
    """None at the end of the input, also within a request: the server is gone."""
    try:
        length, timeout = REQUEST_HEADER.unpack(requests.read(REQUEST_HEADER.size))
        request = requests.read(length)
        chunks: list[bytes] = []
        while size := LENGTH.unpack(requests.read(LENGTH.size))[0]:
            chunks.append(requests.read(size))
    except struct.error:
        return None
    return request, b"".join(chunks), timeout


def send(replies: BinaryIO, reply: bytes) -> None:
    replies.write(LENGTH.pack(len(reply)))
    replies.write(reply)
    replies.flush()
