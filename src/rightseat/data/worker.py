"""The other side of `child`: sets its own limits, then answers requests on standard input until there are none."""

import contextlib
import math
import os
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, BinaryIO

import msgspec

from rightseat.core.errors import RightseatError, Unreadable
from rightseat.core.parent_death import die_with_parent
from rightseat.data.frames import HEAD, LENGTH, Exhausted, Reply

GIVEN_UP = 5  # seconds after which a child ends that nobody killed: its parent is gone

Handle = Callable[[bytes, bytes], Any]
"""What a module's `build()` gives: from a request and its payload to a value. It raises errors of ours."""


def main(module: str, memory: str, cpu_seconds: str, parent: str) -> None:
    die_with_parent(int(parent))
    restrict(int(memory))
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever a library prints is no reply
    handle: Handle | None = None
    while (received := receive(requests)) is not None:
        request, payload, within = received
        alarm(math.ceil(within) + GIVEN_UP, float(cpu_seconds))
        try:
            handle = handle or import_module(module).build()
            reply = Reply(msgspec.Raw(msgspec.msgpack.encode(handle(request, payload))))
        except RightseatError as error:
            reply = Reply(error=error.code, message=error.message, spent=isinstance(error, Exhausted))
        except MemoryError:
            said = "It needs more memory than is given to one conversation."
            reply = Reply(error=Unreadable.code, message=said, spent=True)
        except Exception:
            reply = Reply(error="fault", message=traceback.format_exc(limit=-8), spent=True)
        del request, payload, received
        send(replies, msgspec.msgpack.encode(reply))
        alarm(0, 0)


def restrict(memory: int) -> None:
    """Less memory, no files written, no core dumps. Where a system does not know a limit, the time limit remains."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for limit, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))


def alarm(seconds: int, cpu_seconds: float) -> None:
    """The kernel ends this process when either time is over, so no code has to run for it. 0 takes a limit back."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)
        signal.setitimer(signal.ITIMER_PROF, cpu_seconds)


def receive(requests: BinaryIO) -> tuple[bytes, bytes, float] | None:
    """None at the end, also where it comes in the midst of a request: the server is gone."""
    try:
        length, within = HEAD.unpack(requests.read(HEAD.size))
        request = requests.read(length)
        pieces: list[bytes] = []
        while size := LENGTH.unpack(requests.read(LENGTH.size))[0]:
            pieces.append(requests.read(size))
    except struct.error:
        return None
    return request, b"".join(pieces), within


def send(replies: BinaryIO, reply: bytes) -> None:
    replies.write(LENGTH.pack(len(reply)))
    replies.write(reply)
    replies.flush()
